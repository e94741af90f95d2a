//! The reasons that explain the fate of a message, each with its stable word for JSON and the rule that it follows.

/// Reason for the fate of a message. JSON shows [`Reason::word`], so the words stay stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The mode is not `cache-ttl` (pruning 3.3).
    PruningOff,
    /// This version never prunes (pruning 8).
    NoPruner,
    /// Provider and model are not eligible (pruning 3.6).
    ProviderNotEligible,
    /// No run recorded a cache touch (pruning 4.2).
    NeverTouched,
    /// A ttl of 0 disables pruning (pruning 4.2).
    NoTtl,
    /// The last touch is less than the ttl ago (pruning 4.2).
    CacheWarm,
    /// The window is unknown or not positive (pruning 5.1).
    NoWindow,
    /// There are fewer assistant messages than `keepLastAssistants` (pruning 5.2).
    TooFewAssistants,
    /// Pruning changes only tool results (pruning 5.12).
    NotAToolResult,
    /// (pruning 5.3)
    BeforeFirstUser,
    /// At or after the k-th last assistant message (pruning 5.2).
    WithinLastAssistants,
    /// The result holds an image (pruning 5.6).
    Image,
    /// The tool filter excludes the tool (pruning 3.5).
    ToolDenied,
    /// The context is below the soft-trim ratio (pruning 5.5).
    RatioBelowSoft,
    /// Not longer than `softTrim.maxChars`, and the context is below the hard-clear ratio (pruning 5.7, 5.8).
    BelowMaxChars,
    /// Head and tail together cover the result (pruning 5.7).
    HeadAndTailCover,
    /// Not trimmed, and clearing is off (pruning 5.8).
    HardClearOff,
    /// Not trimmed, and the clearable results hold less than `minPrunableToolChars` (pruning 5.9).
    TooFewPrunableChars,
    /// Not trimmed, and clearing older results brought the context below the ratio (pruning 5.10).
    ClearedEnough,
    /// Longer than `softTrim.maxChars` (pruning 5.7).
    SoftTrim,
    /// Old, and the context is at or above the hard-clear ratio (pruning 5.10).
    HardClear,
    /// An earlier call trimmed it, and every later call repeats that (pruning 8.2).
    RememberedTrim,
    /// An earlier call cleared it, and every later call repeats that (pruning 8.2).
    RememberedClear,
    /// An earlier call cut it, and every later call repeats that (pruning 8.2).
    RememberedCut,
    /// No active policy applies to the message.
    Untouched,
    /// Before the last user turns that the limit keeps (pruning 2.1).
    BeyondHistoryLimit,
    /// The images are before the last answer, so the model has seen them (pruning 1.6).
    SeenImages,
    /// The media is before the last answered turns, so the model has seen it (pruning 8).
    SeenMedia,
    /// A summary replaces the message (compaction 3.11).
    SummarisedHistory,
    /// Start of a turn that the compaction splits; a summary replaces it (compaction 3.8, 3.11).
    SummarisedTurn,
    /// The previous summary, which the new one includes (compaction 3.12).
    PreviousSummary,
    /// A system message: its content becomes part of the prompt and tools that the compaction carries (store-pi-1.5 I4).
    Replayed,
    /// Kept by the previous compaction and lost with this one (compaction 3.3).
    LostTail,
    /// Among the newest messages, which a compaction keeps (compaction 3.6).
    KeptRecent,
    /// Longer than the limit of one result (pruning 6.4).
    OverLimit,
    /// All results together are over their budget (pruning 8.3).
    OverAggregate,
    /// An earlier call sent it, so its bytes stay the same (releases R37).
    KeepsSent,
    /// (pruning 6.2)
    WithinLimit,
    /// Over the guard's limit of one result (pruning 6.33).
    GuardCut,
    /// Over the guard's limit of one result; the images and texts that fit stay (pruning 8.7).
    GuardFitted,
    /// This runtime has no guard (pruning 6.30).
    NoGuard,
    /// Old, and all messages are over the guard's budget (pruning 6.35).
    GuardCompacted,
    /// The guard trimmed it to fit the budget of all messages (releases R42).
    GuardTrimmed,
    /// Within the guard's limits, or older results made enough room (pruning 6.33, 6.35).
    WithinGuard,
    /// No larger than the notice that would replace it, so the guard skips it (pruning 6.35).
    TooSmallToCompact,
    /// No earlier call has its id (compaction 6.2).
    OrphanResult,
    /// The answer failed or was stopped while it called tools (compaction 6.8).
    FailedAnswer,
    /// Its call already has a result (compaction 6.2).
    DuplicateResult,
    /// Its tool name was blank or not trimmed (compaction 6.4).
    RenamedResult,
    /// Moved up to its call (compaction 6.2).
    Moved,
    /// One of its calls is unusable (compaction 6.7).
    CallRemoved,
    /// One of its calls has an untrimmed name, or attachments of a spawned session (compaction 6.7).
    CallTidied,
    /// The details are removed; the text stays (pruning 1.1).
    DetailsStripped,
    /// An old tool use, and the context is over the trigger (pruning 7.2).
    ClearedUse,
    /// The arguments of its cleared calls are removed (pruning 7.2f).
    InputsCleared,
    /// The context is not over the trigger (pruning 7.2).
    BelowTrigger,
    /// Among the last results, which clearing keeps (pruning 7.2).
    KeptUse,
    /// The tool is excluded from clearing (pruning 7.2d).
    ExcludedTool,
    /// Clearing older results freed at least `clearAtLeast` tokens (pruning 7.2g).
    ClearedAtLeast,
    /// The clearable results hold less than `clearAtLeast` tokens, so none is cleared (pruning 7.11).
    TooLittleToClear,
    /// The preceding answer holds no call with its id (pruning 7.2c).
    UncalledResult,
}

