//! Aggregates over a range of messages and the effect of the policies on it. All are additive, so that the totals of
//! any range are a difference of two prefix sums.

use derive_more::{Add, Sub};

use crate::replay::edit_digest::{EditDigest, EditedMessage};
use crate::units::{Chars, Tokens};

/// Effect of a policy on a range of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Add, Sub)]
pub(super) struct EditTotals {
    /// Chars removed, as the guard counts them.
    pub(super) chars: Chars,
    /// Tokens removed.
    pub(super) tokens: Tokens,
    /// Tokens removed, as clearing counts them.
    pub(super) clear_tokens: Tokens,
    /// Results that are truncated.
    pub(super) trimmed: u32,
    /// Results that a placeholder replaces.
    pub(super) cleared: u32,
    pub(super) edit_digest: EditDigest,
}

/// Aggregates over a range of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Add, Sub)]
pub(super) struct RangeTotals {
    /// Messages that are sent.
    pub(super) count: u32,
    pub(super) tokens: Tokens,
    /// Chars as the pruner counts them (pruning 5.4).
    pub(super) prune_chars: Chars,
    /// Chars as the guard counts them (pruning 6.32).
    pub(super) guard_chars: Chars,
    /// Tokens as clearing counts them.
    pub(super) clear_tokens: Tokens,
    /// Tokens as the check before a prompt counts them; 0 where that check is off.
    pub(super) check_tokens: Tokens,
    /// Text length of tool results, as truncation measures it; 0 without text features.
    pub(super) result_chars: Chars,
    /// Results over the limit of a single result.
    pub(super) oversized: u32,
    /// Messages whose weight for the pruner differs from their chars.
    pub(super) reweighted: u32,
    /// Messages that a policy may fail on, or that sizes cannot decide.
    pub(super) odd: u32,
    /// Effect of truncating each result to the limit of a single result.
    pub(super) guard_cut: EditTotals,
    /// Effect of replacing the results that can be replaced; `chars` is in addition to `guard_cut`.
    pub(super) guard_compacted: EditTotals,
    /// Results, as clearing counts them.
    pub(super) clearing_results: u32,
    /// Tokens of the results that clearing may clear, as it counts them.
    pub(super) clearable: Tokens,
    /// Effect of clearing them, regardless of the guard.
    pub(super) cleared: EditTotals,
    /// The part of `guard_cut` and of `guard_compacted` that concerns the clearable results.
    pub(super) cleared_cut: EditTotals,
    pub(super) cleared_compacted: EditTotals,
}

/// The totals without the effects of guard and clearing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PlainTotals {
    count: u32,
    tokens: Tokens,
    prune_chars: Chars,
    guard_chars: Chars,
    clear_tokens: Tokens,
    check_tokens: Tokens,
    result_chars: Chars,
    oversized: u32,
    reweighted: u32,
    odd: u32,
}

/// The effects of the guard.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GuardTotals {
    cut: EditTotals,
    compacted: EditTotals,
}

/// The results that clearing may clear, and its effects.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClearTotals {
    results: u32,
    clearable: Tokens,
    cleared: EditTotals,
    cut: EditTotals,
    compacted: EditTotals,
}

impl RangeTotals {
    pub(super) fn from_parts(plain: PlainTotals, guard: GuardTotals, clear: ClearTotals) -> Self {
        let PlainTotals { count, tokens, prune_chars, guard_chars, clear_tokens, .. } = plain;
        let PlainTotals { check_tokens, result_chars, oversized, reweighted, odd, .. } = plain;
        Self {
            count,
            tokens,
            prune_chars,
            guard_chars,
            clear_tokens,
            check_tokens,
            result_chars,
            oversized,
            reweighted,
            odd,
            guard_cut: guard.cut,
            guard_compacted: guard.compacted,
            clearing_results: clear.results,
            clearable: clear.clearable,
            cleared: clear.cleared,
            cleared_cut: clear.cut,
            cleared_compacted: clear.compacted,
        }
    }

    pub(super) fn plain(&self) -> PlainTotals {
        let Self { count, tokens, prune_chars, guard_chars, clear_tokens, .. } = *self;
        let Self { check_tokens, result_chars, oversized, reweighted, odd, .. } = *self;
        PlainTotals {
            count,
            tokens,
            prune_chars,
            guard_chars,
            clear_tokens,
            check_tokens,
            result_chars,
            oversized,
            reweighted,
            odd,
        }
    }

    pub(super) fn guard(&self) -> GuardTotals {
        GuardTotals { cut: self.guard_cut, compacted: self.guard_compacted }
    }

    pub(super) fn clear(&self) -> ClearTotals {
        ClearTotals {
            results: self.clearing_results,
            clearable: self.clearable,
            cleared: self.cleared,
            cut: self.cleared_cut,
            compacted: self.cleared_compacted,
        }
    }
}

impl EditTotals {
    pub(super) fn count(&self) -> u32 {
        self.trimmed + self.cleared
    }
}

// The edits of one prompt as data: the start of its message list, the range on which the guard acted, and all other
// edits one by one.

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
