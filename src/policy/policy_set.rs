//! The policies in the order in which they run: first those that rewrite the transcript, then those of each run, then
//! those of each model call (pruning 1.1–1.4).

use crate::gateway::ruleset::{Aggregate, Guard, LegacyImages, Preflight, Rules, Truncation};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Policy {
    /// Replaces old messages by a summary (compaction 1–5).
    Compact,
    /// Cuts oversized tool results in the transcript (pruning 6b).
    Truncate,
    /// Pairs calls with results (compaction 6).
    Repair,
    /// Keeps only the last user turns (pruning 2).
    History,
    /// Removes images that the model has seen (pruning 1.6).
    Images,
    /// Holds all tool results together to a budget (releases R35–R38).
    Reduce,
    /// Compares the prompt with the window before it is sent (releases R60–R62).
    Check,
    /// Trims and clears old tool results if the provider's cache is cold (pruning 3–5).
    Prune,
    /// Holds tool results to a share of the window (pruning 6d).
    Guard,
    /// Clears old tool uses beyond a trigger (pruning 7).
    Clear,
}

/// When a policy runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Rewrites the transcript.
    Transcript,
    /// Once, at the start of a run.
    Run,
    /// For every model call.
    Call,
}

impl Policy {
    /// In the order in which they run.
    pub const ALL: [Self; 10] = [
        Self::Compact,
        Self::Truncate,
        Self::Repair,
        Self::History,
        Self::Images,
        Self::Reduce,
        Self::Check,
        Self::Prune,
        Self::Guard,
        Self::Clear,
    ];

    /// Returns the rules of the policy as the rulebook numbers them.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Compact => "compaction 3",
            Self::Truncate => "pruning 6b",
            Self::Repair => "compaction 6",
            Self::History => "pruning 2",
            Self::Images => "pruning 1.6",
            Self::Reduce => "releases R35–R38",
            Self::Check => "releases R60–R62",
            Self::Prune => "pruning 3–5",
            Self::Guard => "pruning 6d",
            Self::Clear => "pruning 7",
        }
    }

    /// Returns the word used by `--policy`, in JSON and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Truncate => "truncate",
            Self::Repair => "repair",
            Self::History => "history",
            Self::Images => "images",
            Self::Reduce => "reduce",
            Self::Check => "check",
            Self::Prune => "prune",
            Self::Guard => "guard",
            Self::Clear => "clear",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.word() == word)
    }

    pub fn phase(self) -> Phase {
        match self {
            Self::Compact | Self::Truncate => Phase::Transcript,
            Self::Repair | Self::History | Self::Images | Self::Reduce | Self::Check => Phase::Run,
            Self::Prune | Self::Guard | Self::Clear => Phase::Call,
        }
    }

    /// Whether a version has this policy (pruning 8, releases R2).
    pub fn is_supported_by(self, rules: &Rules) -> bool {
        match self {
            Self::Compact | Self::Repair | Self::History | Self::Clear => true,
            Self::Truncate => rules.truncation != Truncation::None,
            Self::Images => rules.legacy_images != LegacyImages::Stay,
            Self::Reduce => !matches!(rules.aggregate, Aggregate::None | Aggregate::Weighted),
            Self::Check => rules.preflight != Preflight::None,
            Self::Prune => rules.pruner.is_active(),
            Self::Guard => rules.guard != Guard::None,
        }
    }

    /// Returns the policies that a screen shows for a version, in order: those that the version has, and those that
    /// most versions have.
    pub fn visible_for(rules: &Rules) -> Vec<Self> {
        let rare = |policy: &Self| matches!(policy, Self::Reduce | Self::Check);
        Self::ALL.into_iter().filter(|policy| !rare(policy) || policy.is_supported_by(rules)).collect()
    }

    /// Whether the policy decides from message features (see [`super::features`]) and not from sizes alone in a
    /// version.
    pub fn needs_features(self, rules: &Rules) -> bool {
        match self {
            Self::Truncate | Self::Repair | Self::Reduce | Self::Check | Self::Guard | Self::Clear => true,
            Self::Images => matches!(rules.legacy_images, LegacyImages::BeforeLastTurns { .. }),
            Self::Compact | Self::History | Self::Prune => false,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PolicySet(u16);

impl PolicySet {
    pub const NONE: Self = Self(0);

    pub fn of(policies: &[Policy]) -> Self {
        policies.iter().fold(Self::NONE, |set, policy| set.with(*policy, true))
    }

    pub fn has(self, policy: Policy) -> bool {
        self.0 & (1 << policy as u8) != 0
    }

    /// Returns the set with a policy added or removed.
    #[must_use]
    pub fn with(self, policy: Policy, on: bool) -> Self {
        let bit = 1 << policy as u8;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the policies in the order in which they run.
    pub fn iter(self) -> impl Iterator<Item = Policy> {
        Policy::ALL.into_iter().filter(move |policy| self.has(*policy))
    }

    /// Whether one of the policies is more exact with features in a version. The pruner since 2026.3.7 also works from
    /// sizes alone, but then applies no remembered trims.
    pub fn uses_features(self, rules: &Rules) -> bool {
        self.needs_features(rules)
            || self.has(Policy::Prune) && rules.pruner.is_active() && rules.needs_text_features()
    }

    pub fn needs_features(self, rules: &Rules) -> bool {
        self.iter().any(|policy| policy.needs_features(rules))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn steps_go_from_the_transcript_to_the_call() {
        let moments: Vec<Phase> = Policy::ALL.into_iter().map(Policy::phase).collect();
        assert!(moments.is_sorted());
        assert!(Policy::ALL.into_iter().all(|policy| Policy::from_word(policy.word()) == Some(policy)));
    }

    #[test]
    fn a_set_keeps_the_order_of_a_run_whatever_it_was_made_from() {
        let set = PolicySet::of(&[Policy::Prune, Policy::History]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Policy::History, Policy::Prune]);
        assert_eq!(set.with(Policy::History, false), PolicySet::of(&[Policy::Prune]));
        let rules = Ruleset::default().rules();
        assert!(!set.needs_features(rules) && set.with(Policy::Guard, true).needs_features(rules));
        let images = PolicySet::of(&[Policy::Images]);
        assert!(!images.needs_features(rules) && images.needs_features(Ruleset::V2026_9_2.rules()));
        assert_eq!(
            set.without(PolicySet::of(&[Policy::Prune, Policy::Clear])),
            PolicySet::of(&[Policy::History])
        );
    }
}
