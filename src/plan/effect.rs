//! The effect of one policy of a plan, in numbers.

use crate::policy::{Fate, MessageFate, Policy};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyEffect {
    pub policy: Policy,
    /// The policy replaced content, even if with the same bytes.
    pub changed: bool,
    /// Number of messages before the policy.
    pub messages_before: usize,
    /// Number of messages after it.
    pub messages_after: usize,
    /// Estimated tokens of the messages before the policy.
    pub tokens_before: u64,
    /// Estimated tokens of the messages after it.
    pub tokens_after: u64,
    /// Number of messages with each fate, in the order of [`Fate::ALL`].
    pub counts: [usize; 7],
}

impl PolicyEffect {
    /// Takes the number of messages and their estimated tokens before and after the policy.
    pub(super) fn new(
        policy: Policy,
        fates: &[MessageFate],
        before: (usize, u64),
        after: (usize, u64),
        changed: bool,
    ) -> Self {
        // Two tables, because consecutive increments of one counter would wait for each other.
        let mut counts = [[0; 7]; 2];
        for (at, fate) in fates.iter().enumerate() {
            counts[at % 2][fate.fate as usize] += 1;
        }
        let counts = std::array::from_fn(|fate| counts[0][fate] + counts[1][fate]);
        Self {
            policy,
            changed,
            messages_before: before.0,
            messages_after: after.0,
            tokens_before: before.1,
            tokens_after: after.1,
            counts,
        }
    }

    pub fn count(&self, fate: Fate) -> usize {
        self.counts[fate as usize]
    }

    /// Counts the messages that the policy changed or removed.
    pub fn changed_count(&self) -> usize {
        Fate::ALL.iter().filter(|fate| fate.is_change()).map(|fate| self.count(*fate)).sum()
    }
}
