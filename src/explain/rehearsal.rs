//! Replays of the session through the call that failed: as it was, under changed settings, and with one thing set right
//! that was wrong. `replay`, `check`, `sweep` and tuning run the same replay, so their answers are the same.

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::build::ContextMessage;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::again::Material;
use crate::inspect::change::Change;
use crate::inspect::simulated::{replayed_steps, simulated};
use crate::inspect::whole::Whole;
use crate::policy::StepSet;
use crate::replay::{CallReplay, RecordedLane, Settings, simulated_lane};
use crate::store::body::BodyError;
use crate::store::intern::WordIx;

/// A session ready to be replayed.
#[derive(Debug)]
pub(super) struct Rehearsal {
    /// The session at a leaf from which the failing call is on the path.
    pub inspection: Inspection,
    /// Its calls as they were.
    pub record: Arc<RecordedLane>,
    /// Tokens before the messages.
    pub fixed: f64,
    material: Material,
    weights: HashMap<EntryIx, f64>,
    failing: Option<EntryIx>,
}

impl Rehearsal {
    /// Reads what replays need. `failing` is the call that failed, none before anything did.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub(super) fn read(inspection: &Inspection, failing: Option<EntryIx>) -> Result<Self, BodyError> {
        let inspection = through(inspection, failing);
        let material = Material::read(&inspection, StepSet::NONE)?;
        let record = material.record(&inspection);
        let (fixed, weights) = material.weights(&inspection);
        Ok(Self { inspection, record, fixed, material, weights, failing })
    }

    /// What each message weighs by the provider's count.
    pub(super) fn weights_of(&self, messages: &[ContextMessage]) -> Vec<f64> {
        let weight = |message: &ContextMessage| {
            let known = self.weights.get(&message.entry).copied();
            known.unwrap_or_else(|| estimate_or_zero(&message.size) as f64)
        };
        messages.iter().map(weight).collect()
    }

    /// What became of a call.
    pub(super) fn recorded(&self, entry: EntryIx) -> Option<&CallReplay> {
        let at = self.record.calls.iter().position(|call| call.entry == entry)?;
        self.record.lane.get(at)
    }

    /// What the provider of a model takes, as far as the record teaches.
    pub(super) fn limit_of(&self, model: Option<(WordIx, WordIx)>) -> Option<u64> {
        let other = model.and_then(|model| self.material.windows.get(&model)).map(|limits| limits.provider);
        Some(other.unwrap_or(self.material.provider_window))
            .filter(|limit| *limit > 0.0)
            .map(|limit| limit as u64)
    }

    /// Whether pruning can act at all: the release has it, and the provider is eligible.
    pub(super) fn prunes(&self) -> bool {
        self.material.prunes(&self.inspection)
    }

    /// Calls of the path.
    pub(super) fn len(&self) -> usize {
        self.record.calls.len()
    }

    /// The whole session as it was.
    pub(super) fn as_it_was(&self) -> Whole {
        self.sum(&self.record.lane)
    }

    /// The settings of a replay under these changes.
    pub(super) fn settings(&self, changes: &[Change]) -> Settings {
        let steps = replayed_steps(&self.inspection, changes);
        let changed = changes.iter().filter_map(|change| change.step).collect::<Vec<_>>();
        let left_out = self.material.doubted.without(StepSet::of(&changed));
        simulated(&self.inspection, changes, steps.without(left_out)).replayed()
    }

    /// The whole session under changed settings.
    pub(super) fn under(&self, changes: &[Change]) -> Whole {
        self.run(&self.settings(changes))
    }

    /// The whole session under any settings.
    pub(super) fn run(&self, settings: &Settings) -> Whole {
        let session = self.material.session(&self.inspection);
        let lane = simulated_lane(&session, settings, &self.record, &|| true).unwrap_or_default();
        self.sum(&lane)
    }

    fn sum(&self, lane: &[CallReplay]) -> Whole {
        Whole::of(&self.record, lane, self.failing)
    }
}

/// The session at a leaf from which a call is on the path.
fn through(inspection: &Inspection, entry: Option<EntryIx>) -> Inspection {
    let off_path = entry.filter(|entry| !inspection.context.path.contains(entry));
    off_path.and_then(|entry| inspection.after(entry)).unwrap_or_else(|| inspection.clone())
}
