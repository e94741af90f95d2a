//! A replay as it is looked at along its calls: what the lanes are held against, long pauses, compactions, and where a
//! prompt did not fit.

mod description;

use std::sync::Arc;

use crate::context::tokens_before::TokensBefore;
use crate::policy::{Policy, PolicySet};
use crate::replay::{
    CallReplay, Cost, ModelCall, RecordedTrace, Replay, Settings, TraceTotals, simulated_trace,
};
use crate::session::LoadedSession;
use crate::session::budget_marks::{Threshold, ThresholdMark, threshold_marks};
use crate::session::path_texts::IsWanted;
use crate::session::replay_inputs::ReplayInputs;
use crate::store::body::BodyError;

/// One of the two lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// Under the settings in force.
    Recorded,
    /// Under the others.
    Simulated,
}

impl TraceKind {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Recorded, Self::Simulated];

    /// Its word.
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
    /// The call after it.
    pub call: usize,
    /// How long, ms.
    pub duration_ms: f64,
    /// Long enough for the pruner to act (pruning 4.5).
    pub prunes: bool,
}

/// A compaction before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionPoint {
    /// The call after it.
    pub call: usize,
    /// Tokens before it.
    pub tokens_before: TokensBefore,
    /// Tokens of the first prompt after it.
    pub tokens_after: f64,
    /// A rule estimated the tokens after it.
    pub estimated: bool,
}

/// A session before anything is simulated: what was read of it for replays, and its recorded lane.
#[derive(Debug)]
pub struct RecordedSession {
    /// The session.
    pub session: Arc<LoadedSession>,
    /// What was read of it.
    pub inputs: ReplayInputs,
    /// Its calls under the settings in force.
    pub trace: Arc<RecordedTrace>,
}

impl RecordedSession {
    /// Reads a session for replays under any of these steps; none once `wanted` says that nobody waits for it. `known` is a
    /// recording of it from before entries were added: only theirs are read.
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
        Ok(inputs.and_then(|inputs| Self::from_inputs(session, inputs, wanted)))
    }

    /// Of what was read of a session; none once `wanted` says that nobody waits for it.
    pub fn from_inputs(
        inspection: Arc<LoadedSession>,
        material: ReplayInputs,
        wanted: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let lane = material.recorded_trace_while(&inspection, wanted)?;
        Some(Self { session: inspection, inputs: material, trace: lane })
    }
}

/// A session again, recorded, and beside it under other settings where some were given.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The session.
    pub recorded: Arc<RecordedSession>,
    /// The settings of the simulated lane.
    settings: Option<Settings>,
    /// Its calls.
    simulated: Vec<CallReplay>,
    /// What the lanes come to, recorded and simulated.
    pub totals: [TraceTotals; 2],
}

impl Timeline {
    /// The calls of a recording, replayed under other settings where some are given; none once `wanted` says that nobody
    /// waits for it.
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

    /// A replay that was made elsewhere.
    pub fn from_replay(
        loaded: LoadedSession,
        material: ReplayInputs,
        settings: Settings,
        replay: Replay,
    ) -> Self {
        let totals = replay.totals();
        let lane = material.recorded_trace(&loaded);
        let recorded = Arc::new(RecordedSession { session: Arc::new(loaded), inputs: material, trace: lane });
        Self { recorded, settings: Some(settings), simulated: replay.simulated, totals }
    }

    /// The session.
    pub fn session(&self) -> &LoadedSession {
        &self.recorded.session
    }

    /// What was recorded of each call.
    pub fn calls(&self) -> &[ModelCall] {
        &self.recorded.trace.calls
    }

    /// Whether there is a simulated lane.
    pub fn is_simulated(&self) -> bool {
        self.settings.is_some()
    }

    /// Calls.
    pub fn len(&self) -> usize {
        self.calls().len()
    }

    /// Whether no call is recorded.
    pub fn is_empty(&self) -> bool {
        self.calls().is_empty()
    }

    /// The calls of a lane; those recorded where nothing is simulated.
    pub fn trace(&self, trace: TraceKind) -> &[CallReplay] {
        match trace {
            TraceKind::Simulated if self.is_simulated() => &self.simulated,
            _ => &self.recorded.trace.trace,
        }
    }

