//! Applies the guard to a message list, from the sizes that it counts.

use crate::gateway::ruleset::{Guard, HeadTailCut, Rules, Truncation};
use crate::js::JsException;
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::features::{ContentFeatures, MessageBody};
use crate::policy::guard::halved::{max_retained_chars, trimmed_message};
use crate::policy::guard::text::COMPACTED;
use crate::policy::message_list::MessageList;
use crate::policy::reason::Reason;
use crate::policy::settings::GuardSettings;
use crate::policy::truncate::js_max;
use crate::store::entry::Role;
use crate::units::{Chars, Tokens};

/// Numbers of the guard in one call, in chars as it counts them (pruning 6.32).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardOutcome {
    pub limits: GuardLimits,
    /// All messages after every result is cut to its limit; compared with the budget. Since 2026.8.1, all results
    /// before the cuts.
    pub total: Chars,
    /// All messages at the end.
    pub after: Chars,
    /// The guard stops the call before it is sent, because the messages are still too large (releases R41).
    pub stopped: bool,
}

impl GuardOutcome {
    fn new(limits: GuardLimits, total: Chars, after: Chars) -> Self {
        Self { limits, total, after, stopped: limits.stop.is_some_and(|stop| after > stop) }
    }
}

/// Holds tool results to a version's limits. `window` is the model's own, in tokens; NaN if it is unknown. Returns no
/// numbers if the version has no guard. Comparisons treat NaN as the gateway's do.
///
/// # Errors
/// If a message cannot be counted; the list is unchanged then.
pub fn guard_list(
    list: &mut MessageList,
    rules: &Rules,
    window: Tokens,
    settings: &GuardSettings,
) -> Result<(Vec<MessageFate>, Option<GuardOutcome>), JsException> {
    let mut fates: Vec<MessageFate> = (0..list.len()).map(|at| untouched(list, at)).collect();
    let Some(limits) = GuardLimits::under(rules, window, settings) else {
        for fate in fates.iter_mut().filter(|fate| fate.reason == Reason::WithinGuard) {
            fate.reason = Reason::NoGuard;
        }
        return Ok((fates, None));
    };
    match (rules.guard, rules.truncation) {
        (Guard::Single, _) => {
            let guarded = fit_results(list, &mut fates, limits);
            return Ok((fates, Some(guarded)));
        }
        (Guard::NewestFirst | Guard::SingleThenStop, Truncation::Ends(ends)) => {
            let guarded = halve_results(list, &mut fates, rules.guard, ends, limits)?;
            return Ok((fates, Some(guarded)));
        }
        _ => {}
    }
    total_chars(list)?;
    for (at, fate) in fates.iter_mut().enumerate().filter(|(_, fate)| fate.reason != Reason::Untouched) {
        if chars(list, at)? <= limits.single {
            continue;
        }
        let edit = Edit::GuardCut { max_chars: limits.single };
        replace(list, at, &edit, fate, (Fate::Truncated, Reason::GuardCut));
    }
    let total = total_chars(list)?;
    let mut after = total;
    if !is_within(total, limits.budget) {
        compact_oldest(list, &mut fates, total - limits.budget)?;
        after = self::total_chars(list)?;
    }
    Ok((fates, Some(GuardOutcome::new(limits, total, after))))
}

/// Holds each result to its limit; there is no limit for all (pruning 8.7).
fn fit_results(list: &mut MessageList, fates: &mut [MessageFate], limits: GuardLimits) -> GuardOutcome {
    let chars = |list: &MessageList, at: usize| {
        let text_features = list.features_at(at).and_then(ContentFeatures::text_features);
        text_features.map_or(Chars::ZERO, |text_features| text_features.guard_chars)
    };
    let total = (0..list.len()).map(|at| chars(list, at)).sum();
    for (at, fate) in fates.iter_mut().enumerate() {
        if chars(list, at) > limits.single {
            let edit = Edit::GuardFit { max_chars: limits.single };
            replace(list, at, &edit, fate, (Fate::Truncated, Reason::GuardFitted));
        }
    }
    GuardOutcome::new(limits, total, (0..list.len()).map(|at| chars(list, at)).sum())
}

/// False for NaN.
fn is_within(chars: Chars, limit: Chars) -> bool {
    chars <= limit
}

