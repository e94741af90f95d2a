//! What a stretch of messages comes to, and what steps do to it: numbers that are added and taken away.

use std::ops::{Add, Sub};

use crate::replay::edit_digest::EditDigest;

/// What a step does to a stretch of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct EditTotals {
    /// Chars less, as the guard counts them.
    pub(super) chars: f64,
    /// Tokens less.
    pub(super) tokens: f64,
    /// The same as clearing counts them.
    pub(super) clear_tokens: f64,
    /// Results that are cut.
    pub(super) trimmed: u32,
    /// Results that gave way.
    pub(super) cleared: u32,
    /// What becomes of them.
    pub(super) edit_digest: EditDigest,
}

/// What a stretch of messages comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RangeTotals {
    /// Messages that are sent.
    pub(super) count: u32,
    /// Tokens.
    pub(super) tokens: f64,
    /// Chars as the pruner counts them (pruning 5.4).
    pub(super) prune_chars: f64,
    /// Chars as the guard counts them (pruning 6.32).
    pub(super) guard_chars: f64,
    /// Tokens as clearing counts them.
    pub(super) clear_tokens: f64,
    /// Tokens as the check of a prompt counts them; 0 where it takes no part.
    pub(super) check_tokens: f64,
    /// Length of the texts of tool results, as truncation measures them; 0 where it goes by sizes.
    pub(super) result_chars: f64,
    /// Results over the limit of one.
    pub(super) oversized: u32,
    /// Messages that weigh more or less to the pruner than their chars.
    pub(super) reweighted: u32,
    /// Messages that some step may fail on, or that sizes do not tell enough of.
    pub(super) odd: u32,
    /// Each result held to the limit of one.
    pub(super) guard_cut: EditTotals,
    /// The same once they gave way, those that can; `chars` beyond what cutting takes.
    pub(super) guard_compacted: EditTotals,
    /// Results, as clearing counts them.
    pub(super) clearing_results: u32,
    /// Tokens of those that clearing may clear, as it counts them.
    pub(super) clearable: f64,
    /// Those once they are cleared, whatever the guard made of them.
    pub(super) cleared: EditTotals,
    /// What the guard does to those: of `cut`, and of `gone`.
    pub(super) cleared_cut: EditTotals,
    pub(super) cleared_compacted: EditTotals,
}

impl EditTotals {
    /// Messages that are edited.
    pub(super) fn count(&self) -> u32 {
        self.trimmed + self.cleared
    }
}

impl Add for EditTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            chars: self.chars + other.chars,
            tokens: self.tokens + other.tokens,
            clear_tokens: self.clear_tokens + other.clear_tokens,
            trimmed: self.trimmed + other.trimmed,
            cleared: self.cleared + other.cleared,
            edit_digest: self.edit_digest + other.edit_digest,
        }
    }
}

impl Sub for EditTotals {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            chars: self.chars - other.chars,
            tokens: self.tokens - other.tokens,
            clear_tokens: self.clear_tokens - other.clear_tokens,
            trimmed: self.trimmed - other.trimmed,
            cleared: self.cleared - other.cleared,
            edit_digest: self.edit_digest - other.edit_digest,
        }
    }
}

impl Add for RangeTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            tokens: self.tokens + other.tokens,
            prune_chars: self.prune_chars + other.prune_chars,
            guard_chars: self.guard_chars + other.guard_chars,
            clear_tokens: self.clear_tokens + other.clear_tokens,
            check_tokens: self.check_tokens + other.check_tokens,
            result_chars: self.result_chars + other.result_chars,
            oversized: self.oversized + other.oversized,
            reweighted: self.reweighted + other.reweighted,
            odd: self.odd + other.odd,
            guard_cut: self.guard_cut + other.guard_cut,
            guard_compacted: self.guard_compacted + other.guard_compacted,
            clearing_results: self.clearing_results + other.clearing_results,
            clearable: self.clearable + other.clearable,
            cleared: self.cleared + other.cleared,
            cleared_cut: self.cleared_cut + other.cleared_cut,
            cleared_compacted: self.cleared_compacted + other.cleared_compacted,
        }
    }
}

impl Sub for RangeTotals {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            tokens: self.tokens - other.tokens,
            prune_chars: self.prune_chars - other.prune_chars,
            guard_chars: self.guard_chars - other.guard_chars,
            clear_tokens: self.clear_tokens - other.clear_tokens,
            check_tokens: self.check_tokens - other.check_tokens,
            result_chars: self.result_chars - other.result_chars,
            oversized: self.oversized - other.oversized,
            reweighted: self.reweighted - other.reweighted,
            odd: self.odd - other.odd,
            guard_cut: self.guard_cut - other.guard_cut,
            guard_compacted: self.guard_compacted - other.guard_compacted,
            clearing_results: self.clearing_results - other.clearing_results,
            clearable: self.clearable - other.clearable,
            cleared: self.cleared - other.cleared,
            cleared_cut: self.cleared_cut - other.cleared_cut,
            cleared_compacted: self.cleared_compacted - other.cleared_compacted,
        }
    }
}
