//! The tuning pane at full height: what each policy does alone and with those before it, the calls of a summary, and
//! the keys that select and toggle policies.

use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::layout::Pane;
use crate::app::policy_effects::{MeasuredEffect, PolicyLine, policy_lines};
use crate::app::preview::OPEN_GATE;
use crate::app::state::{App, Overlay};
use crate::plan::Plan;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::LoadedSession;
use crate::write::summary::job::{SummaryCalls, SummaryCallsRequest};

/// The largest session, in messages, whose policies are also measured alone with each key: each takes a plan.
const MAX_MEASURED_MESSAGES: usize = 10_000;
/// Columns before the name of a policy; a click there toggles it.
const SIGN_CLICK_COLUMNS: u16 = 4;

impl App {
    /// Whether the tuning pane has the full height, and with it the effect of every policy.
    pub fn shows_policies(&self) -> bool {
        self.zoom && self.focus == Pane::Tuning
    }

    /// Shows the tuning pane at full height, or ends that.
    pub(super) fn toggle_policies(&mut self) {
        if self.shows_policies() && self.page().is_none() {
            return self.set_zoom(false);
        }
        if self.page().is_none() {
            self.record_jump();
        }
        self.leave_screens();
        self.zoom = true;
        self.focus_pane(Pane::Tuning);
    }

    /// The calls of the planned compaction's summary, or why they are unknown; the inner `None` while they are read.
    pub fn summary_calls(&self) -> Option<Option<&Result<SummaryCalls, EffectError>>> {
        let (request, answer) = self.policy_effects.summary_calls.as_ref()?;
        (Some(*request) == self.summary_calls_request()).then_some(answer.as_ref())
    }

    /// Measures every policy alone, once its gates are open, and the policies that are on one after another, if the pane
    /// shows them.
    pub(super) fn measure_policies(&mut self, session: &LoadedSession) {
        if !self.shows_policies() {
            return;
        }
        let few = session.context.messages.len() <= MAX_MEASURED_MESSAGES;
        let settings = self.tuning.policy_settings(session);
        let measure = |policy: Policy| {
            let settings = PolicySettings { enabled: PolicySet::of(&[policy]), ..settings.clone() };
            let mut plan = session.plan(&settings, OPEN_GATE).ok()?;
            let prompt_tokens = session.prompt_tokens_after(&plan);
            Some(MeasuredEffect { effect: plan.effects.pop()?, prompt_tokens })
        };
        let alone = Policy::ALL.into_iter().map(|policy| if few { measure(policy) } else { None }).collect();
        let plan = self.preview.plan.as_deref();
        self.policy_effects.prompts = plan.map_or_else(Vec::new, |plan| prompts_after_each(session, plan));
        self.policy_effects.alone = alone;
    }

    fn summary_calls_request(&self) -> Option<SummaryCallsRequest> {
        let plan = self.preview.plan.as_deref().filter(|plan| plan.compaction.is_some())?;
        Some(SummaryCallsRequest {
            epoch: self.displayed_session()?.epoch,
            compaction: plan.settings.compaction,
            summary_tokens: plan.settings.summary_tokens,
        })
    }

    /// Requests the calls of the planned compaction's summary, if the pane shows them and the request is new.
    pub(super) fn request_summary_calls(&mut self, effects: &mut Vec<Effect>) {
        if !self.shows_policies() {
            return;
        }
        let Some((request, session)) = self.summary_calls_request().zip(self.displayed_session().cloned())
        else {
            return;
        };
        if self.requested_summary_calls() != Some(request) {
            self.policy_effects.summary_calls = Some((request, None));
            effects.push(Effect::PredictSummaryCalls { session, request });
        }
    }

    /// The last request for the calls of a summary.
    pub(super) fn requested_summary_calls(&self) -> Option<SummaryCallsRequest> {
        self.policy_effects.summary_calls.as_ref().map(|(request, _)| *request)
    }

    pub(super) fn on_summary_calls(&mut self, reported: Result<SummaryCalls, EffectError>) {
        if let Some((_, answer)) = &mut self.policy_effects.summary_calls {
            *answer = Some(reported);
        }
    }

    /// Toggles the focused policy, where the toggle is visible.
    pub(super) fn toggle_policy(&mut self) {
        if matches!(self.overlay(), None | Some(Overlay::Timeline)) {
            self.tuning.toggle_policy(self.tuning.policy);
            self.replan(true);
        }
    }

    /// Focuses the policy `by` positions away.
    pub(super) fn focus_policy_by(&mut self, by: isize) {
        self.focus_policy(self.tuning.policy_by(by));
    }

    pub(super) fn focus_policy(&mut self, policy: Policy) {
        self.tuning.focus_policy(policy);
        self.replan(false);
        self.keep_cursors_visible();
    }

    /// Handles a click on a line of the list: focuses a policy; a click on a sign or on the focused policy toggles it.
    pub(super) fn click_policy_line(&mut self, column: u16, line: u16) {
        let lines = policy_lines(&self.tuning.visible_policies, self.layout().policy_list.height);
        let Some(PolicyLine::Policy(policy)) = lines.get(usize::from(line)).copied() else { return };
        let again = policy == self.tuning.policy;
        if !again {
            self.focus_policy(policy);
        }
        if again || column < SIGN_CLICK_COLUMNS {
            self.toggle_policy();
        }
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
