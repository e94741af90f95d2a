//! What a policy does to a message, and why.

use crate::store::entry::{MessageSize, Size};

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
    pub fn changes(self) -> bool {
        !matches!(self, Self::Kept | Self::Protected)
    }
}

/// Why a message has its fate. The words are stable: they appear in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Pruning never runs: the mode is not `cache-ttl` (pruning 3.3).
    PruningOff,
    /// This version never prunes (pruning 8).
    NoPruner,
    /// Provider and model are not eligible (pruning 3.6).
    ProviderNotEligible,
    /// No run ever recorded a cache touch (pruning 4.2).
    NeverTouched,
    /// A ttl of 0 disables pruning (pruning 4.2).
    NoTtl,
    /// The cache is warm: less than the ttl since the last touch (pruning 4.2).
    CacheWarm,
    /// No usable window (pruning 5.1).
    NoWindow,
    /// Fewer assistant messages than are to be kept (pruning 5.2).
    TooFewAssistants,
    /// Only tool results are ever pruned (pruning 5.12).
    NotAToolResult,
    /// Before the first user message (pruning 5.3).
    BeforeFirstUser,
    /// At or after the k-th last assistant message (pruning 5.2).
    WithinLastAssistants,
    /// It holds an image (pruning 5.6).
    Image,
    /// The tool filter rejects its tool (pruning 3.5).
    ToolDenied,
    /// All together is below the soft-trim ratio (pruning 5.5).
    RatioBelowSoft,
    /// Not longer than `softTrim.maxChars`, and all together is below the hard-clear ratio (pruning 5.7, 5.8).
    BelowMaxChars,
    /// Head and tail cover it (pruning 5.7).
    HeadAndTailCover,
    /// Not trimmed, and clearing is switched off (pruning 5.8).
    HardClearOff,
    /// Not trimmed, and what could be cleared is less than `minPrunableToolChars` (pruning 5.9).
    TooFewPrunableChars,
    /// Not trimmed, and older results were enough to get below the ratio (pruning 5.10).
    ClearedEnough,
    /// Longer than `softTrim.maxChars` (pruning 5.7).
    SoftTrim,
    /// Old, and all together at or above the hard-clear ratio (pruning 5.10).
    HardClear,
    /// No step looks at it.
    Untouched,
    /// Before the last user turns that the limit keeps (pruning 2.1).
    BeyondHistoryLimit,
    /// Its images stand before the last answer: the model has seen them (pruning 1.6).
    SeenImages,
    /// A summary stands for it (compaction 3.11).
    SummarisedHistory,
    /// The beginning of a turn that the cut splits; a summary stands for it (compaction 3.8, 3.11).
    SummarisedTurn,
    /// The summary before, which goes into the new one (compaction 3.12).
    PreviousSummary,
    /// Kept by the compaction before, and lost with this one (compaction 3.3).
    LostTail,
    /// Among the newest messages, which a compaction keeps (compaction 3.6).
    KeptRecent,
}

impl Reason {
    /// The word used in JSON.
    pub fn word(self) -> &'static str {
        self.facts().0
    }

    /// The rule it follows.
    pub fn rule(self) -> &'static str {
        self.facts().1
    }

    /// Whether a gate stopped the whole policy before it looked at any message.
    pub fn is_gate(self) -> bool {
        matches!(
            self,
            Self::PruningOff
                | Self::NoPruner
                | Self::ProviderNotEligible
                | Self::NeverTouched
                | Self::NoTtl
                | Self::CacheWarm
        )
    }

    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Self::PruningOff => ("pruning-off", "pruning 3.3"),
            Self::NoPruner => ("no-pruner", "pruning 8"),
            Self::ProviderNotEligible => ("provider-not-eligible", "pruning 3.6"),
            Self::NeverTouched => ("never-touched", "pruning 4.2"),
            Self::NoTtl => ("no-ttl", "pruning 4.2"),
            Self::CacheWarm => ("cache-warm", "pruning 4.2"),
            Self::NoWindow => ("no-window", "pruning 5.1"),
            Self::TooFewAssistants => ("too-few-assistants", "pruning 5.2"),
            Self::NotAToolResult => ("not-a-tool-result", "pruning 5.12"),
            Self::BeforeFirstUser => ("before-first-user", "pruning 5.3"),
            Self::WithinLastAssistants => ("within-last-assistants", "pruning 5.2"),
            Self::Image => ("image", "pruning 5.6"),
            Self::ToolDenied => ("tool-denied", "pruning 3.5"),
            Self::RatioBelowSoft => ("ratio-below-soft", "pruning 5.5"),
            Self::BelowMaxChars => ("below-max-chars", "pruning 5.7"),
            Self::HeadAndTailCover => ("head-and-tail-cover", "pruning 5.7"),
            Self::HardClearOff => ("hard-clear-off", "pruning 5.8"),
            Self::TooFewPrunableChars => ("too-few-prunable-chars", "pruning 5.9"),
            Self::ClearedEnough => ("cleared-enough", "pruning 5.10"),
            Self::SoftTrim => ("soft-trim", "pruning 5.7"),
            Self::HardClear => ("hard-clear", "pruning 5.10"),
            Self::Untouched => ("untouched", ""),
            Self::BeyondHistoryLimit => ("beyond-history-limit", "pruning 2.1"),
            Self::SeenImages => ("seen-images", "pruning 1.6"),
            Self::SummarisedHistory => ("summarised-history", "compaction 3.11"),
            Self::SummarisedTurn => ("summarised-turn", "compaction 3.8"),
            Self::PreviousSummary => ("previous-summary", "compaction 3.12"),
            Self::LostTail => ("lost-tail", "compaction 3.3"),
            Self::KeptRecent => ("kept-recent", "compaction 3.6"),
        }
    }
}

impl MessageFate {
    /// A message as it is, for this reason.
    pub fn kept(size: &MessageSize, reason: Reason) -> Self {
        Self { fate: Fate::Kept, reason, before: size.prune_chars, after: size.prune_chars }
    }

    /// A message that leaves the list.
    pub fn gone(size: &MessageSize, fate: Fate, reason: Reason) -> Self {
        Self { fate, reason, before: size.prune_chars, after: Size::ZERO }
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
    pub before: Size,
    /// Its chars after, as the policy counts them.
    pub after: Size,
}
