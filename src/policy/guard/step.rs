//! The guard as a step: decides over what it counts of each message, and leaves the list as the call is sent.

use crate::gateway::ruleset::{Ends, Guard, Rules, Truncation};
use crate::js::Throws;
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::guard::halved::{most_counted, trimmed_message};
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
    /// The call ends before it is sent, as the messages are still too large (releases R41).
    pub stopped: bool,
}

impl Guarded {
    fn new(limits: Limits, total: f64, after: f64) -> Self {
        Self { limits, total, after, stopped: limits.stop.is_some_and(|stop| after > stop) }
    }
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
    match (rules.guard, rules.truncation) {
        (Guard::Single, _) => {
            let guarded = fit(list, &mut fates, limits);
            return Ok((fates, Some(guarded)));
        }
        (Guard::NewestFirst | Guard::SingleThenStop, Truncation::Ends(ends)) => {
            let guarded = halve(list, &mut fates, rules.guard, ends, limits)?;
            return Ok((fates, Some(guarded)));
        }
        _ => {}
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
    Ok((fates, Some(Guarded::new(limits, total, after))))
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
    Guarded::new(limits, total, (0..list.len()).map(|at| chars(list, at)).sum())
}

/// NaN is not.
fn is_within(chars: f64, limit: f64) -> bool {
    chars <= limit
}

/// Holds each result to half its limit in units; by the older of the two rules all together too (releases R42, R43).
fn halve(
    list: &mut List,
    fates: &mut [MessageFate],
    guard: Guard,
    ends: Ends,
    limits: Limits,
) -> Result<Guarded, Throws> {
    let spares_read = guard == Guard::NewestFirst && reads_last(list, limits)?;
    let before = spares_read.then(|| (list.clone(), fates.to_vec()));
    let notice = (guard == Guard::SingleThenStop).then_some(ends.notice);
    total(list)?;
    for (at, fate) in fates.iter_mut().enumerate().filter(|(_, fate)| fate.reason != Reason::Untouched) {
        if chars(list, at)? > limits.single {
            let edit = Edit::GuardHalve { single: limits.single, notice };
            replace(list, at, edit, fate, (Fate::Truncated, Reason::GuardCut));
        }
    }
    let total = total(list)?;
    let results = (0..list.len()).rev().filter(|at| is_result(list, *at)).collect::<Vec<_>>();
    if let Some((newest, older)) = results.split_first().filter(|_| total > limits.budget) {
        let order: Vec<usize> = older.iter().chain([newest]).copied().collect();
        give_way(list, fates, ends, &order, total - limits.budget)?;
        let gave_way = matches!(fates[*newest].reason, Reason::GuardTrimmed | Reason::GuardCompacted);
        if let Some((list_before, fates_before)) = before.filter(|_| gave_way) {
            // A file that was just read is not removed again: the call ends unchanged.
            *list = list_before;
            fates.copy_from_slice(&fates_before);
            return Ok(Guarded { limits, total, after: total, stopped: true });
        }
    }
    Ok(Guarded::new(limits, total, self::total(list)?))
}

/// Whether the newest result is a file that was just read and is within its own limit.
fn reads_last(list: &List, limits: Limits) -> Result<bool, Throws> {
    let Some(at) = (0..list.len()).rev().find(|at| is_result(list, *at)) else { return Ok(false) };
    let body = list.texture(at).and_then(|texture| texture.body.clone());
    let name =
        body.as_deref().and_then(|body| body.get("toolName").or_else(|| body.get("tool_name")).cloned());
    Ok(name.is_some_and(|name| name.str_is("read")) && chars(list, at)? <= limits.single)
}

/// Trims results in this order until this many chars are gained, then leaves them out.
fn give_way(
    list: &mut List,
    fates: &mut [MessageFate],
    ends: Ends,
    order: &[usize],
    needed: f64,
) -> Result<(), Throws> {
    let mut gained = 0.0;
    for trims in [true, false] {
        for at in order.iter().copied() {
            let before = chars(list, at)?;
            if before <= COMPACTED.len() as f64 {
                continue;
            }
            if !(trims && trim(list, fates, ends, at, most_counted(before, needed - gained))?) {
                let becomes = (Fate::Cleared, Reason::GuardCompacted);
                replace(list, at, Edit::GuardCompact, &mut fates[at], becomes);
            }
            let after = chars(list, at)?;
            if after < before {
                gained += before - after;
            }
            if gained >= needed {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Trims a result to this many chars as the guard counts them; whether that made it smaller. One that has no more is
/// not trimmed.
fn trim(
    list: &mut List,
    fates: &mut [MessageFate],
    ends: Ends,
    at: usize,
    most: f64,
) -> Result<bool, Throws> {
    let before = chars(list, at)?;
    let body = list.texture(at).and_then(|texture| texture.body.clone()).filter(|_| before > most);
    if body.is_none_or(|body| trimmed_message(&body, ends, most).is_none()) {
        return Ok(false);
    }
    let edit = Edit::GuardTrim { ends, most };
    replace(list, at, edit, &mut fates[at], (Fate::Truncated, Reason::GuardTrimmed));
    Ok(chars(list, at)? < before)
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
