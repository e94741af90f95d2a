//! The state of the policies screen: its lines, the cursor and the effect of each policy alone.

use crate::app::action::Action;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::ScreenContext;
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::plan::PolicyEffect;
use crate::policy::Policy;
use crate::write::summary::calls::{SummaryCalls, SummaryCallsRequest};

#[derive(Debug, Clone, Default)]
pub struct PoliciesScreen {
    /// Index into `policies`.
    pub cursor: usize,
    /// The policies that the version has, in order.
    pub policies: Vec<Policy>,
    /// The effect of each policy alone, in policy order; `None` when unknown.
    pub effects: Vec<Option<MeasuredEffect>>,
    /// The next prompt after each policy that is on and all before it, in policy order.
    pub prompts: Vec<(Policy, u64)>,
    /// The last request for the calls of the planned compaction's summary, and its answer.
    pub summary_calls: Option<(SummaryCallsRequest, Option<Result<SummaryCalls, EffectError>>)>,
}

/// The effect of one policy, with the prompt that it leaves.
#[derive(Debug, Clone)]
pub struct MeasuredEffect {
    pub effect: PolicyEffect,
    /// Tokens of the next prompt after it, as the header counts them.
    pub prompt_tokens: u64,
}

impl PoliciesScreen {
    /// Opens the screen with the cursor on the focused policy.
    pub(in crate::app) fn open(context: &ScreenContext) -> Self {
        let policies = context.visible_policies.clone();
        let cursor = policies.iter().position(|policy| *policy == context.focused_policy).unwrap_or(0);
        Self { cursor, policies, ..Self::default() }
    }

    pub(in crate::app) fn hints() -> Vec<Hint> {
        vec![MOVE, (&[Action::TogglePolicy], "on/off"), (&[Action::Open], "settings"), CLOSE]
    }

    pub fn selected(&self) -> Policy {
        self.policies.get(self.cursor).or(self.policies.last()).copied().unwrap_or(Policy::Prune)
    }

    /// The effect of a policy alone.
    pub fn effect(&self, step: Policy) -> Option<&MeasuredEffect> {
        self.effects.get(step as usize)?.as_ref()
    }

    /// Returns the tokens of the next prompt before and after a policy that is on; `now` is the prompt before all.
    pub fn prompt_around(&self, policy: Policy, now: u64) -> Option<(u64, u64)> {
        let at = self.prompts.iter().position(|(known, _)| *known == policy)?;
        let before = at.checked_sub(1).map_or(now, |before| self.prompts[before].1);
        Some((before, self.prompts[at].1))
    }

    pub(in crate::app) fn move_by(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.policies.len().saturating_sub(1));
    }

    /// The lines of the list: the policies in order under their phases, then the total.
    pub fn lines(&self) -> Vec<PoliciesLine> {
        let mut lines = Vec::new();
        let mut moment = None;
        for step in self.policies.iter().copied() {
            if moment.replace(step.phase()) != Some(step.phase()) {
                lines.push(PoliciesLine::Moment(step.phase()));
            }
            lines.push(PoliciesLine::Policy(step));
        }
        lines.push(PoliciesLine::Total);
        lines
    }

    /// Returns the policy on a line of the area; line 0 is the title.
    pub(super) fn policy_at(&self, line: usize) -> Option<Policy> {
        match self.lines().get(line.checked_sub(1)?)? {
            PoliciesLine::Policy(step) => Some(*step),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoliciesLine {
    /// The phase in which the policies below it run.
    Moment(crate::policy::policy_set::Phase),
    Policy(Policy),
    /// The effect of all policies together.
    Total,
}
