//! One cell of a grid: a replay under its settings, in a few numbers.

use crate::replay::Totals;
use crate::sweep::front::Weighed;

/// What the session comes to under the settings of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The point of each axis.
    pub at: Vec<usize>,
    /// Settings that differ from the current ones; switching pruning on is one.
    pub keys: usize,
    /// How far they lie from the current ones, in axes.
    pub distance: f64,
    /// The sums of its calls.
    pub totals: Totals,
}

impl Cell {
    /// Calls whose prompt did not fit at first.
    pub fn overflows(&self) -> usize {
        self.totals.overflows
    }

    /// Calls that did not fit in the end.
    pub fn failed(&self) -> usize {
        self.totals.failed
    }

    /// The largest prompt in whole tokens.
    pub fn peak(&self) -> f64 {
        self.totals.peak.0.round()
    }

    /// What calls and summaries cost, USD; none where the model has no price.
    pub fn cost(&self) -> Option<f64> {
        self.totals.spent.total()
    }

    /// Tokens that the model was not sent, summed over all calls, whatever took them away: one message counts at every call.
    pub fn cleared(&self) -> f64 {
        self.totals.withheld.round()
    }

    /// The same per call: tokens of the conversation that a call does without, by pruning, turn limit and compaction.
    pub fn left_out(&self) -> f64 {
        (self.totals.withheld / self.totals.calls.max(1) as f64).round()
    }

    /// Summaries that were needed.
    pub fn summaries(&self) -> usize {
        self.totals.compactions
    }

    /// What a trade-off is made between: cost, the largest prompt, refused ones included, and what the model was not sent.
    pub fn weights(&self) -> [f64; 3] {
        [self.cost().unwrap_or(0.0), self.totals.largest.round(), self.cleared()]
    }

    /// For the search of the smallest change.
    pub fn weighed(&self, fits: bool) -> Weighed {
        let [cost, peak, _] = self.weights();
        Weighed { fits, keys: self.keys, distance: self.distance, cost, peak }
    }
}
