//! Why a policy does to a message what it does.

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
    /// Trimmed by a call before, and so at every call since (pruning 8.2).
    RememberedTrim,
    /// Cleared by a call before, and so at every call since (pruning 8.2).
    RememberedClear,
    /// Cut for a call before, and sent as cut at every call since (pruning 8.2).
    RememberedCut,
    /// No step looks at it.
    Untouched,
    /// Before the last user turns that the limit keeps (pruning 2.1).
    BeyondHistoryLimit,
    /// Its images stand before the last answer: the model has seen them (pruning 1.6).
    SeenImages,
    /// It holds media, and stands before the last answered turns: the model has seen it (pruning 8).
    SeenMedia,
    /// A summary stands for it (compaction 3.11).
    SummarisedHistory,
    /// The beginning of a turn that the cut splits; a summary stands for it (compaction 3.8, 3.11).
    SummarisedTurn,
    /// The summary before, which goes into the new one (compaction 3.12).
    PreviousSummary,
    /// A system message: what it says goes into the prompt and tools that the compaction carries (store-pi-1.5 I4).
    Replayed,
    /// Kept by the compaction before, and lost with this one (compaction 3.3).
    LostTail,
    /// Among the newest messages, which a compaction keeps (compaction 3.6).
    KeptRecent,
    /// Longer than one result may be (pruning 6.4).
    OverLimit,
    /// All results together are longer than they may be (pruning 8.3).
    OverAggregate,
    /// It was sent before and keeps its bytes (releases R37).
    KeepsSent,
    /// Not longer than one result may be (pruning 6.2).
    WithinLimit,
    /// The guard counts more of it than one result may have (pruning 6.33).
    GuardCut,
    /// The guard counts more of it than one result may have; what fits stays (pruning 8.7).
    GuardFitted,
    /// This runtime has no guard (pruning 6.30).
    NoGuard,
    /// Old, and the guard counts more than the budget of all messages (pruning 6.35).
    GuardCompacted,
    /// The guard trimmed it for the budget of all (releases R42).
    GuardTrimmed,
    /// Within what the guard allows, or what older results gave was enough (pruning 6.33, 6.35).
    WithinGuard,
    /// The guard passes over it: it is no larger than the text that would stand for it (pruning 6.35).
    TooSmallToCompact,
    /// No call before it has its id (compaction 6.2).
    OrphanResult,
    /// Its call has a result already (compaction 6.2).
    DuplicateResult,
    /// Its tool name was blank or not trimmed (compaction 6.4).
    RenamedResult,
    /// It moved up to its call (compaction 6.2).
    Moved,
    /// A call of it is unusable (compaction 6.7).
    CallRemoved,
    /// A call of it has a name that is not trimmed, or attachments of a spawned session (compaction 6.7).
    CallTidied,
    /// Its details go; its text stays (pruning 1.1).
    DetailsStripped,
    /// An old tool use, and all together is over the trigger (pruning 7.2).
    ClearedUse,
    /// The arguments of its cleared calls go (pruning 7.2f).
    InputsCleared,
    /// All together is not over the trigger (pruning 7.2).
    BelowTrigger,
    /// Among the last results, which clearing keeps (pruning 7.2).
    KeptUse,
    /// Its tool is excluded from clearing (pruning 7.2d).
    ExcludedTool,
    /// Clearing older results reclaimed enough (pruning 7.2g).
    ClearedAtLeast,
    /// All that could be cleared is less than must be, so nothing is (pruning 7.11).
    TooLittleToClear,
    /// The answer before it holds no call with its id (pruning 7.2c).
    UncalledResult,
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
            Self::RememberedTrim => ("remembered-trim", "pruning 8.2"),
            Self::RememberedClear => ("remembered-clear", "pruning 8.2"),
            Self::RememberedCut => ("remembered-cut", "pruning 8.2"),
            Self::Untouched => ("untouched", ""),
            Self::BeyondHistoryLimit => ("beyond-history-limit", "pruning 2.1"),
            Self::SeenImages => ("seen-images", "pruning 1.6"),
            Self::SeenMedia => ("seen-media", "pruning 8"),
            Self::SummarisedHistory => ("summarised-history", "compaction 3.11"),
            Self::Replayed => ("replayed", "store-pi-1.5 I4"),
            Self::SummarisedTurn => ("summarised-turn", "compaction 3.8"),
            Self::PreviousSummary => ("previous-summary", "compaction 3.12"),
            Self::LostTail => ("lost-tail", "compaction 3.3"),
            Self::KeptRecent => ("kept-recent", "compaction 3.6"),
            Self::OverLimit => ("over-limit", "pruning 6.4"),
            Self::OverAggregate => ("over-aggregate", "pruning 8.3"),
            Self::KeepsSent => ("keeps-sent", "releases R37"),
            Self::WithinLimit => ("within-limit", "pruning 6.2"),
            Self::GuardCut => ("guard-cut", "pruning 6.33"),
            Self::GuardFitted => ("guard-fitted", "pruning 8.7"),
            Self::NoGuard => ("no-guard", "pruning 6.30"),
            Self::GuardCompacted => ("guard-compacted", "pruning 6.35"),
            Self::GuardTrimmed => ("guard-trimmed", "releases R42"),
            Self::WithinGuard => ("within-guard", "pruning 6.35"),
            Self::TooSmallToCompact => ("too-small-to-compact", "pruning 6.35"),
            Self::OrphanResult => ("orphan-result", "compaction 6.2"),
            Self::DuplicateResult => ("duplicate-result", "compaction 6.2"),
            Self::RenamedResult => ("renamed-result", "compaction 6.4"),
            Self::Moved => ("moved", "compaction 6.2"),
            Self::CallRemoved => ("call-removed", "compaction 6.7"),
            Self::CallTidied => ("call-tidied", "compaction 6.7"),
            Self::DetailsStripped => ("details-stripped", "pruning 1.1"),
            Self::ClearedUse => ("cleared-use", "pruning 7.2"),
            Self::InputsCleared => ("inputs-cleared", "pruning 7.2"),
            Self::BelowTrigger => ("below-trigger", "pruning 7.2"),
            Self::KeptUse => ("kept-use", "pruning 7.2"),
            Self::ExcludedTool => ("excluded-tool", "pruning 7.2"),
            Self::ClearedAtLeast => ("cleared-at-least", "pruning 7.2"),
            Self::TooLittleToClear => ("too-little-to-clear", "pruning 7.11"),
            Self::UncalledResult => ("uncalled-result", "pruning 7.2"),
        }
    }
}
