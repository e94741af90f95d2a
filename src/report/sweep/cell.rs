//! One cell of a grid: a replay under its settings, in a few numbers.

use crate::replay::TraceTotals;
use crate::report::sweep::front::CellScore;

/// What the session comes to under the settings of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The point of each axis.
    pub points: Vec<usize>,
    /// Settings that differ from the current ones; switching pruning on is one.
    pub changed_keys: usize,
    /// How far they lie from the current ones, in axes.
    pub distance: f64,
    /// The sums of its calls.
    pub totals: TraceTotals,
}

impl Cell {
    /// Calls whose prompt did not fit at first.
    pub fn overflows(&self) -> usize {
        self.totals.overflows
    }

    /// Calls that did not fit in the end.
    pub fn failed_calls(&self) -> usize {
        self.totals.failed
    }

    /// The largest prompt in whole tokens.
    pub fn peak(&self) -> f64 {
        self.totals.peak.0.round()
    }

    /// What calls and summaries cost, USD; none where the model has no price.
    pub fn cost(&self) -> Option<f64> {
        self.totals.cost_breakdown.total()
    }

    /// Tokens that the model was not sent, summed over all calls, whatever took them away: one message counts at every call.
    pub fn cleared_tokens(&self) -> f64 {
        self.totals.withheld_tokens.round()
    }

    /// The same per call: tokens of the conversation that a call does without, by pruning, turn limit and compaction.
    pub fn cleared_tokens_per_call(&self) -> f64 {
        (self.totals.withheld_tokens / self.totals.calls.max(1) as f64).round()
    }

    /// Summaries that were needed.
    pub fn summary_count(&self) -> usize {
        self.totals.compactions
    }

    /// What a trade-off is made between: cost, the largest prompt, refused ones included, and what the model was not sent.
    pub fn trade_off_values(&self) -> [f64; 3] {
        [self.cost().unwrap_or(0.0), self.totals.largest_prompt.round(), self.cleared_tokens()]
    }

    /// For the search of the smallest change.
    pub fn score(&self, fits: bool) -> CellScore {
        let [cost, peak, _] = self.trade_off_values();
        CellScore { fits, changed_keys: self.changed_keys, distance: self.distance, cost, peak }
    }
}
