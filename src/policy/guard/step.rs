//! The guard as a step: decides over what it counts of each message, and leaves the list as the call is sent.

use crate::gateway::ruleset::{Guard, Rules};
use crate::js::Throws;
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::guard::limits::Limits;
use crate::policy::guard::text::COMPACTED;
use crate::policy::list::List;
use crate::policy::reason::Reason;
use crate::policy::settings::GuardSettings;
use crate::store::entry::Role;

/// The numbers of a call's guard. Chars as it counts them (pruning 6.32).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guarded {
    /// What it allows.
    pub limits: Limits,
    /// All messages, once every result is held to its limit: what the budget is compared with. In 2026.9 all results
    /// before; there is no budget.
    pub total: f64,
    /// All messages at the end.
    pub after: f64,
}

/// Holds tool results to their limits by the rules of a version; no numbers where it has no guard. `window` is the model's own, in tokens; NaN when nobody knows it. Throws where a
/// message cannot be counted; the list is untouched then. Comparisons let NaN go on, as the guard's do.
pub fn guard_list(
    list: &mut List,
    rules: &Rules,
    window: f64,
    settings: &GuardSettings,
) -> Result<(Vec<MessageFate>, Option<Guarded>), Throws> {
    let mut fates: Vec<MessageFate> = (0..list.len()).map(|at| untouched(list, at)).collect();
    let Some(limits) = Limits::under(rules, window, settings) else {
        for fate in fates.iter_mut().filter(|fate| fate.reason == Reason::WithinGuard) {
            fate.reason = Reason::NoGuard;
        }
        return Ok((fates, None));
    };
    if rules.guard == Guard::Single {
        let guarded = fit(list, &mut fates, limits);
        return Ok((fates, Some(guarded)));
    }
    total(list)?;
    for (at, fate) in fates.iter_mut().enumerate().filter(|(_, fate)| fate.reason != Reason::Untouched) {
        if chars(list, at)? <= limits.single {
            continue;
        }
        let edit = Edit::GuardCut { max_chars: limits.single };
        replace(list, at, edit, fate, (Fate::Truncated, Reason::GuardCut));
    }
    let total = total(list)?;
    let mut after = total;
    if !is_within(total, limits.budget) {
        compact(list, &mut fates, total - limits.budget)?;
        after = self::total(list)?;
    }
    Ok((fates, Some(Guarded { limits, total, after })))
}

/// Holds each result to its limit; all together have none (pruning 8.7).
fn fit(list: &mut List, fates: &mut [MessageFate], limits: Limits) -> Guarded {
    let chars = |list: &List, at: usize| {
        let letters = list.texture(at).and_then(|texture| texture.letters);
        letters.map_or(0.0, |letters| letters.guard_chars)
    };
    let total = (0..list.len()).map(|at| chars(list, at)).sum();
    for (at, fate) in fates.iter_mut().enumerate() {
        if chars(list, at) > limits.single {
            let edit = Edit::GuardFit { max_chars: limits.single };
            replace(list, at, edit, fate, (Fate::Truncated, Reason::GuardFitted));
        }
    }
    Guarded { limits, total, after: (0..list.len()).map(|at| chars(list, at)).sum() }
}

/// NaN is not.
fn is_within(chars: f64, limit: f64) -> bool {
    chars <= limit
}

/// Replaces results from the oldest on until this many chars are gained (pruning 6.35).
fn compact(list: &mut List, fates: &mut [MessageFate], needed: f64) -> Result<(), Throws> {
    let mut gained = 0.0;
    for (at, fate) in fates.iter_mut().enumerate().filter(|(_, fate)| fate.reason != Reason::Untouched) {
        let before = chars(list, at)?;
        if before <= COMPACTED.len() as f64 {
            fate.reason = Reason::TooSmallToCompact;
            continue;
        }
        replace(list, at, Edit::GuardCompact, fate, (Fate::Cleared, Reason::GuardCompacted));
        let after = chars(list, at)?;
        if after >= before {
            continue;
        }
        gained += before - after;
        if gained >= needed {
            break;
        }
    }
    Ok(())
}

fn replace(list: &mut List, at: usize, edit: Edit, fate: &mut MessageFate, becomes: (Fate, Reason)) {
    list.make(at, edit);
    (fate.fate, fate.reason) = becomes;
    fate.after = list.size(at).prune_chars;
}

fn untouched(list: &List, at: usize) -> MessageFate {
    let reason = if is_result(list, at) { Reason::WithinGuard } else { Reason::Untouched };
    MessageFate::kept(&list.size(at), reason)
}

fn is_result(list: &List, at: usize) -> bool {
    list.texture(at).map_or(list.size(at).role == Role::ToolResult, |texture| texture.guard.is_result)
}

fn chars(list: &List, at: usize) -> Result<f64, Throws> {
    list.texture(at).map_or(Ok(0.0), |texture| texture.guard.chars.get())
}

fn total(list: &List) -> Result<f64, Throws> {
    (0..list.len()).try_fold(0.0, |sum, at| Ok(sum + chars(list, at)?))
}
