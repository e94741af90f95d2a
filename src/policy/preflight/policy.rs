//! The check before a prompt is sent, as a trimming policy that changes no message.

use crate::gateway::ruleset::{Preflight, Rules};
use crate::policy::features::ContentFeatures;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::preflight::{PreflightInput, PreflightResult, Pressure, check, sum_pressure};
use crate::policy::trimming::{PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy};
use crate::policy::truncate::reducible_chars;
use crate::store::entry::Role;
use crate::units::Tokens;

/// Compares the prompt with the window before it is sent (releases R60–R62).
#[derive(Debug)]
pub struct CheckPolicy;

impl TrimmingPolicy for CheckPolicy {
    fn word(&self) -> &'static str {
        "check"
    }

    fn rule(&self) -> &'static str {
        "releases R60–R62"
    }

    fn phase(&self) -> Phase {
        Phase::Run
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        rules.preflight != Preflight::None
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn is_rare(&self) -> bool {
        true
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let details = check_list(list, input).map(PolicyDetails::Check);
        Ok(PolicyOutcome::unchanged(list).with_details(details))
    }
}

/// Checks the messages of a list with system prompt and next prompt.
fn check_list(list: &MessageList<'_>, input: &PolicyInput<'_>) -> Option<PreflightResult> {
    let (rules, settings, window) = (input.rules(), input.settings, input.windows.session);
    let prompt = settings.check.prompt_tokens;
    let (counted_tokens, estimated_tokens) = match rules.preflight {
        Preflight::Pressure(_) => {
            let pressure =
                |at| list.features_at(at).map_or_else(Pressure::default, ContentFeatures::pressure);
            let (counted, messages) = sum_pressure((0..list.len()).map(pressure));
            let fixed = input.fixed_pressure.beside(Tokens(counted));
            let users = (0..list.len()).filter(|at| list.size(*at).role == Role::User).count();
            let stamps = input.fixed_pressure.stamp.get() * users as f64;
            (counted, messages + fixed.get() + prompt.get() + stamps)
        }
        _ => (0.0, input.list_tokens as f64 + prompt.get()),
    };
    let reducible_chars = reducible_chars(list, rules, Tokens(window), &settings.truncate);
    let reserve = settings.compaction.reserve_tokens;
    check(
        rules,
        &PreflightInput {
            window: Tokens(window),
            reserve,
            counted_tokens: Tokens(counted_tokens),
            estimated_tokens: Tokens(estimated_tokens),
            reducible_chars,
        },
    )
}
