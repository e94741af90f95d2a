//! The policies screen: a cursor over the policies, the effect of each alone, and a way to its settings.

mod screen;

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::layout::Pane;
use crate::app::state::{App, Overlay};
use crate::plan::Plan;
use crate::policy::prune::Gate;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::LoadedSession;
use crate::write::summary::calls::{SummaryCalls, SummaryCallsRequest};
pub use screen::{MeasuredEffect, PoliciesLine, PoliciesScreen};

/// The largest session, in messages, whose policies are also measured alone with each key: each takes a plan.
const MAX_MEASURED_MESSAGES: usize = 10_000;

impl App {
    pub fn policies_area(&self) -> Rect {
        self.layout().below_bars(self.size)
    }

    /// Whether the screen is open, perhaps below another.
    pub(in crate::app) fn has_policies_screen(&self) -> bool {
        self.views.iter().any(|view| matches!(view, Overlay::Policies(_)))
    }

    fn policies_mut(&mut self) -> Option<&mut PoliciesScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Policies(screen) => Some(screen),
            _ => None,
        })
    }

    /// Measures every policy alone, and the policies that are on one after another, if the screen is open.
    pub(in crate::app) fn measure_policies(&mut self, session: &LoadedSession, gate: Gate) {
        if !self.has_policies_screen() {
            return;
        }
        let few = session.context.messages.len() <= MAX_MEASURED_MESSAGES;
        let settings = self.tuning.policy_settings(session);
        let measure = |policy: Policy| {
            let settings = PolicySettings { enabled: PolicySet::of(&[policy]), ..settings.clone() };
            let mut plan = session.plan(&settings, gate).ok()?;
            let prompt_tokens = session.prompt_tokens_after(&plan);
            Some(MeasuredEffect { effect: plan.effects.pop()?, prompt_tokens })
        };
        let alone = Policy::ALL.into_iter().map(|policy| if few { measure(policy) } else { None }).collect();
        let prompts =
            self.preview.plan.as_deref().map_or_else(Vec::new, |plan| prompts_after_each(session, plan));
        if let Some(screen) = self.policies_mut() {
            screen.effects = alone;
            screen.prompts = prompts;
        }
    }

    /// Requests the calls of the planned compaction's summary, if the screen is open and the request is new.
    pub(in crate::app) fn request_summary_calls(&mut self, effects: &mut Vec<Effect>) {
        let plan = self.preview.plan.as_deref().filter(|plan| plan.compaction.is_some());
        let (Some(plan), Some(loaded)) = (plan, self.displayed_session()) else { return };
        let session = Arc::clone(loaded);
        let requested = SummaryCallsRequest {
            epoch: session.epoch,
            compaction: plan.settings.compaction,
            summary_tokens: plan.settings.summary_tokens,
        };
        let Some(screen) = self.policies_mut() else { return };
        if screen.summary_calls.as_ref().is_none_or(|(known, _)| *known != requested) {
            screen.summary_calls = Some((requested, None));
            effects.push(Effect::PredictSummaryCalls { session, request: requested });
        }
    }

    /// The last request for the calls of a summary.
    pub(in crate::app) fn requested_summary_calls(&self) -> Option<SummaryCallsRequest> {
        self.views.find(|view| match view {
            Overlay::Policies(screen) => Some(screen.summary_calls.as_ref()?.0),
            _ => None,
        })
    }

    pub(in crate::app) fn on_summary_calls(&mut self, reported: Result<SummaryCalls, EffectError>) {
        if let Some((_, answer)) = self.policies_mut().and_then(|screen| screen.summary_calls.as_mut()) {
            *answer = Some(reported);
        }
    }

    /// Handles an action of the screen.
    pub(in crate::app) fn dispatch_policies(&mut self, action: Action) -> bool {
        match action {
            Action::Open => self.open_policy_settings(),
            Action::Fold => self.toggle_policy(),
            _ => return false,
        }
        true
    }

    /// Toggles the selected policy of the screen, otherwise the focused one of the tuning pane.
    pub(in crate::app) fn toggle_policy(&mut self) {
        match self.overlay() {
            None | Some(Overlay::Timeline) => {}
            Some(Overlay::Policies(screen)) => {
                let policy = screen.selected();
                self.tuning.focus_policy(policy);
            }
            // The toggle would be invisible.
            Some(_) => return,
        }
        self.tuning.toggle_policy(self.tuning.policy);
        self.replan(true);
    }

    /// Focuses the policy `by` positions away.
    pub(in crate::app) fn focus_policy_by(&mut self, by: isize) {
        self.focus_policy(self.tuning.policy_by(by));
    }

    pub(in crate::app) fn focus_policy(&mut self, policy: Policy) {
        self.tuning.focus_policy(policy);
        self.replan(false);
        self.keep_cursors_visible();
    }

    /// Moves from the screen to the settings of the selected policy.
    fn open_policy_settings(&mut self) {
        let Some(Overlay::Policies(screen)) = self.overlay() else { return };
        let policy = screen.selected();
        self.leave_screens();
        self.zoom = false;
        self.focus_policy(policy);
        self.focus_pane(Pane::Tuning);
    }

    /// Handles a click: selects a policy; a click on a sign or on the selected policy toggles it.
    pub(in crate::app) fn click_policies(&mut self, column: u16, row: u16) -> Vec<Effect> {
        let area = self.policies_area();
        let Some(Overlay::Policies(screen)) = self.views.top_mut() else { return Vec::new() };
        let line = usize::from(row.saturating_sub(area.y));
        let Some(policy) = screen.policy_at(line) else { return Vec::new() };
        let again = screen.selected() == policy;
        screen.cursor = screen.policies.iter().position(|shown| *shown == policy).unwrap_or(0);
        if again || column < SIGN_CLICK_COLUMNS {
            self.toggle_policy();
        }
        Vec::new()
    }
}

/// Returns the next prompt after each policy of a plan and all before it. In a large session only the prompt after the
/// last one is known, because each takes a plan.
fn prompts_after_each(session: &LoadedSession, plan: &Plan) -> Vec<(Policy, u64)> {
    let policies: Vec<Policy> = plan.settings.enabled.iter().collect();
    let Some((last, earlier)) = policies.split_last() else { return Vec::new() };
    let few = session.context.messages.len() * earlier.len() <= MAX_MEASURED_MESSAGES * Policy::ALL.len();
    let after = |upto: &[Policy]| {
        let settings = PolicySettings { enabled: PolicySet::of(upto), ..plan.settings.clone() };
        session.plan(&settings, plan.gate).ok().map(|plan| session.prompt_tokens_after(&plan))
    };
    let whole = (*last, session.prompt_tokens_after(plan));
    if !few {
        return vec![whole];
    }
    let prompts = (0..earlier.len()).map_while(|at| Some((policies[at], after(&policies[..=at])?)));
    prompts.chain([whole]).collect()
}

/// Columns before the name of a policy; a click there toggles it.
const SIGN_CLICK_COLUMNS: u16 = 4;
