//! A replay as it is looked at along its calls: what the lanes are held against, long pauses, compactions, and where a
//! prompt did not fit.

mod words;

use std::sync::Arc;

use crate::context::before_compaction::TokensBefore;
use crate::inspect::Inspection;
use crate::inspect::again::Material;
use crate::inspect::budget_marks::{Threshold, ThresholdMark, marks};
use crate::inspect::path_texts::Wanted;
use crate::policy::{Step, StepSet};
use crate::replay::{Call, CallReplay, Cost, RecordedLane, Replay, Settings, Totals, simulated_lane};
use crate::store::body::BodyError;

/// One of the two lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Under the settings in force.
    Recorded,
    /// Under the others.
    Simulated,
}

impl Lane {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Recorded, Self::Simulated];

    /// Its word.
    pub fn word(self) -> &'static str {
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
    pub ms: f64,
    /// Long enough for the pruner to act (pruning 4.5).
    pub prunes: bool,
}

/// A compaction before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compaction {
    /// The call after it.
    pub call: usize,
    /// Tokens before it.
    pub before: TokensBefore,
    /// Tokens of the first prompt after it.
    pub after: f64,
    /// A rule estimated the tokens after it.
    pub estimated: bool,
}

/// A session before anything is simulated: what was read of it for replays, and its recorded lane.
#[derive(Debug)]
pub struct Recording {
    /// The session.
    pub inspection: Arc<Inspection>,
    /// What was read of it.
    pub material: Material,
    /// Its calls under the settings in force.
    pub lane: Arc<RecordedLane>,
}

impl Recording {
    /// Reads a session for replays under any of these steps; none once `wanted` says that nobody waits for it. `known` is a
    /// recording of it from before entries were added: only theirs are read.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read(
        inspection: Arc<Inspection>,
        steps: StepSet,
        known: Option<&Self>,
        wanted: Wanted<'_>,
    ) -> Result<Option<Self>, BodyError> {
        let material = Material::read_on(&inspection, steps, known.map(|known| &known.material), wanted)?;
        Ok(material.and_then(|material| Self::of(inspection, material, wanted)))
    }

    /// Of what was read of a session; none once `wanted` says that nobody waits for it.
    pub fn of(inspection: Arc<Inspection>, material: Material, wanted: &dyn Fn() -> bool) -> Option<Self> {
        let lane = material.record_while(&inspection, wanted)?;
        Some(Self { inspection, material, lane })
    }
}

/// A session again, recorded, and beside it under other settings where some were given.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The session.
    pub recording: Arc<Recording>,
    /// The settings of the simulated lane.
    settings: Option<Settings>,
    /// Its calls.
    simulated: Vec<CallReplay>,
    /// What the lanes come to, recorded and simulated.
    pub totals: [Totals; 2],
}

impl Timeline {
    /// The calls of a recording, replayed under other settings where some are given; none once `wanted` says that nobody
    /// waits for it.
    pub fn new(
        recording: Arc<Recording>,
        settings: Option<Settings>,
        wanted: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let simulated = match &settings {
            Some(settings) => {
                let session = recording.material.session(&recording.inspection);
                simulated_lane(&session, settings, &recording.lane, wanted)?
            }
            None => Vec::new(),
        };
        let recorded = recording.lane.totals();
        let other = settings.as_ref().map_or(recorded, |_| Totals::of(&recording.lane.calls, &simulated));
        Some(Self { recording, settings, simulated, totals: [recorded, other] })
    }

    /// A replay that was made elsewhere.
    pub fn of_replay(inspection: Inspection, material: Material, settings: Settings, replay: Replay) -> Self {
        let totals = replay.totals();
        let lane = material.record(&inspection);
        let recording = Arc::new(Recording { inspection: Arc::new(inspection), material, lane });
        Self { recording, settings: Some(settings), simulated: replay.simulated, totals }
    }

    /// The session.
    pub fn inspection(&self) -> &Inspection {
        &self.recording.inspection
    }

    /// What was recorded of each call.
    pub fn calls(&self) -> &[Call] {
        &self.recording.lane.calls
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
    pub fn lane(&self, lane: Lane) -> &[CallReplay] {
        match lane {
            Lane::Simulated if self.is_simulated() => &self.simulated,
            _ => &self.recording.lane.lane,
        }
    }

    /// The lanes that there are.
    pub fn shown(&self) -> &'static [Lane] {
        if self.is_simulated() { &Lane::BOTH } else { &Lane::BOTH[..1] }
    }

