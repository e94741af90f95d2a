//! Runs the traces of a replay. The recorded trace is built once; any number of simulated traces run against it, in
//! parallel where there is more than one core. Between two calls each trace checks whether its result is still wanted.

use std::sync::{Arc, OnceLock};

use crate::policy::{Policy, PolicySet};
use crate::replay::base::ReplayBase;
use crate::replay::bill::Cost;
use crate::replay::calls::{Departures, ModelCall, RecordUse, model_calls};
use crate::replay::outcome::{CallReplay, ContextLoss};
use crate::replay::trace::Trace;
use crate::replay::{Replay, ReplaySession, Settings};
use crate::units::Tokens;

/// The calls of the record under the settings in force: the baseline of every simulated trace.
#[derive(Debug, Clone)]
pub struct RecordedTrace {
    pub calls: Arc<Vec<ModelCall>>,
    /// The outcome of each call.
    pub trace: Arc<Vec<CallReplay>>,
    base: Arc<ReplayBase>,
    /// The settings in force.
    settings: Settings,
    /// Computed when a trace first decides itself when to compact.
    departures: OnceLock<Arc<Departures>>,
}

impl RecordedTrace {
    /// Builds the whole trace without a chance to cancel.
    pub fn new(session: &ReplaySession<'_>, settings: &Settings) -> Self {
        Self::record_while(session, settings, &|| true).0
    }

    /// Builds the trace while `wanted` returns true; the flag is whether it is complete.
    fn record_while(
        session: &ReplaySession<'_>,
        settings: &Settings,
        wanted: &dyn Fn() -> bool,
    ) -> (Self, bool) {
        let ReplaySession { index, path, refused, unreliable_answers, copied_failures, .. } = session;
        let mut calls = model_calls(index, path, refused, unreliable_answers, copied_failures);
        for call in &mut calls {
            call.cut_short = session.cut_short.contains(&call.entry);
        }
        let mut trace = Vec::with_capacity(calls.len());
        let base = ReplayBase::new(session).into();
        let (settings_in_force, departures) = (settings.clone(), OnceLock::new());
        let record = Self {
            trace: Arc::default(),
            calls: Arc::new(calls),
            base,
            settings: settings_in_force,
            departures,
        };
        let done = record.run(session, settings, false, wanted, |call| trace.push(call));
        (Self { trace: Arc::new(trace), ..record }, done)
    }

    /// Runs over the path once and passes each call to `tell`; returns false if `wanted` stopped it.
    fn run(
        &self,
        session: &ReplaySession<'_>,
        settings: &Settings,
        simulated: bool,
        wanted: &dyn Fn() -> bool,
        tell: impl FnMut(CallReplay),
    ) -> bool {
        let trace = self.start_trace(session, settings, simulated, wanted);
        trace.is_some_and(|mut trace| self.run_trace(&mut trace, simulated, wanted, tell))
    }

    /// Starts a trace; one that decides itself when to compact follows the departures of the record. `None` if `wanted`
    /// stopped it.
    fn start_trace<'a>(
        &'a self,
        session: &'a ReplaySession<'a>,
        settings: &'a Settings,
        simulated: bool,
        wanted: &dyn Fn() -> bool,
    ) -> Option<Trace<'a>> {
        let mut trace = Trace::new(session, &self.base, settings, simulated);
        if trace.may_compact && !settings.assumptions.ideal_compaction {
            trace.record_use = RecordUse::Follow(self.departures_while(session, wanted)?);
        }
        Some(trace)
    }

    /// Whether the recorded gateway made no compaction at a trigger that its settings had reached. Then other compaction
    /// settings say nothing about it. `None` if `wanted` stopped the replay.
    pub fn lacks_due_compactions(
        &self,
        session: &ReplaySession<'_>,
        wanted: &dyn Fn() -> bool,
    ) -> Option<bool> {
        let departures = self.departures_while(session, wanted)?;
        Some(departures.missed.iter().any(|(_, by_overflow)| !by_overflow))
    }

    /// Replays the session under its own settings and compares the compactions; `None` if `wanted` stopped it.
    fn departures_while(
        &self,
        session: &ReplaySession<'_>,
        wanted: &dyn Fn() -> bool,
    ) -> Option<Arc<Departures>> {
        if let Some(known) = self.departures.get() {
            return Some(Arc::clone(known));
        }
        let mut settings = self.settings.clone();
        settings.policies.enabled = settings.policies.enabled.with(Policy::Compact, true);
        let mut trace = Trace::new(session, &self.base, &settings, true);
        trace.record_use = RecordUse::derive(session.index, session.path, &self.calls);
        let done = self.run_trace(&mut trace, true, wanted, |_| {});
        let found = Arc::new(trace.into_departures());
        done.then(|| Arc::clone(self.departures.get_or_init(|| found)))
    }

    fn run_trace(
        &self,
        trace: &mut Trace<'_>,
        simulated: bool,
        wanted: &dyn Fn() -> bool,
        mut tell: impl FnMut(CallReplay),
    ) -> bool {
        let (mut place, mut last) = (0, None::<CallReplay>);
        for (at, call) in self.calls.iter().enumerate() {
            if !wanted() {
                return false;
            }
            (place..call.path_index).for_each(|place| trace.push_entry(place));
            place = call.path_index;
            let made = trace.replay_call(call, self.trace.get(at).filter(|_| simulated));
            if let Some(before) = last.replace(made) {
                tell(before);
            }
        }
        // A compaction after the last call counts too.
        (place..trace.session.path.len()).for_each(|place| trace.push_entry(place));
        trace.end_path();
        if let Some(last) = last {
            let after = trace.compacted.take().map(Box::new);
            tell(CallReplay { compacted_after: after, ..last });
        }
        true
    }

    pub fn totals(&self) -> TraceTotals {
        TraceTotals::of(&self.calls, &self.trace)
    }

    pub fn into_replay(self, session: &ReplaySession<'_>, simulated: Arc<Vec<CallReplay>>) -> Replay {
        let touches_recorded = !session.cache_touches.is_empty();
        Replay { calls: self.calls, recorded: self.trace, simulated, touches_recorded }
    }
}

