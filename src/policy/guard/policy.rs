//! The guard as a trimming policy.

use crate::gateway::ruleset::{Guard, Rules};
use crate::js::Object;
use crate::policy::guard::step::guard_list;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{
    PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows,
};
use crate::units::Tokens;

/// Holds tool results to a share of the window (pruning 6d).
#[derive(Debug)]
pub struct GuardPolicy;

impl TrimmingPolicy for GuardPolicy {
    fn word(&self) -> &'static str {
        "guard"
    }

    fn rule(&self) -> &'static str {
        "pruning 6d"
    }

    fn phase(&self) -> Phase {
        Phase::Call
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        rules.guard != Guard::None
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn settings_json(&self, settings: &PolicySettings, windows: Windows) -> Object {
        Object::from([
            ("window", windows.model),
            ("budgetShare", settings.guard.budget_share),
            ("singleShare", settings.guard.single_share),
        ])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let (fates, guarded) =
            guard_list(list, input.rules(), Tokens(input.windows.model), &input.settings.guard)?;
        Ok(PolicyOutcome::new(fates).with_details(guarded.map(PolicyDetails::Guard)))
    }
}
