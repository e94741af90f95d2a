//! What a policy does to a message, and why.

use crate::policy::reason::Reason;
use crate::store::entry::{CharCount, MessageSize};

/// What becomes of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// It stays as it is, and nothing shields it.
    Kept,
    /// It stays, and no threshold could change that.
    Protected,
    /// Head and tail stay.
    SoftTrimmed,
    /// A placeholder stands for it.
    Cleared,
    /// It is cut to a limit.
    Truncated,
    /// A summary stands for it.
    Summarised,
    /// It is gone.
    Dropped,
}

impl Fate {
    /// Every fate, in the order of legends.
    pub const ALL: [Self; 7] = [
        Self::Kept,
        Self::Protected,
        Self::SoftTrimmed,
        Self::Cleared,
        Self::Truncated,
        Self::Summarised,
        Self::Dropped,
    ];

    /// The word used on screen and in JSON.
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

    /// The sign on screens and in tables. It says the same without colour.
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

    /// Whether the message differs under the plan.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::Kept | Self::Protected)
    }
}

impl MessageFate {
    /// A message as it is, for this reason.
    pub fn kept(size: &MessageSize, reason: Reason) -> Self {
        Self::kept_with_chars(size.prune_chars, reason)
    }

    /// A message of so many chars as it is, for this reason.
    pub fn kept_with_chars(chars: CharCount, reason: Reason) -> Self {
        Self { fate: Fate::Kept, reason, before: chars, after: chars }
    }

    /// A message that leaves the list.
    pub fn removed(size: &MessageSize, fate: Fate, reason: Reason) -> Self {
        Self { fate, reason, before: size.prune_chars, after: CharCount::ZERO }
    }
}

/// One message under a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageFate {
    /// What becomes of it.
    pub fate: Fate,
    /// Why.
    pub reason: Reason,
    /// Its chars before, as the policy counts them.
    pub before: CharCount,
    /// Its chars after, as the policy counts them.
    pub after: CharCount,
}
