//! A session as a whole under some settings: the numbers that advice, tuning and checks are judged by. They are computed here
//! and nowhere else, so that two places that show them agree.

use crate::ids::EntryIx;
use crate::replay::{CallReplay, RecordedTrace, TraceTotals};

/// All calls of a session under some settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplaySummary {
    /// Calls that do not fit.
    pub overflows: usize,
    /// The one that failed is among them.
    pub failing_call_overflows: bool,
    /// Tokens of that one; none where no call failed yet.
    pub failing_call_tokens: Option<u64>,
    /// The provider counted those tokens.
    pub failing_call_measured: bool,
    /// Tokens of the largest prompt.
    pub peak_tokens: u64,
    /// The provider counted the largest prompt.
    pub peak_measured: bool,
    /// What calls and summaries cost, USD; none without a price.
    pub cost: Option<f64>,
    /// Compactions.
    pub compactions: usize,
}

impl ReplaySummary {
    /// The sums of a lane. `failing` is the call that failed, none before anything did.
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
            failing_call_tokens: failing.map(|at| trace[at].expected.max(0.0).round() as u64),
            failing_call_measured: counted(failing),
            peak_tokens: totals.peak.0.max(0.0).round() as u64,
            peak_measured: counted(totals.peak.1),
            cost: totals.cost.map(|cost| cost + totals.summary_cost).filter(|cost| *cost > 0.0),
            compactions: totals.compactions,
        }
    }
}
