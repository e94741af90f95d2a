//! Runs the traces of a replay. The recorded trace is built once; any number of simulated traces run against it, in
//! parallel where there is more than one core. Between two calls each trace checks whether its result is still wanted.

use std::sync::{Arc, OnceLock};

use crate::policy::Policy;
use crate::replay::base::ReplayBase;
use crate::replay::calls::{ModelCall, model_calls};
use crate::replay::losses::ContextLoss;
use crate::replay::outcome::CallReplay;
use crate::replay::record_use::{Departures, RecordUse};
use crate::replay::totals::TraceTotals;
use crate::replay::trace::Trace;
use crate::replay::{Replay, ReplaySession, Settings};

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
