//! A replay along its calls, as the timeline draws it: thresholds, long pauses, compactions and overflows of both
//! traces.

mod description;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::context::tokens_before::TokensBefore;
use crate::ids::EntryIx;
use crate::policy::{Policy, PolicySet};
use crate::replay::{
    CallReplay, Cost, ModelCall, RecordedTrace, Replay, Settings, TraceTotals, simulated_trace,
};
use crate::report::cache_ledger::{CacheMiss, CacheTotals, CachedCall, cache_ledger_from};
use crate::session::LoadedSession;
use crate::session::budget_marks::{Threshold, ThresholdMark, threshold_marks};
use crate::session::path_texts::IsWanted;
use crate::session::replay_inputs::ReplayInputs;
use crate::store::body::BodyError;
use crate::units::{Millis, Tokens};

/// One of the two traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// Under the current settings.
    Recorded,
    /// Under changed settings.
    Simulated,
}

impl TraceKind {
    pub const BOTH: [Self; 2] = [Self::Recorded, Self::Simulated];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Simulated => "simulated",
        }
    }
}

/// A pause before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The call after the pause.
    pub call: usize,
    pub duration_ms: Millis,
    /// Whether the pause is long enough for the pruner to act (pruning 4.5).
    pub prunes: bool,
}

/// A compaction before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionPoint {
    /// The call after the compaction.
    pub call: usize,
    /// Tokens before the compaction.
    pub tokens_before: TokensBefore,
    /// Tokens of the first prompt after the compaction.
    pub tokens_after: Tokens,
    /// Whether `tokens_after` is estimated by rule.
    pub estimated: bool,
}

/// A session before any simulation: its replay inputs and its recorded trace.
#[derive(Debug)]
pub struct RecordedSession {
    pub session: Arc<LoadedSession>,
    /// The inputs that replays need.
    pub inputs: ReplayInputs,
    pub trace: Arc<RecordedTrace>,
    /// The tokens that the provider's cache read, wrote and missed, by call of the path.
    cache: HashMap<EntryIx, CachedCall>,
    /// The sums of `cache`, made once because a screen shows them in every frame.
    cache_totals: CacheTotals,
}

impl RecordedSession {
    /// Reads a session for replays under any of these policies; `None` once `wanted` returns `false`. `known` is an
    /// earlier recording of the session: only entries added since are read.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read(
        session: Arc<LoadedSession>,
        policies: PolicySet,
        known: Option<&Self>,
        wanted: IsWanted<'_>,
    ) -> Result<Option<Self>, BodyError> {
        let inputs = ReplayInputs::read_while(&session, policies, known.map(|known| &known.inputs), wanted)?;
        let Some(inputs) = inputs else { return Ok(None) };
        let recorded = Self::without_cache(session, inputs, wanted)?;
        recorded.map(Self::with_cache).transpose()
    }

    /// Builds the recording from inputs already read, without the cache of the calls, which only a timeline shows;
    /// `None` once `wanted` returns `false`.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn without_cache(
        session: Arc<LoadedSession>,
        inputs: ReplayInputs,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, BodyError> {
        let trace = inputs.recorded_trace_while(&session, wanted);
        inputs.check_bodies()?;
        Ok(trace.map(|trace| Self::bare(session, inputs, trace)))
    }

    fn bare(session: Arc<LoadedSession>, inputs: ReplayInputs, trace: Arc<RecordedTrace>) -> Self {
        Self { session, inputs, trace, cache: HashMap::new(), cache_totals: CacheTotals::default() }
    }

    fn with_cache(self) -> Result<Self, BodyError> {
        let Self { session, inputs, trace, .. } = self;
        let ledger = cache_ledger_from(&session, Some(&inputs))?;
        let on_path: HashSet<EntryIx> = trace.calls.iter().map(|call| call.entry).collect();
        let calls = ledger.calls.into_iter().filter(|call| on_path.contains(&call.entry));
        let cache: HashMap<EntryIx, CachedCall> = calls.map(|call| (call.entry, call)).collect();
        let cache_totals = CacheTotals::of(trace.calls.iter().filter_map(|call| cache.get(&call.entry)));
        Ok(Self { session, inputs, trace, cache, cache_totals })
    }
}

