//! The outcome of a policy for one message: its fate, the reason, and its chars before and after.

use crate::ids::word_in_json;
use crate::policy::reason::Reason;
use crate::store::entry::{CharCount, MessageSize};

/// Outcome of a policy for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// Unchanged, but another threshold could change it.
    Kept,
    /// Unchanged under every threshold.
    Protected,
    /// Shortened to head and tail.
    SoftTrimmed,
    /// Replaced by a placeholder.
    Cleared,
    /// Cut to a limit.
    Truncated,
    /// Replaced by a summary.
    Summarised,
    /// Removed.
    Dropped,
}

word_in_json!(Fate, word);

impl Fate {
    /// In the order of the legends.
    pub const ALL: [Self; 7] = [
        Self::Kept,
        Self::Protected,
        Self::SoftTrimmed,
        Self::Cleared,
        Self::Truncated,
        Self::Summarised,
        Self::Dropped,
    ];

    /// Returns the word used on screen and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Protected => "protected",
            Self::SoftTrimmed => "soft-trimmed",
            Self::Cleared => "cleared",
            Self::Truncated => "truncated",
            Self::Summarised => "summarised",
            Self::Dropped => "dropped",
        }
    }

    /// Returns the sign used on screens and in tables; it is readable without colour.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Kept => "·",
            Self::Protected => "◆",
            Self::SoftTrimmed => "~",
            Self::Cleared => "✂",
            Self::Truncated => "⇥",
            Self::Summarised => "Σ",
            Self::Dropped => "✗",
        }
    }

    pub fn is_change(self) -> bool {
        !matches!(self, Self::Kept | Self::Protected)
    }
}

impl MessageFate {
    pub fn kept(size: &MessageSize, reason: Reason) -> Self {
        Self::kept_with_chars(size.prune_chars, reason)
    }

    pub fn kept_with_chars(chars: CharCount, reason: Reason) -> Self {
        Self { fate: Fate::Kept, reason, before: chars, after: chars }
    }

    /// Builds the fate of a message that leaves the list.
    pub fn removed(size: &MessageSize, fate: Fate, reason: Reason) -> Self {
        Self { fate, reason, before: size.prune_chars, after: CharCount::ZERO }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageFate {
    pub fate: Fate,
    pub reason: Reason,
    /// In chars as the policy counts them.
    pub before: CharCount,
    /// In chars as the policy counts them.
    pub after: CharCount,
}