/// Returns the messages that prompts lack in the recorded trace, or in a simulated one, in the order of the calls.
pub fn context_losses(
    session: &ReplaySession<'_>,
    settings: &Settings,
    record: &RecordedTrace,
    simulated: bool,
) -> Vec<ContextLoss> {
    let Some(mut trace) = record.start_trace(session, settings, simulated, &|| true) else {
        return Vec::new();
    };
    trace.loss_log = Some(Box::default());
    record.run_trace(&mut trace, simulated, &|| true, |_| {});
    trace.loss_log.map(|log| log.losses).unwrap_or_default()
}

/// Builds the recorded trace; `None` if `wanted` returns false before the end.
pub fn recorded_trace(
    session: &ReplaySession<'_>,
    settings: &Settings,
    wanted: &dyn Fn() -> bool,
) -> Option<RecordedTrace> {
    let (record, done) = RecordedTrace::record_while(session, settings, wanted);
    done.then_some(record)
}

/// Replays the recorded calls under other settings; `None` if `wanted` returns false before the end.
pub fn simulated_trace(
    session: &ReplaySession<'_>,
    settings: &Settings,
    record: &RecordedTrace,
    wanted: &dyn Fn() -> bool,
) -> Option<Vec<CallReplay>> {
    let mut trace = Vec::with_capacity(record.calls.len());
    let done = record.run(session, settings, true, wanted, |call| trace.push(call));
    done.then_some(trace)
}

/// Returns the totals under other settings without keeping each call, as for one cell of a sweep; `None` if `wanted`
/// returns false before the end.
pub fn simulated_totals(
    session: &ReplaySession<'_>,
    settings: &Settings,
    record: &RecordedTrace,
    wanted: &dyn Fn() -> bool,
) -> Option<TraceTotals> {
    let mut totals = TraceTotals::default();
    let done = record.run(session, settings, true, wanted, |call| totals = totals.with_call(&call));
    done.then_some(totals)
}

// Sums over all calls of a trace.

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

// Compares the provider's counts with the policies of the recorded trace: under another version or configuration at
// the time, recorded prompts are larger than those policies would have left them.

/// A policy is contradicted if the error without it is below this share of the error with it.
const MIN_IMPROVEMENT: f64 = 0.5;

/// Returns the policies under which the recorded trace is farther from the counts than without them.
pub fn contradicted_policies(record: &RecordedTrace) -> PolicySet {
    let speaks_against = |policy: &Policy| {
        let (with, without) = prediction_errors(record, *policy);
        with > 0.0 && without < with * MIN_IMPROVEMENT
    };
    [Policy::Prune, Policy::Guard]
        .into_iter()
        .filter(speaks_against)
        .fold(PolicySet::NONE, |policies, policy| policies.with(policy, true))
}

/// Returns the total error of the estimates in tokens at the calls on which a policy acted: with it, and without it.
fn prediction_errors(record: &RecordedTrace, policy: Policy) -> (f64, f64) {
    let freed = |call: &CallReplay| match policy {
        Policy::Prune => call.pruned.tokens,
        _ => call.guarded.tokens,
    };
    let counted = record.calls.iter().zip(record.trace.iter());
    let counted =
        counted.filter_map(|(call, sent)| Some((call.measured_tokens()?, sent.tokens, freed(sent))));
    counted.filter(|(_, _, freed)| *freed > Tokens::ZERO).fold(
        (0.0, 0.0),
        |(with, without), (measured, sent, freed)| {
            (with + (sent - measured).abs().get(), without + (sent + freed - measured).abs().get())
        },
    )
}