/// A recorded session and, if other settings are given, its simulation.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub recorded: Arc<RecordedSession>,
    /// The settings of the simulated trace.
    settings: Option<Settings>,
    simulated: Vec<CallReplay>,
    /// Totals of the traces, recorded and simulated.
    pub totals: [TraceTotals; 2],
}

impl Timeline {
    /// Replays a recording under other settings, if any are given; `None` once `wanted` returns `false`.
    pub fn new(
        recording: Arc<RecordedSession>,
        settings: Option<Settings>,
        wanted: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let simulated = match &settings {
            Some(settings) => {
                let session = recording.inputs.replay_session(&recording.session);
                simulated_trace(&session, settings, &recording.trace, wanted)?
            }
            None => Vec::new(),
        };
        let recorded = recording.trace.totals();
        let other =
            settings.as_ref().map_or(recorded, |_| TraceTotals::of(&recording.trace.calls, &simulated));
        Some(Self { recorded: recording, settings, simulated, totals: [recorded, other] })
    }

    /// Builds a timeline from a finished replay.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn from_replay(
        loaded: LoadedSession,
        inputs: ReplayInputs,
        settings: Settings,
        replay: Replay,
    ) -> Result<Self, BodyError> {
        let totals = replay.totals();
        let trace = inputs.recorded_trace(&loaded);
        let recorded = Arc::new(RecordedSession::bare(Arc::new(loaded), inputs, trace).with_cache()?);
        Ok(Self {
            recorded,
            settings: Some(settings),
            simulated: Arc::unwrap_or_clone(replay.simulated),
            totals,
        })
    }

    pub fn session(&self) -> &LoadedSession {
        &self.recorded.session
    }

    pub fn calls(&self) -> &[ModelCall] {
        &self.recorded.trace.calls
    }

    /// Whether the timeline has a simulated trace.
    pub fn is_simulated(&self) -> bool {
        self.settings.is_some()
    }

    pub fn len(&self) -> usize {
        self.calls().len()
    }

    /// Whether the session has no calls.
    pub fn is_empty(&self) -> bool {
        self.calls().is_empty()
    }

    /// Returns the calls of a trace; the recorded ones if nothing is simulated.
    pub fn trace(&self, trace: TraceKind) -> &[CallReplay] {
        match trace {
            TraceKind::Simulated if self.is_simulated() => &self.simulated,
            _ => &self.recorded.trace.trace,
        }
    }

    /// Returns the traces to show.
    pub fn visible_traces(&self) -> &'static [TraceKind] {
        if self.is_simulated() { &TraceKind::BOTH } else { &TraceKind::BOTH[..1] }
    }

    /// Returns the trace that tuning changes: the simulated one, if there is one.
    pub fn tuned_trace(&self) -> TraceKind {
        if self.is_simulated() { TraceKind::Simulated } else { TraceKind::Recorded }
    }

    pub fn settings(&self, trace: TraceKind) -> &Settings {
        let own = self.settings.as_ref().filter(|_| trace == TraceKind::Simulated);
        own.unwrap_or(&self.recorded.inputs.recorded_settings)
    }

    /// Returns the tokens that the provider takes; `None` if unknown.
    pub fn window(&self) -> Option<Tokens> {
        Some(self.recorded.inputs.provider_window).filter(|window| *window > Tokens::ZERO)
    }

    /// Returns the tokens above which a trace is compacted; `None` if it is never compacted automatically (compaction
    /// 2.7).
    pub fn compaction_trigger(&self, trace: TraceKind) -> Option<Tokens> {
        let compaction = self.settings(trace).policies.compaction;
        let assumed = self.settings(trace).assumptions.runtime_window;
        let window = assumed.unwrap_or(self.session().limits.runtime_window);
        let trigger = compaction.trigger(window, self.settings(trace).window).tokens;
        Some(trigger).filter(|at| compaction.enabled && *at > Tokens::ZERO)
    }

    /// Returns the thresholds of the tuned trace in prompt tokens; those of pruning only if it is on.
    pub fn thresholds(&self) -> Vec<ThresholdMark> {
        let trace = self.tuned_trace();
        let settings = self.settings(trace);
        let prunes = settings.prune_on && settings.policies.enabled.has(Policy::Prune);
        let mut marks =
            threshold_marks(self.session(), &settings.policies, self.session().next_prompt.scale_factors());
        marks.retain(|mark| match mark.threshold {
            Threshold::Soft | Threshold::Hard => prunes,
            Threshold::Flush => true,
            Threshold::Compact | Threshold::Window => false,
        });
        // The runtime compacts by its own window, but the provider decides which prompts fit.
        let own = [(Threshold::Compact, self.compaction_trigger(trace)), (Threshold::Window, self.window())];
        let mark = |(threshold, at): (_, Option<Tokens>)| {
            Some(ThresholdMark { threshold, tokens: at?.whole(), configured_tokens: None })
        };
        marks.extend(own.into_iter().filter_map(mark));
        marks
    }

    /// Returns the shortest long pause. After it the prompt has left the provider's cache, or the pruner acts
    /// (pruning 4.5), whichever comes first.
    pub fn min_gap_ms(&self) -> Millis {
        let cold = Some(self.recorded.inputs.retention.duration()).filter(|cold| *cold > Millis::ZERO);
        cold.map_or(self.ttl_ms(), |cold| cold.min(self.ttl_ms()))
    }

    /// Returns the pruner's ttl in the tuned trace; infinite if no pause lets it act.
    pub fn ttl_ms(&self) -> Millis {
        let settings = self.settings(self.tuned_trace());
        let on = settings.prune_on && settings.policies.enabled.has(Policy::Prune);
        Some(settings.policies.prune.ttl_ms)
            .filter(|ttl| on && *ttl > Millis::ZERO)
            .unwrap_or(Millis(f64::INFINITY))
    }

    /// Returns the long pauses, in order.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        let (least, ttl) = (self.min_gap_ms(), self.ttl_ms());
        let calls = self.calls().iter().enumerate();
        calls.filter(move |(_, call)| call.idle_ms >= least).map(move |(at, call)| Gap {
            call: at,
            duration_ms: call.idle_ms,
            prunes: call.idle_ms >= ttl,
        })
    }

    /// Returns the compactions of a trace, in order.
    pub fn compactions(&self, trace: TraceKind) -> impl Iterator<Item = CompactionPoint> {
        self.trace(trace).iter().enumerate().filter_map(|(at, call)| {
            let before = call.compacted.as_ref()?.tokens_before_or_estimate(call.expected);
            Some(CompactionPoint {
                call: at,
                tokens_before: before,
                tokens_after: call.expected,
                estimated: call.is_estimate(),
            })
        })
    }

    /// Whether a prompt of a visible trace did not fit at this call.
    pub fn overflows_at(&self, call: usize) -> bool {
        self.visible_traces()
            .iter()
            .any(|trace| self.trace(*trace).get(call).is_some_and(|call| call.overflowed))
    }

    /// Returns the largest prompt of the visible traces, in tokens.
    pub fn peak_tokens(&self) -> Tokens {
        let peaks = self.visible_traces().iter().map(|trace| self.totals[*trace as usize].largest_prompt);
        peaks.fold(Tokens::ZERO, Tokens::max)
    }

    /// Returns the cache's effect on a recorded call.
    pub fn cached(&self, call: usize) -> Option<&CachedCall> {
        self.recorded.cache.get(&self.calls().get(call)?.entry)
    }

    /// Returns the counted miss of a recorded call.
    pub fn miss(&self, call: usize) -> Option<&CacheMiss> {
        self.cached(call)?.miss.as_ref().filter(|miss| miss.is_counted())
    }

    /// Returns the sums of the cache over all calls of the path.
    pub fn cache_totals(&self) -> &CacheTotals {
        &self.recorded.cache_totals
    }

    /// Returns the cost of a trace with its summaries, USD; `None` if no call has a price.
    pub fn cost(&self, trace: TraceKind) -> Option<f64> {
        self.cost_breakdown(trace).total()
    }

    /// Returns the cost by origin.
    pub fn cost_breakdown(&self, trace: TraceKind) -> &Cost {
        &self.totals[trace as usize].cost_breakdown
    }
}
