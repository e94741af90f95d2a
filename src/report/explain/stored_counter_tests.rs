//! The stored counter at its boundaries.

use super::*;
use crate::report::explain::description::Described;
use crate::session::context_limits::{ContextLimits, StoredTotals};
use crate::session::testing::{loaded_session, transcript, user};
use crate::session::{CountSource, LoadedSession, SessionItem, TokenCount};

/// A session of `live` tokens whose record has these totals.
fn wrong_counter(live: u64, totals: StoredTotals) -> Option<Found<StoredCounter>> {
    let session = loaded_session(&transcript(&[user("hi")]), 200_000.0);
    let tokens = Some(TokenCount { tokens: live, source: CountSource::Measured });
    let item = SessionItem { tokens, ..session.item };
    let limits = ContextLimits { stored_totals: totals, ..session.limits };
    let session = LoadedSession { item, limits, ..session };
    find_wrong_counter(&OverflowCase::read(&session, None).expect("memory is readable"))
}

fn stored(total: f64) -> StoredTotals {
    StoredTotals { total_tokens: Some(Tokens(total)), ..StoredTotals::default() }
}

#[test]
fn a_stored_counter_is_wrong_below_seven_tenths_of_the_session_or_above_its_inverse() {
    let class = |live: u64, totals: f64| wrong_counter(live, stored(totals)).map(|found| found.class);
    assert_eq!(class(1_000, 699.0), Some(FindingClass::CounterStaleLow));
    assert_eq!(class(1_000, 700.0), None);
    assert_eq!(class(700, 1_000.0), None);
    assert_eq!(class(699, 1_000.0), Some(FindingClass::CounterInflated));
    assert_eq!(class(1_000, 0.0), None, "a counter of 0 is not kept yet");
}

#[test]
fn a_low_counter_marked_stale_is_not_reported() {
    let low = |fresh: Option<bool>| wrong_counter(1_000, StoredTotals { fresh, ..stored(10.0) }).is_some();
    assert!(low(None) && low(Some(true)) && !low(Some(false)));
}

#[test]
fn an_inflated_counter_names_the_counters_that_it_is_the_sum_of() {
    let sum = |total: f64, write: f64| {
        let totals = StoredTotals {
            input: Some(1_000.0),
            cache_read: Some(8_000.0),
            cache_write: Some(write),
            ..stored(total)
        };
        let found = wrong_counter(100, totals).expect("inflated");
        let headline = found.facts.headline();
        assert!(headline.contains("more than the session's 100"), "{headline}");
        found.facts.evidence().into_iter().map(|evidence| evidence.text).find(|text| text.contains("sum"))
    };
    let all = "it is the sum of input 1,000 + cacheRead 8,000 + cacheWrite 500";
    assert_eq!(sum(9_500.0, 500.0).as_deref(), Some(all));
    let without_writes = "it is the sum of input 1,000 + cacheRead 8,000";
    assert_eq!(sum(9_000.0, 500.0).as_deref(), Some(without_writes));
    assert_eq!(sum(9_000.0, 0.0).as_deref(), Some(without_writes));
    assert_eq!(sum(9_100.0, 500.0), None);
}
