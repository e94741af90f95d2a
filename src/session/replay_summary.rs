//! Sums up a session under some settings: the numbers by which advice, tuning and checks judge it.
//!
//! They are computed here only, so that two places that show them agree.

use crate::format::round_tokens;
use crate::ids::EntryIx;
use crate::replay::{CallReplay, RecordedTrace, TraceTotals};

/// Totals of all calls of a session under some settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplaySummary {
    /// Calls that do not fit.
    pub overflows: usize,
    /// Whether the failed call still does not fit.
    pub failing_call_overflows: bool,
    /// Tokens of the failed call; `None` if no call failed.
    pub failing_call_tokens: Option<u64>,
    /// Whether the provider counted those tokens.
    pub failing_call_measured: bool,
    /// Whether the first try of the failed call had a summary that the recorded call had not.
    pub failing_call_compacted: bool,
    pub peak_tokens: u64,
    /// Whether the provider counted the largest prompt.
    pub peak_measured: bool,
    /// USD for calls and summaries; `None` without a price.
    pub cost: Option<f64>,
    /// Whether list prices contribute to the cost.
    pub cost_is_estimated: bool,
    pub compactions: usize,
}

impl ReplaySummary {
    /// Sums up a trace. `failing` is the call that failed, if any.
    pub fn from_trace(record: &RecordedTrace, trace: &[CallReplay], failing: Option<EntryIx>) -> Self {
        let calls = &record.calls;
        let over = |at: &usize| trace[*at].overflowed || trace[*at].failed;
        let failing = failing.and_then(|failing| calls.iter().position(|call| call.entry == failing));
        let totals = TraceTotals::of(calls, trace);
        let counted =
            |at: Option<usize>| at.is_some_and(|at| trace[at].has_size() && !trace[at].is_estimate());
        Self {
            overflows: (0..trace.len()).filter(over).count(),
            failing_call_overflows: failing.is_some_and(|at| over(&at)),
            failing_call_tokens: failing.map(|at| round_tokens(trace[at].expected)),
            failing_call_measured: counted(failing),
            failing_call_compacted: failing
                .is_some_and(|at| last_compaction(trace, at) > last_compaction(&record.trace, at)),
            peak_tokens: round_tokens(totals.peak.0),
            peak_measured: totals.peak_is_measured,
            cost: totals.cost_breakdown.total().filter(|cost| *cost > 0.0),
            cost_is_estimated: totals.cost_breakdown.is_estimated(),
            compactions: totals.compactions,
        }
    }
}

/// Returns the last call up to one whose prompt begins with a summary that was made for it; one that was refused first had
/// none.
fn last_compaction(trace: &[CallReplay], at: usize) -> Option<usize> {
    (0..=at).rev().find(|call| trace[*call].compacted.is_some() && !trace[*call].overflowed)
}
