//! The trimming steps, in the order in which a session meets them: what is written to the transcript first, then
//! what is done once a run, then what is done for every model call (pruning 1.1–1.4).

use crate::gateway::ruleset::{Aggregate, Guard, LegacyImages, Preflight, Rules, Truncation};

/// One trimming rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Policy {
    /// Old messages give way to a summary (compaction 1–5).
    Compact,
    /// Oversized tool results are cut in the transcript (pruning 6b).
    Truncate,
    /// Calls and results are paired (compaction 6).
    Repair,
    /// Only the last user turns stay (pruning 2).
    History,
    /// Images that the model has seen go (pruning 1.6).
    Images,
    /// All tool results together are held to a budget (releases R35–R38).
    Reduce,
    /// The prompt is checked against the window before it is sent (releases R60–R62).
    Check,
    /// Old tool results are trimmed and cleared when the cache is cold (pruning 3–5).
    Prune,
    /// Tool results are held to a share of the window (pruning 6d).
    Guard,
    /// Old tool uses are cleared beyond a trigger (pruning 7).
    Clear,
}

/// When a step is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It is written to the transcript.
    Transcript,
    /// Once, when a run begins.
    Run,
    /// For every model call.
    Call,
}

impl Policy {
    /// Every step, in order.
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

    /// The word used by `--policy`, in JSON and on screen.
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

    /// A step by its word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.word() == word)
    }

    /// When it is taken.
    pub fn phase(self) -> Phase {
        match self {
            Self::Compact | Self::Truncate => Phase::Transcript,
            Self::Repair | Self::History | Self::Images | Self::Reduce | Self::Check => Phase::Run,
            Self::Prune | Self::Guard | Self::Clear => Phase::Call,
        }
    }

    /// Whether a version takes it (pruning 8, releases R2).
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

    /// The steps that are shown for a version, in order: those it takes, and those that most versions take.
    pub fn visible_for(rules: &Rules) -> Vec<Self> {
        let rare = |step: &Self| matches!(step, Self::Reduce | Self::Check);
        Self::ALL.into_iter().filter(|step| !rare(step) || step.is_supported_by(rules)).collect()
    }

    /// Whether it needs to know more of a message than its sizes (see [`super::features`]) by the rules of a version.
    pub fn needs_features(self, rules: &Rules) -> bool {
        match self {
            Self::Truncate | Self::Repair | Self::Reduce | Self::Check | Self::Guard | Self::Clear => true,
            Self::Images => matches!(rules.legacy_images, LegacyImages::BeforeLastTurns { .. }),
            Self::Compact | Self::History | Self::Prune => false,
        }
    }
}

/// Some of the steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PolicySet(u16);

impl PolicySet {
    /// None.
    pub const NONE: Self = Self(0);

    /// These steps.
    pub fn of(steps: &[Policy]) -> Self {
        steps.iter().fold(Self::NONE, |set, step| set.with(*step, true))
    }

    /// Whether a step is among them.
    pub fn has(self, step: Policy) -> bool {
        self.0 & (1 << step as u8) != 0
    }

    /// The same set with a step in or out.
    #[must_use]
    pub fn with(self, step: Policy, on: bool) -> Self {
        let bit = 1 << step as u8;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// The same set without those of another.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The steps, in order.
    pub fn iter(self) -> impl Iterator<Item = Policy> {
        Policy::ALL.into_iter().filter(move |step| self.has(*step))
    }

    /// Whether one of them is told better where more than sizes is known, by the rules of a version. Pruning as 2026.9 does it
    /// can do without: it is told from sizes then, and nothing remembered is applied.
    pub fn uses_features(self, rules: &Rules) -> bool {
        self.needs_features(rules)
            || self.has(Policy::Prune) && rules.pruner.is_active() && rules.needs_text_features()
    }

    /// Whether one of them needs more than sizes by the rules of a version.
    pub fn needs_features(self, rules: &Rules) -> bool {
        self.iter().any(|step| step.needs_features(rules))
    }

    /// Whether there is none.
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
        assert!(Policy::ALL.into_iter().all(|step| Policy::from_word(step.word()) == Some(step)));
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
