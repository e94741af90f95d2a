//! Sums over all calls of a trace.

use crate::replay::calls::ModelCall;
use crate::replay::cost::Cost;
use crate::replay::outcome::CallReplay;
use crate::units::Tokens;

/// Sums over all calls of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TraceTotals {
    pub calls: usize,
    /// Calls whose prompt did not fit at first.
    pub overflows: usize,
    /// Calls whose last try did not fit either.
    pub failed: usize,
    /// The largest prompt in tokens, as the provider counts it or would count it, and the index of its call. Calls of
    /// unknown size count only if no other call exists.
    pub peak: (Tokens, Option<usize>),
    /// Whether the provider counted the largest prompt.
    pub peak_is_measured: bool,
    /// The largest prompt of an answered call.
    pub answered: (Tokens, Option<usize>),
    /// The largest prompt of a call that failed in the end.
    pub refused: (Tokens, Option<usize>),
    /// Tokens of the largest prompt, with calls of unknown size at their lower bound. Sweeps compare settings by it.
    pub largest_prompt: Tokens,
    /// Trimmed and cleared messages, counted once for each call.
    pub changed_messages: u64,
    /// Tokens that each call's policies removed, counted once for each call.
    pub freed_tokens: Tokens,
    /// Tokens that were not sent, counted once for each call: those removed by the call's policies and the turn limit,
    /// and those that compactions and truncations had removed before it.
    pub withheld_tokens: Tokens,
    /// Tokens removed from the transcript for good, after the last call.
    pub removed_tokens: Tokens,
    pub compactions: usize,
    /// Cost of the calls in USD; `None` if no call has a price.
    pub cost: Option<f64>,
    /// Cost of calls and summaries, split into recorded and listed amounts.
    pub cost_breakdown: Cost,
    /// Cost by the cache model in USD, even where the provider counted.
    pub modelled_cost: Option<f64>,
    /// Cost of the summaries, USD.
    pub summary_cost: f64,
    /// Prompt tokens read from the cache.
    pub cache_read: Tokens,
    /// Prompt tokens written to the cache.
    pub cache_write: Tokens,
    /// Prompt tokens neither read nor written.
    pub input: Tokens,
    /// Calls whose split is the provider's own count.
    pub measured_calls: usize,
}

impl TraceTotals {
    pub fn of(calls: &[ModelCall], trace: &[CallReplay]) -> Self {
        debug_assert_eq!(calls.len(), trace.len());
        trace.iter().fold(Self::default(), Self::with_call)
    }

    pub(super) fn with_call(mut self, call: &CallReplay) -> Self {
        let at = self.calls;
        self.calls += 1;
        self.overflows += usize::from(call.overflowed);
        self.failed += usize::from(call.failed);
        self.add_prompt(at, call);
        self.changed_messages += u64::from(call.trimmed_count() + call.cleared_count());
        self.freed_tokens += call.pruned.tokens + call.guarded.tokens + call.cleared.tokens;
        let compacted = || [&call.compacted, &call.compacted_after].into_iter().flatten();
        let written = [&call.compacted, &call.truncated].into_iter().flatten();
        self.removed_tokens += written.map(|done| done.tokens).sum::<Tokens>();
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
        let before = self.peak.1;
        self.peak = if self.refused.0 > self.answered.0 { self.refused } else { self.answered };
        if self.peak.1.is_none() {
            self.peak.0 = self.largest_prompt;
        } else if self.peak.1 != before {
            self.peak_is_measured = !call.is_estimate();
        }
    }
}

fn raise(largest: &mut (Tokens, Option<usize>), at: usize, tokens: Tokens) {
    if tokens > largest.0 {
        *largest = (tokens, Some(at));
    }
}