    /// The lanes that there are.
    pub fn visible_traces(&self) -> &'static [TraceKind] {
        if self.is_simulated() { &TraceKind::BOTH } else { &TraceKind::BOTH[..1] }
    }

    /// The lane that is tuned: the simulated one, where there is one.
    pub fn tuned_trace(&self) -> TraceKind {
        if self.is_simulated() { TraceKind::Simulated } else { TraceKind::Recorded }
    }

    /// The settings of a lane.
    pub fn settings(&self, trace: TraceKind) -> &Settings {
        let own = self.settings.as_ref().filter(|_| trace == TraceKind::Simulated);
        own.unwrap_or(&self.recorded.inputs.recorded_settings)
    }

    /// Tokens that fit, as the provider says; none where nobody knows.
    pub fn window(&self) -> Option<f64> {
        Some(self.recorded.inputs.provider_window).filter(|window| *window > 0.0)
    }

    /// Above so many tokens a lane is compacted; none where it never is by itself (compaction 2.7).
    pub fn compaction_trigger(&self, trace: TraceKind) -> Option<f64> {
        let compaction = self.settings(trace).policies.compaction;
        let assumed = self.settings(trace).assumptions.runtime_window;
        let window = assumed.unwrap_or(self.session().limits.runtime_window);
        Some(compaction.threshold(window)).filter(|at| compaction.enabled && *at > 0.0)
    }

    /// The thresholds of the lane that is tuned, in prompt tokens; those of pruning only where it is on.
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
        // The runtime compacts by its own window, and what fits is the provider's word.
        let own = [(Threshold::Compact, self.compaction_trigger(trace)), (Threshold::Window, self.window())];
        let mark = |(threshold, at): (_, Option<f64>)| {
            Some(ThresholdMark { threshold, tokens: at? as u64, configured_tokens: None })
        };
        marks.extend(own.into_iter().filter_map(mark));
        marks
    }

    /// Pauses as long as this count, ms: after them the prompt is not in the provider's cache any more, or the pruner
    /// acts (pruning 4.5), whichever is sooner.
    pub fn min_gap_ms(&self) -> f64 {
        let cold = Some(self.recorded.inputs.retention.ms()).filter(|ms| *ms > 0.0);
        cold.map_or(self.ttl_ms(), |cold| cold.min(self.ttl_ms()))
    }

    /// The ttl of the pruner in the lane that is tuned, ms; without end where no pause lets it act.
    pub fn ttl_ms(&self) -> f64 {
        let settings = self.settings(self.tuned_trace());
        let on = settings.prune_on && settings.policies.enabled.has(Policy::Prune);
        Some(settings.policies.prune.ttl_ms).filter(|ttl| on && *ttl > 0.0).unwrap_or(f64::INFINITY)
    }

    /// The pauses that count, in order.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        let (least, ttl) = (self.min_gap_ms(), self.ttl_ms());
        let calls = self.calls().iter().enumerate();
        calls.filter(move |(_, call)| call.idle_ms >= least).map(move |(at, call)| Gap {
            call: at,
            duration_ms: call.idle_ms,
            prunes: call.idle_ms >= ttl,
        })
    }

    /// The compactions of a lane, in order.
    pub fn compactions(&self, trace: TraceKind) -> impl Iterator<Item = CompactionPoint> {
        self.trace(trace).iter().enumerate().filter_map(|(at, call)| {
            let before = call.compacted?.tokens_before_or_estimate(call.expected);
            Some(CompactionPoint {
                call: at,
                tokens_before: before,
                tokens_after: call.expected,
                estimated: call.is_estimate(),
            })
        })
    }

    /// Whether a prompt did not fit at a call, in a lane that is shown.
    pub fn overflows_at(&self, call: usize) -> bool {
        self.visible_traces()
            .iter()
            .any(|trace| self.trace(*trace).get(call).is_some_and(|call| call.overflowed))
    }

    /// The largest prompt of the lanes that are shown, in tokens.
    pub fn peak_tokens(&self) -> f64 {
        let peaks = self.visible_traces().iter().map(|trace| self.totals[*trace as usize].largest_prompt);
        peaks.fold(0.0, f64::max)
    }

    /// What a lane costs with its summaries, USD; none where no call has a price.
    pub fn cost(&self, trace: TraceKind) -> Option<f64> {
        self.cost_breakdown(trace).total()
    }

    /// The same by where it comes from.
    pub fn cost_breakdown(&self, trace: TraceKind) -> &Cost {
        &self.totals[trace as usize].cost_breakdown
    }
}
