//! The open session again under the tuned settings: what replays ask of it is read once for a reading, and each change of
//! a setting asks for one more replay. An answer is shown as soon as it is there; the newest settings are asked next.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::ids::Epoch;
use crate::inspect::Inspection;
use crate::inspect::again::Material;
use crate::inspect::timeline::Timeline;
use crate::policy::{Step, StepSet};
use crate::replay::Settings;

/// Steps that only take part where a person switches them on. All others go on as they are in force, whether the tuning
/// pane shows them or not.
const SWITCHED: [Step; 3] = [Step::Compact, Step::Truncate, Step::Clear];
/// A replay that takes longer than this is said to be on its way, ms.
const SLOW_MS: i64 = 150;

/// What is known of replays of the open session.
#[derive(Debug, Clone, Default)]
pub struct Again {
    /// What was read for them, and of which reading.
    known: Option<Known>,
    /// The reading that material was asked for last, and for which steps.
    asked_material: Option<(Epoch, StepSet)>,
    /// What was replayed last.
    pub timeline: Option<Arc<Timeline>>,
    /// What was asked for last: the reading, its settings, and when, ms.
    asked: Option<(Epoch, Settings, i64)>,
    /// The answer to that is not there yet.
    waiting: bool,
    /// Why there is none.
    pub error: Option<String>,
}

#[derive(Debug, Clone)]
struct Known {
    inspection: Arc<Inspection>,
    material: Arc<Material>,
}

impl Again {
    /// When it is to be said that a replay is on its way, ms.
    pub(super) fn slow_at(&self) -> Option<i64> {
        let (_, _, asked_ms) = self.asked.as_ref().filter(|_| self.waiting)?;
        Some(asked_ms + SLOW_MS)
    }

    /// Whether what is shown is not what was asked for, and has not been for a while.
    pub fn is_late(&self, now_ms: i64) -> bool {
        self.slow_at().is_some_and(|at| at <= now_ms)
    }
}

impl App {
    /// Whether something on the screen shows a replay.
    fn replays(&self) -> bool {
        matches!(self.overlay, Some(Overlay::Timeline))
    }

    /// Another session is open: what was known belongs to the one before.
    pub(super) fn forget_replays(&mut self) {
        self.again = Again::default();
    }

    /// Asks for what the screen shows: material first, then a replay under the settings as they are tuned.
    pub(super) fn want_replay(&mut self, effects: &mut Vec<Effect>) {
        let Some(inspection) = self.inspection().filter(|_| self.replays()).map(Arc::clone) else { return };
        let asks = self.tuned_steps(inspection.gateway_steps());
        let known = self.again.known.clone();
        let rules = inspection.ruleset.ruleset.rules();
        let tells = |known: &Known| known.material.tells(asks, rules);
        let fresh = known.as_ref().is_some_and(|known| known.inspection.epoch == inspection.epoch);
        if !(fresh && known.as_ref().is_some_and(tells))
            && self.again.asked_material != Some((inspection.epoch, asks))
        {
            self.again.asked_material = Some((inspection.epoch, asks));
            effects.push(Effect::ReadMaterial { inspection, steps: asks });
        }
        let Some(Known { inspection, material }) = known.filter(|known| tells(known)) else { return };
        let settings = self.simulated(&inspection, &material);
        let same =
            |(epoch, asked, _): &(Epoch, Settings, i64)| *epoch == inspection.epoch && *asked == settings;
        if !self.again.asked.as_ref().is_some_and(same) {
            self.again.asked = Some((inspection.epoch, settings.clone(), self.now_ms));
            self.again.waiting = true;
            effects.push(Effect::Replay { inspection, material, settings: Box::new(settings) });
        }
    }

    /// The steps of the simulated lane: those in force, and those that are switched on.
    fn tuned_steps(&self, in_force: StepSet) -> StepSet {
        if !self.tuning.preview {
            return in_force;
        }
        let always = in_force.without(StepSet::of(&SWITCHED));
        self.tuning.steps.iter().fold(always, |steps, step| steps.with(step, true))
    }

    /// The settings of the simulated lane: as tuned while a plan is shown, else those in force.
    fn simulated(&self, inspection: &Inspection, material: &Material) -> Settings {
        if !self.tuning.preview {
            return material.recorded.clone();
        }
        let mut steps = self.tuning.step_settings(inspection);
        steps.steps = self.tuned_steps(material.recorded.steps.steps);
        inspection.replay_settings(steps, self.tuning.steps.has(Step::Prune))
    }

    /// Takes what was read for replays.
    pub(super) fn take_material(
        &mut self,
        inspection: Arc<Inspection>,
        material: Result<Arc<Material>, String>,
    ) {
        if !self.fits(inspection.epoch) {
            return;
        }
        match material {
            Ok(material) => {
                self.again.error = None;
                self.again.known = Some(Known { inspection, material });
            }
            Err(error) => self.again.error = Some(error),
        }
    }

    /// Takes a replay.
    pub(super) fn replayed(&mut self, timeline: Arc<Timeline>) {
        if !self.fits(timeline.inspection.epoch) {
            return;
        }
        let asked = self.again.asked.as_ref();
        let newest = asked.is_some_and(|(epoch, settings, _)| {
            *epoch == timeline.inspection.epoch && *settings == timeline.simulated
        });
        self.again.waiting &= !newest;
        let before = self.again.timeline.replace(timeline);
        self.follow_timeline(before.as_deref());
    }
}
