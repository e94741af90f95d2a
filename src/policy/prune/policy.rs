//! Context pruning as a trimming policy.

use crate::gateway::ruleset::Rules;
use crate::js::Object;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::prune::step::prune_list;
use crate::policy::prune::step_2026_9::{RoundInput, prune_round_list};
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{
    PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows,
};
use crate::units::Tokens;

/// Trims and clears old tool results if the provider's cache is cold (pruning 3–5).
#[derive(Debug)]
pub struct Prune;

impl TrimmingPolicy for Prune {
    fn word(&self) -> &'static str {
        "prune"
    }

    fn rule(&self) -> &'static str {
        "pruning 3–5"
    }

    fn phase(&self) -> Phase {
        Phase::Call
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        rules.pruner.is_active()
    }

    fn needs_features(&self, _: &Rules) -> bool {
        false
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        settings.prune.to_object()
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let PolicyInput { words, gate, remembered, drops_thinking, .. } = *input;
        let (rules, settings, window) = (input.rules(), &input.settings.prune, input.windows.session);
        let mut outcome = if rules.needs_text_features() && input.has_features {
            let round =
                RoundInput { words, settings, window: Tokens(window), gate, remembered, drops_thinking };
            prune_round_list(list, rules, round)?
        } else {
            prune_list(list, rules, words, settings, Tokens(window), gate)?
        };
        let fates = std::mem::take(&mut outcome.fates);
        let replaced = std::mem::take(&mut outcome.replaced);
        let changed = !replaced.is_empty();
        let details = Some(PolicyDetails::Pruning(outcome));
        Ok(PolicyOutcome { fates, changed, replaced: Some(replaced), details })
    }
}
