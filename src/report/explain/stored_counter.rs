//! The counter of the session record, if it differs widely from the session's tokens. The memory flush and the status
//! line read it, and from 2026.5.22 on the check before a chat turn (releases R67).

use crate::ids::EntryIx;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::session::compaction_trigger::ChatCheck;
use crate::units::Tokens;

/// Share of the prompt below which a stored counter is too low; also the share of the counter below which a prompt
/// makes the counter too high.
const LOW_COUNTER_SHARE: f64 = 0.7;

/// A wrong counter.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCounter {
    pub stored: Tokens,
    /// The session's tokens, and whether the provider counted them.
    pub live: (u64, bool),
    /// Other counters of the record that add up to it, with their names.
    pub summands: Vec<(&'static str, f64)>,
    /// The last counted call and its tokens.
    pub last_counted: Option<(EntryIx, u64)>,
    /// The check before the next chat turn, if the counter decides it.
    pub compacts: Option<ChatCheck>,
}

impl StoredCounter {
    pub(super) fn numbers(&self) -> Numbers {
        vec![("stored", self.stored.get()), ("live", self.live.0 as f64)]
    }
}

pub(super) fn find_wrong_counter(case: &OverflowCase<'_>) -> Option<Found<StoredCounter>> {
    let totals = &case.session.limits.stored_totals;
    let stored = totals.total_tokens.filter(|stored| *stored > Tokens::ZERO)?;
    // The counter describes the last accepted call, so the growth of a refused call does not make it wrong. After a
    // refusal that was answered, or a compaction, it describes the session of now.
    let failed = case.failure.as_ref().map(|failure| failure.overflow.entry);
    let is_last = |failed: EntryIx| case.session.measured.is_ok_and(|counted| counted.entry <= failed);
    let accepted =
        case.last_counted().filter(|_| failed.is_some_and(is_last)).map(|(_, tokens)| (tokens, true));
    let live = accepted.unwrap_or_else(|| case.next_prompt());
    let live_tokens = live.0 as f64;
    let class = if live_tokens < LOW_COUNTER_SHARE * stored.get() {
        FindingClass::CounterInflated
    } else if stored < Tokens(LOW_COUNTER_SHARE * live_tokens) && totals.fresh != Some(false) {
        FindingClass::CounterStaleLow
    } else {
        return None;
    };
    let facts = StoredCounter {
        stored,
        live,
        summands: counters_adding_up(case, stored.get()),
        last_counted: case.last_counted(),
        compacts: case.session.chat_check().filter(|check| check.total.is_stored && check.is_due()),
    };
    let rule = if facts.compacts.is_some() { "releases R67" } else { "compaction 9.11" };
    Some(Found::new(class, Confidence::Sure, facts).with_rule(rule))
}

/// Returns the other counters of the record, if they add up to the total; those of 0 are left out.
fn counters_adding_up(case: &OverflowCase<'_>, total: f64) -> Vec<(&'static str, f64)> {
    let row = &case.session.limits.stored_totals;
    let Some(input) = row.input else { return Vec::new() };
    let (read, write) = (row.cache_read.unwrap_or(0.0), row.cache_write.unwrap_or(0.0));
    let parts = [("input", input), ("cacheRead", read), ("cacheWrite", write)];
    let all = input + read + write == total;
    if !all && input + read != total {
        return Vec::new();
    }
    let summed = if all { 3 } else { 2 };
    parts.into_iter().take(summed).filter(|(_, tokens)| *tokens > 0.0).collect()
}

#[cfg(test)]
#[path = "stored_counter_tests.rs"]
mod tests;
