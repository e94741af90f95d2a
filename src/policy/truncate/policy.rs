//! Truncation of single tool results, and the budget of all of them, as trimming policies.

use crate::gateway::ruleset::{Aggregate, Rules, Truncation};
use crate::js::Object;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows};
use crate::policy::truncate::reduce_step::reduce_list;
use crate::policy::truncate::step::truncate_list;
use crate::units::Tokens;

/// Cuts oversized tool results in the transcript (pruning 6b).
#[derive(Debug)]
pub struct Truncate;

impl TrimmingPolicy for Truncate {
    fn word(&self) -> &'static str {
        "truncate"
    }

    fn rule(&self) -> &'static str {
        "pruning 6b"
    }

    fn phase(&self) -> Phase {
        Phase::Transcript
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        rules.truncation != Truncation::None
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn settings_json(&self, settings: &PolicySettings, windows: Windows) -> Object {
        Object::from([
            ("window", windows.session),
            ("windowShare", settings.truncate.window_share),
            ("maxChars", settings.truncate.max_chars.get()),
            ("minKeepChars", settings.truncate.min_keep_chars.get()),
        ])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let (rules, window) = (input.rules(), input.windows.session);
        Ok(PolicyOutcome::new(truncate_list(list, rules, Tokens(window), &input.settings.truncate)))
    }
}

/// Holds all tool results together to a budget (releases R35–R38).
#[derive(Debug)]
pub struct Reduce;

impl TrimmingPolicy for Reduce {
    fn word(&self) -> &'static str {
        "reduce"
    }

    fn rule(&self) -> &'static str {
        "releases R35–R38"
    }

    fn phase(&self) -> Phase {
        Phase::Run
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        !matches!(rules.aggregate, Aggregate::None | Aggregate::Weighted)
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn is_rare(&self) -> bool {
        true
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        Object::from([("allChars", settings.reduce.all_chars)])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let (rules, settings) = (input.rules(), input.settings);
        let window = input.windows.session;
        Ok(PolicyOutcome::new(reduce_list(list, rules, Tokens(window), &settings.truncate, &settings.reduce)))
    }
}
