//! A compaction that would have come in time, and a reserve that leaves room at all.

use crate::explain::advice::{Advice, Change, Whole, change};
use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::simulate::{compacted, last_check};
use crate::explain::words::{count, exact};
use crate::js::Value;

/// A reserve of a larger share of the window makes more compactions than calls.
const MOST_RESERVE: f64 = 0.5;
/// The same while nothing failed.
const MOST_RESERVE_AHEAD: f64 = 0.25;
/// Reserves are set in steps of so many tokens.
const STEP: f64 = 1_000.0;
/// Tails that a compaction may keep, in tokens, the longest first.
const KEEPS: [f64; 3] = [10_000.0, 5_000.0, 2_000.0];

/// The smallest reserve under which the session had been compacted before the failing run.
pub(super) fn larger_reserve(case: &Case<'_>, failure: &Failure) -> Option<Advice> {
    let then = &failure.then;
    let check = last_check(failure, &case.calls)?;
    let settings = then.configured.compaction;
    let window = then.upkeep.runtime_window;
    // Compacting is strictly above the threshold (compaction 2.7).
    let reserve = ((window - check.tokens + 1.0) / STEP).ceil() * STEP;
    let most = window * if failure.ahead { MOST_RESERVE_AHEAD } else { MOST_RESERVE };
    if !settings.enabled || reserve <= settings.reserve_tokens || reserve > most {
        return None;
    }
    let change = change(then, "compaction.reserveTokens", &Value::from(reserve))
        .or_else(|| change(then, "compaction.reserveTokensFloor", &Value::from(reserve)))?;
    let after = compacted(failure, &check, settings.keep_recent_tokens)?;
    let note = format!("compacts above {} tokens, a summary more", exact((window - reserve) as u64));
    Some(Advice::new(failure, vec![change], after, note))
}

/// A reserve of a quarter of the window. Floor and reserve must both go down, as the larger one counts (compaction 2.2).
pub(super) fn smaller_reserve(case: &Case<'_>, failure: &Failure) -> Option<Advice> {
    let then = &failure.then;
    let window = then.upkeep.runtime_window.min(then.window.tokens);
    let reserve = (window / 4.0).floor();
    let fixed = case.fixed?;
    if fixed as f64 >= window - reserve {
        return None;
    }
    let keys = ["compaction.reserveTokens", "compaction.reserveTokensFloor"];
    let changes: Vec<_> = keys.iter().filter_map(|key| change(then, key, &Value::from(reserve))).collect();
    // Where only the floor is read, the runtime's own reserve stays above it.
    if changes.is_empty() || changes.len() < keys.len() {
        return None;
    }
    let room = (window - reserve) as u64 - fixed;
    let after = fixed + room;
    let note = format!("leaves ~{} for messages, where there was none", exact(room));
    Some(Advice::new(failure, changes, after, note))
}

/// Shorter tails for compactions that kept too much, each as a change.
pub(super) fn keeps(failure: &Failure) -> Vec<Vec<Change>> {
    let then = &failure.then;
    let shorter = KEEPS.into_iter().filter(|keep| *keep < then.configured.compaction.keep_recent_tokens);
    shorter
        .filter_map(|keep| Some(vec![change(then, "compaction.keepRecentTokens", &Value::from(keep))?]))
        .collect()
}

/// The longest of them under which every call fits; where none is, the shortest, to show how little that is. What each
/// comes to shows only in a replay, as compactions come at other places then.
pub(super) fn smaller_keep(
    failure: &Failure,
    keeps: Vec<Vec<Change>>,
    whole: impl Fn(&[Change]) -> Option<Whole>,
) -> Option<Advice> {
    let mut last = None;
    for changes in keeps {
        let whole = whole(&changes)?;
        let after = whole.tokens.unwrap_or(whole.peak);
        let note = format!("{}, each keeping less", count(whole.compactions, "compaction"));
        let advice = Advice::new(failure, changes, after, note).over_all(whole, true);
        let helps = advice.helps;
        last = Some(advice);
        if helps {
            break;
        }
    }
    last
}
