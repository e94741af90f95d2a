//! One cell of a grid: the totals of a replay under its settings.

use crate::replay::TraceTotals;
use crate::report::regret::RegretTotals;
use crate::report::sweep::front::CellScore;
use crate::units::Tokens;

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The point on each axis.
    pub points: Vec<usize>,
    /// Number of settings that differ from the current ones, including pruning if the cell switches it on.
    pub changed_keys: usize,
    /// Sum of the distances from the current settings, where 1 is a whole axis.
    pub distance: f64,
    pub totals: TraceTotals,
    /// Messages that its prompts lacked and later needed; only known for cells that a person would choose.
    pub regret: Option<RegretTotals>,
}

impl Cell {
    /// Returns the calls whose prompt did not fit at first.
    pub fn overflows(&self) -> usize {
        self.totals.overflows
    }

    /// Returns the calls that did not fit even after recovery.
    pub fn failed_calls(&self) -> usize {
        self.totals.failed
    }

    /// Returns the largest prompt in whole tokens.
    pub fn peak(&self) -> Tokens {
        self.totals.peak.0.round()
    }

    /// Returns the cost of calls and summaries, USD; `None` if the model has no price.
    pub fn cost(&self) -> Option<f64> {
        self.totals.cost_breakdown.total()
    }

    /// Returns the tokens that the model was not sent, summed over all calls and every cause: a withheld message counts
    /// at each call.
    pub fn cleared_tokens(&self) -> Tokens {
        Tokens(self.totals.withheld_tokens.get().round())
    }

    /// Returns the tokens withheld per call by pruning, turn limit and compaction.
    pub fn cleared_tokens_per_call(&self) -> Tokens {
        Tokens((self.totals.withheld_tokens / self.totals.calls.max(1) as f64).get().round())
    }

    /// Returns the number of summaries.
    pub fn summary_count(&self) -> usize {
        self.totals.compactions
    }

    /// Returns the values of the trade-off: cost, the largest prompt (refused ones included), and withheld tokens.
    pub fn trade_off_values(&self) -> [f64; 3] {
        [self.cost().unwrap_or(0.0), self.totals.largest_prompt.get().round(), self.cleared_tokens().get()]
    }

    /// Returns the input for the search of the smallest change.
    pub fn score(&self, fits: bool) -> CellScore {
        let [cost, peak, _] = self.trade_off_values();
        CellScore { fits, changed_keys: self.changed_keys, distance: self.distance, cost, peak }
    }
}
