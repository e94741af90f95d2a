//! The measured effects of the policies, and the lines of their list.

use crate::app::effect_error::EffectError;
use crate::plan::PolicyEffect;
use crate::policy::Policy;
use crate::policy::policy_set::Phase;
use crate::write::summary::job::{SummaryCalls, SummaryCallsRequest};

/// The measured effects of the policies, kept for the tuning pane at full height.
#[derive(Debug, Clone, Default)]
pub struct PolicyEffects {
    /// The effect of each policy alone, in policy order; `None` when unknown.
    pub(super) alone: Vec<Option<MeasuredEffect>>,
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

impl PolicyEffects {
    /// The effect of a policy alone.
    pub fn alone(&self, policy: Policy) -> Option<&MeasuredEffect> {
        self.alone.get(policy as usize)?.as_ref()
    }

    /// Returns the tokens of the next prompt before and after a policy that is on; `now` is the prompt before all.
    pub fn prompt_around(&self, policy: Policy, now: u64) -> Option<(u64, u64)> {
        let at = self.prompts.iter().position(|(known, _)| *known == policy)?;
        let before = at.checked_sub(1).map_or(now, |before| self.prompts[before].1);
        Some((before, self.prompts[at].1))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyLine {
    /// The phase in which the policies below it run.
    Phase(Phase),
    Policy(Policy),
    /// The effect of all policies together.
    Total,
    /// Separates the list from the settings.
    Hairline,
}

/// The lines of the list: the policies in order and their total, under their phases where `rows` has room for these.
pub fn policy_lines(policies: &[Policy], rows: u16) -> Vec<PolicyLine> {
    let has_phases = usize::from(rows) > policies.len() + 1;
    let mut lines = Vec::new();
    let mut phase = None;
    for policy in policies.iter().copied() {
        if phase.replace(policy.phase()) != Some(policy.phase()) && has_phases {
            lines.push(PolicyLine::Phase(policy.phase()));
        }
        lines.push(PolicyLine::Policy(policy));
    }
    lines.push(PolicyLine::Total);
    if has_phases {
        lines.push(PolicyLine::Hairline);
    }
    lines
}