    /// The lane that is tuned: the simulated one, where there is one.
    pub fn tuned(&self) -> Lane {
        if self.is_simulated() { Lane::Simulated } else { Lane::Recorded }
    }

    /// The settings of a lane.
    pub fn settings(&self, lane: Lane) -> &Settings {
        let own = self.settings.as_ref().filter(|_| lane == Lane::Simulated);
        own.unwrap_or(&self.recording.material.recorded)
    }

    /// Tokens that fit, as the provider says; none where nobody knows.
    pub fn window(&self) -> Option<f64> {
        Some(self.recording.material.provider_window).filter(|window| *window > 0.0)
    }

    /// Above so many tokens a lane is compacted; none where it never is by itself (compaction 2.7).
    pub fn trigger(&self, lane: Lane) -> Option<f64> {
        let compaction = self.settings(lane).steps.compaction;
        let assumed = self.settings(lane).assumed.runtime_window;
        let window = assumed.unwrap_or(self.inspection().upkeep.runtime_window);
        Some(compaction.threshold(window)).filter(|at| compaction.enabled && *at > 0.0)
    }

    /// The thresholds of the lane that is tuned, in prompt tokens; those of pruning only where it is on.
    pub fn thresholds(&self) -> Vec<ThresholdMark> {
        let lane = self.tuned();
        let settings = self.settings(lane);
        let prunes = settings.prune_on && settings.steps.steps.has(Step::Prune);
        let mut marks = marks(self.inspection(), &settings.steps, self.inspection().next_prompt.scale());
        marks.retain(|mark| match mark.threshold {
            Threshold::Soft | Threshold::Hard => prunes,
            Threshold::Flush => true,
            Threshold::Compact | Threshold::Window => false,
        });
        // The runtime compacts by its own window, and what fits is the provider's word.
        let own = [(Threshold::Compact, self.trigger(lane)), (Threshold::Window, self.window())];
        let mark =
            |(threshold, at): (_, Option<f64>)| Some(ThresholdMark { threshold, at: at? as u64, was: None });
        marks.extend(own.into_iter().filter_map(mark));
        marks
    }

    /// Pauses as long as this count, ms: after them the prompt is not in the provider's cache any more, or the pruner
    /// acts (pruning 4.5), whichever is sooner.
    pub fn least_gap(&self) -> f64 {
        let cold = Some(self.recording.material.retention.ms()).filter(|ms| *ms > 0.0);
        cold.map_or(self.ttl(), |cold| cold.min(self.ttl()))
    }

    /// The ttl of the pruner in the lane that is tuned, ms; without end where no pause lets it act.
    pub fn ttl(&self) -> f64 {
        let settings = self.settings(self.tuned());
        let on = settings.prune_on && settings.steps.steps.has(Step::Prune);
        Some(settings.steps.prune.ttl_ms).filter(|ttl| on && *ttl > 0.0).unwrap_or(f64::INFINITY)
    }

    /// The pauses that count, in order.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        let (least, ttl) = (self.least_gap(), self.ttl());
        let calls = self.calls().iter().enumerate();
        calls.filter(move |(_, call)| call.idle_ms >= least).map(move |(at, call)| Gap {
            call: at,
            ms: call.idle_ms,
            prunes: call.idle_ms >= ttl,
        })
    }

    /// The compactions of a lane, in order.
    pub fn compactions(&self, lane: Lane) -> impl Iterator<Item = Compaction> {
        self.lane(lane).iter().enumerate().filter_map(|(at, call)| {
            let before = call.compacted?.before_tokens(call.expected);
            Some(Compaction { call: at, before, after: call.expected, estimated: call.is_estimate() })
        })
    }

    /// Whether a prompt did not fit at a call, in a lane that is shown.
    pub fn overflows_at(&self, call: usize) -> bool {
        self.shown().iter().any(|lane| self.lane(*lane).get(call).is_some_and(|call| call.overflow))
    }

    /// The largest prompt of the lanes that are shown, in tokens.
    pub fn peak(&self) -> f64 {
        let peaks = self.shown().iter().map(|lane| self.totals[*lane as usize].largest);
        peaks.fold(0.0, f64::max)
    }

    /// What a lane costs with its summaries, USD; none where no call has a price.
    pub fn cost(&self, lane: Lane) -> Option<f64> {
        self.spent(lane).total()
    }

    /// The same by where it comes from.
    pub fn spent(&self, lane: Lane) -> &Cost {
        &self.totals[lane as usize].spent
    }
}