crate::ids::word_in_json!(Reason, word);

impl Reason {
    /// Returns the word used in JSON.
    pub fn word(self) -> &'static str {
        self.facts().0
    }

    /// Returns the rule as the rulebook numbers it; empty if no rule applies.
    pub fn rule(self) -> &'static str {
        self.facts().1
    }

    /// Describes it for a column of a table.
    pub fn describe(self) -> &'static str {
        self.facts().2
    }

    /// Whether a gate stopped the policy before it read any message.
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

    /// The word in JSON, the rule, and the description.
    fn facts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::PruningOff => ("pruning-off", "pruning 3.3", "pruning is off"),
            Self::NoPruner => ("no-pruner", "pruning 8", "this runtime has no pruner"),
            Self::ProviderNotEligible => {
                ("provider-not-eligible", "pruning 3.6", "the provider's cache is not known")
            }
            Self::NeverTouched => ("never-touched", "pruning 4.2", "the cache was never used"),
            Self::NoTtl => ("no-ttl", "pruning 4.2", "ttl is 0"),
            Self::CacheWarm => ("cache-warm", "pruning 4.2", "the cache is warm"),
            Self::NoWindow => ("no-window", "pruning 5.1", "the window is not known"),
            Self::TooFewAssistants => {
                ("too-few-assistants", "pruning 5.2", "fewer replies than keepLastAssistants")
            }
            Self::NotAToolResult => ("not-a-tool-result", "pruning 5.12", "not a tool result"),
            Self::BeforeFirstUser => ("before-first-user", "pruning 5.3", "before the first user message"),
            Self::WithinLastAssistants => {
                ("within-last-assistants", "pruning 5.2", "among the last keepLastAssistants replies")
            }
            Self::Image => ("image", "pruning 5.6", "has an image"),
            Self::ToolDenied => ("tool-denied", "pruning 3.5", "its tool is not prunable"),
            Self::RatioBelowSoft => ("ratio-below-soft", "pruning 5.5", "the prompt is below softTrimRatio"),
            Self::BelowMaxChars => ("below-max-chars", "pruning 5.7", "not longer than softTrim.maxChars"),
            Self::HeadAndTailCover => ("head-and-tail-cover", "pruning 5.7", "head and tail cover it"),
            Self::HardClearOff => ("hard-clear-off", "pruning 5.8", "hardClear is off"),
            Self::TooFewPrunableChars => {
                ("too-few-prunable-chars", "pruning 5.9", "below minPrunableToolChars")
            }
            Self::ClearedEnough => ("cleared-enough", "pruning 5.10", "enough was cleared before it"),
            Self::SoftTrim => ("soft-trim", "pruning 5.7", "longer than softTrim.maxChars"),
            Self::HardClear => ("hard-clear", "pruning 5.10", "above hardClearRatio"),
            Self::RememberedTrim => ("remembered-trim", "pruning 8.2", "trimmed before"),
            Self::RememberedClear => ("remembered-clear", "pruning 8.2", "cleared before"),
            Self::RememberedCut => ("remembered-cut", "pruning 8.2", "cut before"),
            Self::Untouched => ("untouched", "", "no policy changes it"),
            Self::BeyondHistoryLimit => ("beyond-history-limit", "pruning 2.1", "older than historyLimit"),
            Self::SeenImages => ("seen-images", "pruning 1.6", "its images were answered"),
            Self::SeenMedia => ("seen-media", "pruning 8", "its media were answered"),
            Self::SummarisedHistory => ("summarised-history", "compaction 3.11", "summarised"),
            Self::Replayed => ("replayed", "store-pi-1.5 I4", "sent again after the summary"),
            Self::SummarisedTurn => {
                ("summarised-turn", "compaction 3.8", "summarised as the start of a turn")
            }
            Self::PreviousSummary => ("previous-summary", "compaction 3.12", "the previous summary"),
            Self::LostTail => ("lost-tail", "compaction 3.3", "neither summarised nor kept"),
            Self::KeptRecent => ("kept-recent", "compaction 3.6", "within keepRecentTokens"),
            Self::OverLimit => ("over-limit", "pruning 6.4", "over the limit of one result"),
            Self::OverAggregate => ("over-aggregate", "pruning 8.3", "over the limit of all results"),
            Self::KeepsSent => ("keeps-sent", "releases R37", "sent before, so kept"),
            Self::WithinLimit => ("within-limit", "pruning 6.2", "within the limit"),
            Self::GuardCut => ("guard-cut", "pruning 6.33", "over the guard's limit of one result"),
            Self::GuardFitted => ("guard-fitted", "pruning 8.7", "cut to the guard's budget"),
            Self::NoGuard => ("no-guard", "pruning 6.30", "this runtime has no guard"),
            Self::GuardCompacted => ("guard-compacted", "pruning 6.35", "replaced to fit the guard's budget"),
            Self::GuardTrimmed => ("guard-trimmed", "releases R42", "trimmed by the guard"),
            Self::WithinGuard => ("within-guard", "pruning 6.35", "within the guard's budget"),
            Self::TooSmallToCompact => {
                ("too-small-to-compact", "pruning 6.35", "too small to be worth replacing")
            }
            Self::OrphanResult => ("orphan-result", "compaction 6.2", "no earlier call has its id"),
            Self::FailedAnswer => ("failed-answer", "compaction 6.8", "its answer failed"),
            Self::DuplicateResult => ("duplicate-result", "compaction 6.2", "its call has a result already"),
            Self::RenamedResult => ("renamed-result", "compaction 6.4", "its tool name is corrected"),
            Self::Moved => ("moved", "compaction 6.2", "moved to its call"),
            Self::CallRemoved => ("call-removed", "compaction 6.7", "its call is unusable"),
            Self::CallTidied => ("call-tidied", "compaction 6.7", "its call is tidied"),
            Self::DetailsStripped => {
                ("details-stripped", "pruning 1.1", "loses details that no model receives")
            }
            Self::ClearedUse => ("cleared-use", "pruning 7.2", "cleared tool use"),
            Self::InputsCleared => ("inputs-cleared", "pruning 7.2", "its calls' arguments are cleared"),
            Self::BelowTrigger => {
                ("below-trigger", "pruning 7.2", "the prompt is below clearToolUses.trigger")
            }
            Self::KeptUse => ("kept-use", "pruning 7.2", "among the newest tool uses"),
            Self::ExcludedTool => ("excluded-tool", "pruning 7.2", "its tool is excluded"),
            Self::ClearedAtLeast => ("cleared-at-least", "pruning 7.2", "clearAtLeast was reached before it"),
            Self::TooLittleToClear => {
                ("too-little-to-clear", "pruning 7.11", "less than clearAtLeast to clear")
            }
            Self::UncalledResult => ("uncalled-result", "pruning 7.2", "its call is missing"),
        }
    }
}
