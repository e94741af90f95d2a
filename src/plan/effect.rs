//! What one step of a plan does, in numbers.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::policy::list::List;
use crate::policy::{Fate, MessageFate, Step};

/// One step and what it leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEffect {
    /// The step.
    pub step: Step,
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

impl StepEffect {
    pub(super) fn new(
        step: Step,
        fates: &[MessageFate],
        before: (usize, u64),
        list: &List,
        changed: bool,
    ) -> Self {
        let mut counts = [0; 7];
        for fate in fates {
            counts[fate.fate as usize] += 1;
        }
        Self {
            step,
            changed,
            messages_before: before.0,
            messages_after: list.len(),
            tokens_before: before.1,
            tokens_after: total(list),
            counts,
        }
    }

    /// How many messages it gave a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.counts[fate as usize]
    }

    /// How many messages it changed or took away.
    pub fn changes(&self) -> usize {
        Fate::ALL.iter().filter(|fate| fate.changes()).map(|fate| self.count(*fate)).sum()
    }
}

/// Estimated tokens of a list.
pub(super) fn total(list: &List) -> u64 {
    list.sizes().map(estimate_or_zero).sum()
}