/// Holds each result to half its limit in units; with [`Guard::NewestFirst`], then all messages to their budget
/// (releases R42, R43).
fn halve_results(
    list: &mut MessageList,
    fates: &mut [MessageFate],
    guard: Guard,
    ends: HeadTailCut,
    limits: GuardLimits,
) -> Result<GuardOutcome, JsException> {
    let spares_read = guard == Guard::NewestFirst && newest_is_fresh_read(list, limits)?;
    let before = spares_read.then(|| (list.clone(), fates.to_vec()));
    let notice = (guard == Guard::SingleThenStop).then_some(ends.notice);
    total_chars(list)?;
    for (at, fate) in fates.iter_mut().enumerate().filter(|(_, fate)| fate.reason != Reason::Untouched) {
        if chars(list, at)? > limits.single {
            let edit = Edit::GuardHalve { max_chars: limits.single, notice };
            replace(list, at, &edit, fate, (Fate::Truncated, Reason::GuardCut));
        }
    }
    let total = total_chars(list)?;
    let results = (0..list.len()).rev().filter(|at| is_result(list, *at)).collect::<Vec<_>>();
    if let Some((newest, older)) = results.split_first().filter(|_| total > limits.budget) {
        let order: Vec<usize> = older.iter().chain([newest]).copied().collect();
        trim_or_compact(list, fates, ends, &order, total - limits.budget)?;
        let gave_way = matches!(fates[*newest].reason, Reason::GuardTrimmed | Reason::GuardCompacted);
        if let Some((list_before, fates_before)) = before.filter(|_| gave_way) {
            // The guard does not remove a file that was just read: the call stops and the messages stay unchanged.
            *list = list_before;
            fates.copy_from_slice(&fates_before);
            return Ok(GuardOutcome { limits, total, after: total, stopped: true });
        }
    }
    Ok(GuardOutcome::new(limits, total, self::total_chars(list)?))
}

/// Whether the newest result is a file that was just read, within the limit of one result.
fn newest_is_fresh_read(list: &MessageList, limits: GuardLimits) -> Result<bool, JsException> {
    let Some(at) = (0..list.len()).rev().find(|at| is_result(list, *at)) else { return Ok(false) };
    let body = list.features_at(at).and_then(|features| features.body.as_ref()).map(MessageBody::value);
    let name =
        body.as_deref().and_then(|body| body.get("toolName").or_else(|| body.get("tool_name")).cloned());
    Ok(name.is_some_and(|name| name.str_is("read")) && chars(list, at)? <= limits.single)
}

