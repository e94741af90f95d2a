//! What all calls of a lane come to.

use crate::replay::calls::Call;
use crate::replay::cost::Cost;
use crate::replay::outcome::CallReplay;

/// Sums over the calls of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Calls.
    pub calls: usize,
    /// Those whose prompt did not fit at first.
    pub overflows: usize,
    /// Those that did not fit in the end.
    pub failed: usize,
    /// The largest prompt in tokens, as the provider counts or would, and which call that is. A call that nobody names a
    /// size of counts only where there is no other.
    pub peak: (f64, Option<usize>),
    /// The same of the calls that were answered.
    pub answered: (f64, Option<usize>),
    /// The same of the calls that were refused.
    pub refused: (f64, Option<usize>),
    /// Tokens of the largest prompt, those included that nobody names a size of: settings are compared by it.
    pub largest: f64,
    /// Messages that were trimmed or cleared for a call, once for each call.
    pub changed: u64,
    /// Tokens that the steps of each call took away, once for each call.
    pub freed: f64,
    /// Tokens that were not sent, once for each call: what its steps and the turn limit took away, and what compactions and
    /// cuts in the transcript had taken away before it.
    pub withheld: f64,
    /// Tokens that are gone from the transcript for good, after the last call.
    pub gone: f64,
    /// Compactions.
    pub compactions: usize,
    /// What the calls cost, USD; none where no call has a price.
    pub cost: Option<f64>,
    /// The cost of calls and summaries by where it comes from.
    pub spent: Cost,
    /// The same by the model of the cache, whatever was counted.
    pub modelled: Option<f64>,
    /// What the summaries cost, USD, told from sizes.
    pub summaries: f64,
    /// Prompt tokens read from the cache, written to it, and neither.
    pub read: f64,
    /// Written.
    pub write: f64,
    /// Neither.
    pub input: f64,
    /// Calls whose split is the provider's own.
    pub measured: usize,
}

impl Totals {
    /// Of a lane.
    pub fn of(calls: &[Call], lane: &[CallReplay]) -> Self {
        debug_assert_eq!(calls.len(), lane.len());
        lane.iter().fold(Self::default(), Self::with)
    }

    /// With one call more.
    pub(super) fn with(mut self, call: &CallReplay) -> Self {
        let at = self.calls;
        self.calls += 1;
        self.overflows += usize::from(call.overflow);
        self.failed += usize::from(call.failed);
        self.take_prompt(at, call);
        self.changed += u64::from(call.trimmed() + call.cleared());
        self.freed += call.pruned.tokens + call.guarded.tokens + call.cleared.tokens;
        let compacted = || [call.compacted, call.compacted_after].into_iter().flatten();
        let written = [call.compacted, call.truncated].into_iter().flatten();
        self.gone += written.map(|done| done.tokens).sum::<f64>();
        let of_call = call.pruned.tokens
            + call.guarded.tokens
            + call.cleared.tokens
            + call.history.tokens
            + call.reduced.tokens;
        self.withheld += of_call + self.gone;
        self.compactions += compacted().map(|done| done.times as usize).sum::<usize>();
        let sum = |sum: Option<f64>, own: Option<f64>| own.map_or(sum, |own| Some(sum.unwrap_or(0.0) + own));
        self.cost = sum(self.cost, call.cost);
        self.modelled = sum(self.modelled, call.modelled);
        self.summaries += compacted().filter_map(|done| done.summary_cost).sum::<f64>();
        if !call.split.is_nothing() {
            self.spent.add_call(call.recorded_cost, call.cost);
        }
        for done in compacted() {
            self.spent.add_summaries(done.times as usize, done.summary_recorded, done.summary_cost);
        }
        self.read += call.split.read;
        self.write += call.split.write;
        self.input += call.split.input;
        self.measured += usize::from(call.measured);
        self
    }

    fn take_prompt(&mut self, at: usize, call: &CallReplay) {
        self.largest = self.largest.max(call.expected);
        if call.is_sized() {
            let own = if call.failed { &mut self.refused } else { &mut self.answered };
            raise(own, at, call.expected);
        }
        self.peak = if self.refused.0 > self.answered.0 { self.refused } else { self.answered };
        if self.peak.1.is_none() {
            self.peak.0 = self.largest;
        }
    }
}

fn raise(largest: &mut (f64, Option<usize>), at: usize, tokens: f64) {
    if tokens > largest.0 {
        *largest = (tokens, Some(at));
    }
}
