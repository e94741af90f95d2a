//! What all calls of a lane come to.

use crate::replay::calls::ModelCall;
use crate::replay::cost::Cost;
use crate::replay::outcome::CallReplay;

/// Sums over the calls of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TraceTotals {
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
    pub largest_prompt: f64,
    /// Messages that were trimmed or cleared for a call, once for each call.
    pub changed_messages: u64,
    /// Tokens that the steps of each call took away, once for each call.
    pub freed_tokens: f64,
    /// Tokens that were not sent, once for each call: what its steps and the turn limit took away, and what compactions and
    /// cuts in the transcript had taken away before it.
    pub withheld_tokens: f64,
    /// Tokens that are gone from the transcript for good, after the last call.
    pub removed_tokens: f64,
    /// Compactions.
    pub compactions: usize,
    /// What the calls cost, USD; none where no call has a price.
    pub cost: Option<f64>,
    /// The cost of calls and summaries by where it comes from.
    pub cost_breakdown: Cost,
    /// The same by the model of the cache, whatever was counted.
    pub modelled_cost: Option<f64>,
    /// What the summaries cost, USD, told from sizes.
    pub summary_cost: f64,
    /// Prompt tokens read from the cache, written to it, and neither.
    pub cache_read: f64,
    /// Written.
    pub cache_write: f64,
    /// Neither.
    pub input: f64,
    /// Calls whose split is the provider's own.
    pub measured_calls: usize,
}

impl TraceTotals {
    /// Of a lane.
    pub fn of(calls: &[ModelCall], lane: &[CallReplay]) -> Self {
        debug_assert_eq!(calls.len(), lane.len());
        lane.iter().fold(Self::default(), Self::with_call)
    }

    /// With one call more.
    pub(super) fn with_call(mut self, call: &CallReplay) -> Self {
        let at = self.calls;
        self.calls += 1;
        self.overflows += usize::from(call.overflowed);
        self.failed += usize::from(call.failed);
        self.add_prompt(at, call);
        self.changed_messages += u64::from(call.trimmed_count() + call.cleared_count());
        self.freed_tokens += call.pruned.tokens + call.guarded.tokens + call.cleared.tokens;
        let compacted = || [call.compacted, call.compacted_after].into_iter().flatten();
        let written = [call.compacted, call.truncated].into_iter().flatten();
        self.removed_tokens += written.map(|done| done.tokens).sum::<f64>();
        let of_call = call.pruned.tokens
            + call.guarded.tokens
            + call.cleared.tokens
            + call.history_trim.tokens
            + call.reduce_trim.tokens;
        self.withheld_tokens += of_call + self.removed_tokens;
        self.compactions += compacted().map(|done| done.count as usize).sum::<usize>();
        let sum = |sum: Option<f64>, own: Option<f64>| own.map_or(sum, |own| Some(sum.unwrap_or(0.0) + own));
        self.cost = sum(self.cost, call.cost);
        self.modelled_cost = sum(self.modelled_cost, call.modelled_cost);
        self.summary_cost += compacted().filter_map(|done| done.summary_cost).sum::<f64>();
        if !call.split.is_zero() {
            self.cost_breakdown.add_call(call.recorded_cost, call.cost);
        }
        for done in compacted() {
            self.cost_breakdown.add_summaries(done.count as usize, done.summary_recorded, done.summary_cost);
        }
        self.cache_read += call.split.read;
        self.cache_write += call.split.write;
        self.input += call.split.input;
        self.measured_calls += usize::from(call.is_measured);
        self
    }

    fn add_prompt(&mut self, at: usize, call: &CallReplay) {
        self.largest_prompt = self.largest_prompt.max(call.expected);
        if call.has_size() {
            let own = if call.failed { &mut self.refused } else { &mut self.answered };
            raise(own, at, call.expected);
        }
        self.peak = if self.refused.0 > self.answered.0 { self.refused } else { self.answered };
        if self.peak.1.is_none() {
            self.peak.0 = self.largest_prompt;
        }
    }
}

fn raise(largest: &mut (f64, Option<usize>), at: usize, tokens: f64) {
    if tokens > largest.0 {
        *largest = (tokens, Some(at));
    }
}
