//! The policies in the order in which they run: first those that rewrite the transcript, then those of each run, then
//! those of each model call (pruning 1.1–1.4).

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Policy {
    /// Replaces old messages with a summary (compaction 1–5).
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

/// The phase in which a policy runs.
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

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_set_always_has_the_order_of_a_run() {
        let set = PolicySet::of(&[Policy::Prune, Policy::History]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Policy::History, Policy::Prune]);
        assert_eq!(set.with(Policy::History, false), PolicySet::of(&[Policy::Prune]));
        assert_eq!(
            set.without(PolicySet::of(&[Policy::Prune, Policy::Clear])),
            PolicySet::of(&[Policy::History])
        );
    }
}
