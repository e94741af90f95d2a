//! The list of all policies. A new policy is a folder with a [`TrimmingPolicy`], a name in [`Policy`] and a line here.

use crate::gateway::ruleset::Rules;
use crate::js::Object;
use crate::policy::clear_tool_uses::Clear;
use crate::policy::compact::Compact;
use crate::policy::guard::GuardPolicy;
use crate::policy::history_range::HistoryPolicy;
use crate::policy::images::ImagesPolicy;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::{Phase, Policy, PolicySet};
use crate::policy::preflight::CheckPolicy;
use crate::policy::prune::Prune;
use crate::policy::repair::Repair;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows};
use crate::policy::truncate::{Reduce, Truncate};

impl Policy {
    fn definition(self) -> &'static dyn TrimmingPolicy {
        match self {
            Self::Compact => &Compact,
            Self::Truncate => &Truncate,
            Self::Repair => &Repair,
            Self::History => &HistoryPolicy,
            Self::Images => &ImagesPolicy,
            Self::Reduce => &Reduce,
            Self::Check => &CheckPolicy,
            Self::Prune => &Prune,
            Self::Guard => &GuardPolicy,
            Self::Clear => &Clear,
        }
    }

    /// Returns the word used by `--policy`, in JSON and on screen.
    pub fn word(self) -> &'static str {
        self.definition().word()
    }

    /// Returns the rules of the policy as the rulebook numbers them.
    pub fn rule(self) -> &'static str {
        self.definition().rule()
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.word() == word)
    }

    pub fn phase(self) -> Phase {
        self.definition().phase()
    }

    /// Whether a version has this policy (pruning 8, releases R2).
    pub fn is_supported_by(self, rules: &Rules) -> bool {
        self.definition().is_supported_by(rules)
    }

    /// Returns the policies that a screen shows for a version, in order: those that the version has, and those that
    /// most versions have.
    pub fn visible_for(rules: &Rules) -> Vec<Self> {
        let is_shown = |policy: &Self| !policy.definition().is_rare() || policy.is_supported_by(rules);
        Self::ALL.into_iter().filter(is_shown).collect()
    }

    /// Whether the policy decides from message features (see [`super::features`]) and not from sizes alone in a
    /// version.
    pub fn needs_features(self, rules: &Rules) -> bool {
        self.definition().needs_features(rules)
    }

    /// Returns the settings that a commit records with the policy's effect.
    pub fn settings_json(self, settings: &PolicySettings, windows: Windows) -> Object {
        self.definition().settings_json(settings, windows)
    }

    /// Runs the policy on a message list.
    ///
    /// # Errors
    /// If the runtime would throw, or if data was not loaded; the list is unchanged then.
    pub fn run(
        self,
        list: &mut MessageList<'_>,
        input: &PolicyInput<'_>,
    ) -> Result<PolicyOutcome, PolicyError> {
        if self.needs_features(input.rules()) && !input.has_features {
            return Err(PolicyError::NeedsTexts);
        }
        self.definition().run(list, input)
    }
}

impl PolicySet {
    /// Whether one of the policies is more exact with features in a version. The pruner since 2026.3.7 also works from
    /// sizes alone, but then applies no remembered trims.
    pub fn uses_features(self, rules: &Rules) -> bool {
        self.needs_features(rules)
            || self.has(Policy::Prune) && rules.pruner.is_active() && rules.needs_text_features()
    }

    pub fn needs_features(self, rules: &Rules) -> bool {
        self.iter().any(|policy| policy.needs_features(rules))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn policies_are_ordered_from_the_transcript_to_the_call() {
        let moments: Vec<Phase> = Policy::ALL.into_iter().map(Policy::phase).collect();
        assert!(moments.is_sorted());
        assert!(Policy::ALL.into_iter().all(|policy| Policy::from_word(policy.word()) == Some(policy)));
    }

    #[test]
    fn a_version_decides_whether_a_set_needs_features() {
        let rules = Ruleset::default().rules();
        let set = PolicySet::of(&[Policy::Prune, Policy::History]);
        assert!(!set.needs_features(rules) && set.with(Policy::Guard, true).needs_features(rules));
        let images = PolicySet::of(&[Policy::Images]);
        assert!(!images.needs_features(rules) && images.needs_features(Ruleset::V2026_9_6.rules()));
    }
}
