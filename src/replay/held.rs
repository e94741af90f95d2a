//! What a stretch of messages comes to, and what steps do to it: numbers that are added and taken away.

use std::ops::{Add, Sub};

use crate::replay::digest::Digest;

/// What a step does to a stretch of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Edits {
    /// Chars less, as the guard counts them.
    pub(super) chars: f64,
    /// Tokens less.
    pub(super) tokens: f64,
    /// The same as clearing counts them.
    pub(super) clear: f64,
    /// Results that are cut.
    pub(super) trimmed: u32,
    /// Results that gave way.
    pub(super) cleared: u32,
    /// What becomes of them.
    pub(super) digest: Digest,
}

/// What a stretch of messages comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Held {
    /// Messages that are sent.
    pub(super) count: u32,
    /// Tokens.
    pub(super) tokens: f64,
    /// Chars as the pruner counts them (pruning 5.4).
    pub(super) prune: f64,
    /// Chars as the guard counts them (pruning 6.32).
    pub(super) guard: f64,
    /// Tokens as clearing counts them.
    pub(super) clear: f64,
    /// Tokens as the check of a prompt counts them; 0 where it takes no part.
    pub(super) check: f64,
    /// Length of the texts of tool results, as truncation measures them; 0 where it goes by sizes.
    pub(super) results: f64,
    /// Results over the limit of one.
    pub(super) large: u32,
    /// Messages that weigh more or less to the pruner than their chars.
    pub(super) weighed: u32,
    /// Messages that some step may fail on, or that sizes do not tell enough of.
    pub(super) odd: u32,
    /// Each result held to the limit of one.
    pub(super) cut: Edits,
    /// The same once they gave way, those that can; `chars` beyond what cutting takes.
    pub(super) gone: Edits,
    /// Results, as clearing counts them.
    pub(super) uses: u32,
    /// Tokens of those that clearing may clear, as it counts them.
    pub(super) clearable: f64,
    /// Those once they are cleared, whatever the guard made of them.
    pub(super) used: Edits,
    /// What the guard does to those: of `cut`, and of `gone`.
    pub(super) used_cut: Edits,
    pub(super) used_gone: Edits,
}

impl Edits {
    /// Messages that are edited.
    pub(super) fn count(&self) -> u32 {
        self.trimmed + self.cleared
    }
}

impl Add for Edits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            chars: self.chars + other.chars,
            tokens: self.tokens + other.tokens,
            clear: self.clear + other.clear,
            trimmed: self.trimmed + other.trimmed,
            cleared: self.cleared + other.cleared,
            digest: self.digest + other.digest,
        }
    }
}

impl Sub for Edits {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            chars: self.chars - other.chars,
            tokens: self.tokens - other.tokens,
            clear: self.clear - other.clear,
            trimmed: self.trimmed - other.trimmed,
            cleared: self.cleared - other.cleared,
            digest: self.digest - other.digest,
        }
    }
}

impl Add for Held {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            tokens: self.tokens + other.tokens,
            prune: self.prune + other.prune,
            guard: self.guard + other.guard,
            clear: self.clear + other.clear,
            check: self.check + other.check,
            results: self.results + other.results,
            large: self.large + other.large,
            weighed: self.weighed + other.weighed,
            odd: self.odd + other.odd,
            cut: self.cut + other.cut,
            gone: self.gone + other.gone,
            uses: self.uses + other.uses,
            clearable: self.clearable + other.clearable,
            used: self.used + other.used,
            used_cut: self.used_cut + other.used_cut,
            used_gone: self.used_gone + other.used_gone,
        }
    }
}

impl Sub for Held {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            tokens: self.tokens - other.tokens,
            prune: self.prune - other.prune,
            guard: self.guard - other.guard,
            clear: self.clear - other.clear,
            check: self.check - other.check,
            results: self.results - other.results,
            large: self.large - other.large,
            weighed: self.weighed - other.weighed,
            odd: self.odd - other.odd,
            cut: self.cut - other.cut,
            gone: self.gone - other.gone,
            uses: self.uses - other.uses,
            clearable: self.clearable - other.clearable,
            used: self.used - other.used,
            used_cut: self.used_cut - other.used_cut,
            used_gone: self.used_gone - other.used_gone,
        }
    }
}
