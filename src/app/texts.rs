//! Steps that look at more than sizes: the texts they ask for are read beside the screen, and until they are there
//! the plan is told without those steps.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::gateway::ruleset::Ruleset;
use crate::inspect::{Closer, Inspection};
use crate::plan::{Plan, PlanError};
use crate::policy::prune::Gate;
use crate::policy::{Step, StepSet, StepSettings};

/// The plan of the steps that can be told now, and the steps that wait for texts.
pub(super) fn told(
    inspection: &Inspection,
    mut settings: StepSettings,
    gate: Gate,
) -> (Result<Plan, PlanError>, StepSet) {
    let mut waiting = StepSet::NONE;
    loop {
        match inspection.plan(&settings, gate) {
            Err(PlanError::NeedsTexts(step)) if settings.steps.has(step) => {
                settings.steps = settings.steps.with(step, false);
                waiting = waiting.with(step, true);
            }
            plan => return (plan, waiting),
        }
    }
}

/// Whether one of these steps looks at more than sizes: at texts, or at the branch they stand on.
fn look_closer(steps: StepSet, ruleset: Ruleset) -> bool {
    steps.looks_closer(ruleset.rules()) || steps.has(Step::Compact)
}

impl App {
    /// Asks for what closer steps look at: once for a reading, as soon as one of them is shown.
    pub(super) fn want_texts(&mut self, effects: &mut Vec<Effect>) {
        let Some(inspection) = self.inspection() else { return };
        let shown = self.tuning.preview && look_closer(self.tuning.steps, inspection.ruleset.ruleset);
        if !shown && !matches!(self.overlay, Some(Overlay::Steps(_))) {
            return;
        }
        if inspection.closer.is_some() || self.asked_texts.as_ref() == Some(&inspection.subject()) {
            return;
        }
        let inspection = Arc::clone(inspection);
        self.asked_texts = Some(inspection.subject());
        effects.push(Effect::ReadTexts { inspection });
    }

    /// The texts were read: the plan is made again, now with every step.
    pub(super) fn take_texts(&mut self, closer: Result<Arc<Closer>, String>) {
        match closer {
            Ok(closer) => {
                let Some(pane) = &mut self.transcript else { return };
                let inspection = Inspection { closer: Some(closer), ..(*pane.inspection).clone() };
                let is_own = pane.own.subject() == inspection.subject();
                pane.inspection = Arc::new(inspection);
                if is_own {
                    pane.own = Arc::clone(&pane.inspection);
                }
                self.replan(false);
            }
            Err(error) => {
                self.texts_failed = true;
                self.toast(error, true);
            }
        }
    }
}
