//! The edits of one prompt as data: the start of its message list, the range on which the guard acted, and all other
//! edits one by one.

use crate::replay::edit_digest::EditedMessage;

/// The start of a message list: its summary, and the first message of the path after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ListStart {
    /// Index of the summary in the arena.
    pub(super) summary: Option<usize>,
    /// Index of the first message on the path.
    pub(super) from: usize,
}

/// A range of the path on which the guard acted, and clearing after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuardRange {
    /// First message of the range.
    pub(super) from: usize,
    /// Results before this index were replaced, where possible.
    pub(super) compacted_until: usize,
    /// Results from `compacted_until` to here were cut to the limit of a single result.
    pub(super) to: usize,
    /// In this half-open range all clearable results were cleared.
    pub(super) cleared: (usize, usize),
}

impl GuardRange {
    /// Returns the part of the range before `to`.
    pub(super) fn clipped_to(self, to: usize) -> Self {
        let uses = (self.cleared.0.min(to), self.cleared.1.min(to));
        Self { compacted_until: self.compacted_until.min(to), to, cleared: uses, ..self }
    }

    pub(super) fn clears(&self, at: usize) -> bool {
        (self.cleared.0..self.cleared.1).contains(&at)
    }
}

/// The edits of one prompt, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PromptEdits {
    /// The start of the prompt; `None` where edits are indexed by position in the list.
    pub(super) start: Option<ListStart>,
    pub(super) guard_range: Option<GuardRange>,
    /// Edits after the guard's range, or all edits without one.
    pub(super) listed_edits: Vec<EditedMessage>,
}

impl PromptEdits {
    pub(super) fn is_empty(&self) -> bool {
        self.guard_range.is_none() && self.listed_edits.is_empty()
    }
}
