//! What one step of a plan does, in numbers.

use crate::policy::{Fate, MessageFate, Policy};

/// One step and what it leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyEffect {
    /// The step.
    pub policy: Policy,
    /// It replaced something, be it by the same bytes.
    pub changed: bool,
    /// Messages it was given.
    pub messages_before: usize,
    /// Messages it left.
    pub messages_after: usize,
    /// Estimated tokens of the messages it was given.
    pub tokens_before: u64,
    /// Estimated tokens of the messages it left.
    pub tokens_after: u64,
    /// How many messages it gave each fate, in the order of [`Fate::ALL`].
    pub counts: [usize; 7],
}

impl PolicyEffect {
    /// `before` and `after`: messages and estimated tokens of the list it was given, and of the one it left.
    pub(super) fn new(
        policy: Policy,
        fates: &[MessageFate],
        before: (usize, u64),
        after: (usize, u64),
        changed: bool,
    ) -> Self {
        // One count waits for the one before where both are of one fate: two tables take turns.
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

    /// How many messages it gave a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.counts[fate as usize]
    }

    /// How many messages it changed or took away.
    pub fn changed_count(&self) -> usize {
        Fate::ALL.iter().filter(|fate| fate.is_change()).map(|fate| self.count(*fate)).sum()
    }
}
