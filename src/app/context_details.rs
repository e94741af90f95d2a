//! Policies that need more than sizes: a job reads the texts, and the plan leaves these policies out until then.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::state::App;
use crate::gateway::ruleset::Ruleset;
use crate::plan::{Plan, PlanError};
use crate::policy::prune::Gate;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::{ContextDetails, LoadedSession};

/// Returns the plan of the policies that need no texts or have them, and the policies that wait.
pub(super) fn plan_available_policies(
    session: &LoadedSession,
    mut settings: PolicySettings,
    gate: Gate,
) -> (Result<Plan, PlanError>, PolicySet) {
    let mut waiting = PolicySet::NONE;
    loop {
        match session.plan(&settings, gate) {
            Err(PlanError::NeedsTexts(step)) if settings.enabled.has(step) => {
                settings.enabled = settings.enabled.with(step, false);
                waiting = waiting.with(step, true);
            }
            plan => return (plan, waiting),
        }
    }
}

/// Whether one of the policies needs more than sizes: texts, or the branch.
fn needs_details(steps: PolicySet, ruleset: Ruleset) -> bool {
    steps.uses_features(ruleset.rules()) || steps.has(Policy::Compact)
}

impl App {
    /// Requests the details once per session view, when a policy that needs them is shown.
    pub(super) fn request_details(&mut self, effects: &mut Vec<Effect>) {
        let Some(loaded) = self.displayed_session() else { return };
        let shown = self.tuning.preview && needs_details(self.tuning.policies, loaded.ruleset.id);
        if !shown && !self.shows_policies() {
            return;
        }
        if loaded.details.is_some() || self.requests.details.as_ref() == Some(&loaded.view_key()) {
            return;
        }
        let session = Arc::clone(loaded);
        self.requests.details = Some(session.view_key());
        effects.push(Effect::LoadDetails { session });
    }

    /// Stores the details and makes the plan again with every policy.
    pub(super) fn on_details(&mut self, context_details: Result<Arc<ContextDetails>, EffectError>) {
        match context_details {
            Ok(context_details) => {
                let Some(pane) = &mut self.transcript else { return };
                let session = LoadedSession { details: Some(context_details), ..(*pane.session).clone() };
                let is_own = pane.active_session.view_key() == session.view_key();
                pane.session = Arc::new(session);
                if is_own {
                    pane.active_session = Arc::clone(&pane.session);
                }
                self.replan(false);
            }
            Err(error) => {
                self.preview.details_failed = true;
                self.show_toast(error.to_string(), true);
            }
        }
    }
}
