//! Tool-use clearing as a trimming policy.

use crate::gateway::ruleset::Rules;
use crate::js::{Object, Value};
use crate::policy::clear_tool_uses::step::clear_list;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{
    PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows,
};

/// Clears old tool uses beyond a trigger (pruning 7).
#[derive(Debug)]
pub struct Clear;

impl TrimmingPolicy for Clear {
    fn word(&self) -> &'static str {
        "clear"
    }

    fn rule(&self) -> &'static str {
        "pruning 7"
    }

    fn phase(&self) -> Phase {
        Phase::Call
    }

    fn is_supported_by(&self, _: &Rules) -> bool {
        true
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        let settings = &settings.clear;
        let excluded = settings.exclude_tools.iter().cloned().map(Value::String).collect();
        Object::from([
            ("trigger", Value::Number(settings.trigger)),
            ("clearAtLeast", Value::Number(settings.clear_at_least)),
            ("keep", Value::Number(settings.keep)),
            ("clearToolInputs", Value::Bool(settings.clear_tool_inputs)),
            ("counting", Value::from(settings.counting.as_str())),
            ("excludeTools", Value::Array(excluded)),
            ("placeholder", Value::String(settings.placeholder.clone())),
        ])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let (fates, totals) = clear_list(list, &input.settings.clear)?;
        Ok(PolicyOutcome::new(fates).with_details(Some(PolicyDetails::Clearing(totals))))
    }
}