/// Trims results in this order until this many chars are free; if that is not enough, replaces them with a notice.
fn trim_or_compact(
    list: &mut MessageList,
    fates: &mut [MessageFate],
    ends: HeadTailCut,
    order: &[usize],
    needed: Chars,
) -> Result<(), JsException> {
    let mut gained = Chars::ZERO;
    for trims in [true, false] {
        for at in order.iter().copied() {
            let before = chars(list, at)?;
            if before <= Chars::from_len(COMPACTED.len()) {
                continue;
            }
            if !(trims && trim(list, fates, ends, at, max_retained_chars(before, needed - gained))?) {
                let becomes = (Fate::Cleared, Reason::GuardCompacted);
                replace(list, at, &Edit::GuardCompact, &mut fates[at], becomes);
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

/// Trims a result to `most` chars as the guard counts them; does nothing if it is not larger. Returns whether it became
/// smaller.
fn trim(
    list: &mut MessageList,
    fates: &mut [MessageFate],
    ends: HeadTailCut,
    at: usize,
    most: Chars,
) -> Result<bool, JsException> {
    let before = chars(list, at)?;
    let body = list.features_at(at).and_then(|features| features.body.as_ref()).filter(|_| before > most);
    if body.is_none_or(|body| trimmed_message(&body.value(), ends, most).is_none()) {
        return Ok(false);
    }
    let edit = Edit::GuardTrim { ends, max_chars: most };
    replace(list, at, &edit, &mut fates[at], (Fate::Truncated, Reason::GuardTrimmed));
    Ok(chars(list, at)? < before)
}

/// Replaces results, oldest first, until this many chars are free (pruning 6.35).
fn compact_oldest(
    list: &mut MessageList,
    fates: &mut [MessageFate],
    needed: Chars,
) -> Result<(), JsException> {
    let mut gained = Chars::ZERO;
    for (at, fate) in fates.iter_mut().enumerate().filter(|(_, fate)| fate.reason != Reason::Untouched) {
        let before = chars(list, at)?;
        if before <= Chars::from_len(COMPACTED.len()) {
            fate.reason = Reason::TooSmallToCompact;
            continue;
        }
        replace(list, at, &Edit::GuardCompact, fate, (Fate::Cleared, Reason::GuardCompacted));
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

fn replace(list: &mut MessageList, at: usize, edit: &Edit, fate: &mut MessageFate, becomes: (Fate, Reason)) {
    list.apply_edit(at, edit);
    (fate.fate, fate.reason) = becomes;
    fate.after = list.size(at).prune_chars;
}

fn untouched(list: &MessageList, at: usize) -> MessageFate {
    let reason = if is_result(list, at) { Reason::WithinGuard } else { Reason::Untouched };
    MessageFate::kept(&list.size(at), reason)
}

fn is_result(list: &MessageList, at: usize) -> bool {
    list.features_at(at).map_or(list.size(at).role == Role::ToolResult, |features| features.guard.is_result)
}

fn chars(list: &MessageList, at: usize) -> Result<Chars, JsException> {
    list.features_at(at).map_or(Ok(Chars::ZERO), |features| features.guard.chars.value())
}

fn total_chars(list: &MessageList) -> Result<Chars, JsException> {
    (0..list.len()).try_fold(Chars::ZERO, |sum, at| Ok(sum + chars(list, at)?))
}

/// In tokens; the gateway assumes it for a model without a window.
pub const UNKNOWN_WINDOW: f64 = 200_000.0;
/// Chars per token of the whole context.
const CHARS_PER_TOKEN: f64 = 4.0;
/// Chars per token of one result.
const RESULT_CHARS_PER_TOKEN: f64 = 2.0;
/// Share of the window beyond which the guard stops a call (releases R41).
const STOP_SHARE: f64 = 0.9;
/// Smallest limit, in chars.
const MIN_CHARS: Chars = Chars(1024.0);

/// In chars as the guard counts them (pruning 6.32).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardLimits {
    /// Limit of all messages.
    pub budget: Chars,
    /// Limit of one tool result.
    pub single: Chars,
    /// Limit of all messages after the guard has run; it stops a larger call (releases R41).
    pub stop: Option<Chars>,
}

impl GuardLimits {
    /// Returns a version's limits for a window in tokens; `None` if it has no guard. Since 2026.4.8 there is no budget
    /// for all messages; since 2026.8.1 an unknown window counts as the smallest (pruning 8.7).
    pub fn under(rules: &Rules, window: Tokens, settings: &GuardSettings) -> Option<Self> {
        match rules.guard {
            Guard::None => None,
            Guard::Placeholders { stops: false } => Some(Self::new(window, settings)),
            Guard::Placeholders { stops: true } | Guard::NewestFirst => {
                let limits = Self::new(window, settings);
                Some(Self { stop: Some(stop_chars(window).max(limits.budget)), ..limits })
            }
            Guard::SingleThenStop => {
                let limits = Self::new(window, settings);
                Some(Self { budget: Chars::INFINITY, stop: Some(stop_chars(window)), ..limits })
            }
            Guard::Single => {
                let known = if window.is_nan() { 1.0 } else { window.get() };
                Some(Self { budget: Chars::INFINITY, ..Self::new(Tokens(known), settings) })
            }
        }
    }

    /// Returns the limits for a window in tokens, without one that stops the call; NaN is an unknown window.
    pub fn new(window: Tokens, settings: &GuardSettings) -> Self {
        let window = known_window(window);
        let limit = |chars_per_token, share: f64| {
            js_max(MIN_CHARS, (window.to_chars(chars_per_token) * share).floor())
        };
        Self {
            budget: limit(CHARS_PER_TOKEN, settings.budget_share),
            single: limit(RESULT_CHARS_PER_TOKEN, settings.single_share),
            stop: None,
        }
    }
}

/// Returns whole tokens, at least 1.
fn known_window(window: Tokens) -> Tokens {
    let window = if window.is_nan() { Tokens(UNKNOWN_WINDOW) } else { window };
    window.floor().max(Tokens(1.0))
}

/// Returns the chars beyond which the guard stops a call, for a window in tokens.
fn stop_chars(window: Tokens) -> Chars {
    js_max(MIN_CHARS, (known_window(window).to_chars(CHARS_PER_TOKEN) * STOP_SHARE).floor())
}
