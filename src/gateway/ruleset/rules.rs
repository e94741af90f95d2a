//! Every number and choice that differs between versions, as data. A rule that is the same in all of them is
//! not here. Each field names its row of the tables (pruning 8, compaction 12).

use super::pi::PiRelease;

/// How a runtime reads a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reading {
    /// Entries become messages one by one: pi up to 0.85, and the gateways built on it.
    #[default]
    Entries,
    /// A projection of them does, with edits applied and system messages in it: pi from 0.87 on (store-pi-1.5 C, D).
    Projected,
}

/// The rules of one version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// How transcripts are read, and what is made of them for a model.
    pub reading: Reading,
    /// The release of pi whose way of reading, weighing and compacting holds; a gateway's own rules go over it.
    pub pi: PiRelease,
    /// Row "Pruner active at all".
    pub pruner: Pruner,
    /// Row "Config keys": which keys of `contextPruning` are read.
    pub prune_keys: PruneKeys,
    /// Row "Image results": what pruning does with a result that holds images.
    pub image_results: ImageResults,
    /// Row "Last touch": which marker counts.
    pub touch: Touch,
    /// Row "Eligibility": for which models pruning is installed.
    pub eligible: Eligible,
    /// Row "Duration": longer durations, in ms, are errors.
    pub longest_ttl_ms: f64,
    /// Row "Turn limit".
    pub history: History,
    /// Row "Limit lookup".
    pub history_lookup: HistoryLookup,
    /// Row "Single limit": what one tool result may have.
    pub result_limit: ResultLimit,
    /// Row "Truncation": how a text is cut.
    pub truncation: Truncation,
    /// Row "Persisted rewrite": how a session with oversized results is rewritten.
    pub rewrite: Rewrite,
    /// Row "Context guard".
    pub guard: Guard,
    /// Row "Server-side clearing": the provider is asked to clear tool uses where it can.
    pub server_clearing: bool,
    /// Row "Legacy images".
    pub legacy_images: LegacyImages,
    /// Rows "Token estimate" and "Size estimate": what a character weighs.
    pub estimate: Estimate,
    /// Row "Usage validity": a usage must exceed 0 to anchor an estimate.
    pub usage_above_zero: bool,
    /// Row "Reserve".
    pub reserve: Reserve,
    /// Row "`shouldCompact`": a window of 0 or less, or an unknown one, compacts at every call.
    pub unknown_window_compacts: bool,
    /// Rows "Range start" and "Cut point".
    pub compaction: Compaction,
    /// Row "Safeguard active?".
    pub safeguard: bool,
    /// Row "Summary size": most chars of a stored summary, the note about the cut included.
    pub summary_chars: Option<f64>,
    /// Row "Window guard".
    pub window_guard: WindowGuardRule,
    /// Row "Window source": `agents.defaults.contextTokens` lowers every window.
    pub context_tokens: bool,
    /// Row "Memory flush".
    pub memory_flush: MemoryFlush,
    /// Row "Recovery".
    pub recovery: Recovery,
    /// Where a session stands, how its entries hang together, and what bounds its context (sqlite F, G).
    pub branching: Branching,
}

impl Rules {
    /// Whether steps ask for the letters of texts and not only for their lengths: what a character weighs, which words end
    /// a text, where it speaks of media (pruning 8.3, 8.5, 8.7).
    pub fn looks_at_letters(&self) -> bool {
        self.estimate == Estimate::Weighted
    }
}

/// Whether old tool results are pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pruner {
    /// There is none.
    None,
    /// It is configured, but the published build fails to load it.
    FailsToLoad,
    /// Decided anew at each firing; other calls send everything.
    EachFiring,
    /// What was pruned once stays pruned (pruning 8.2).
    Projections,
}

impl Pruner {
    /// Whether anything is ever pruned.
    pub fn is_active(self) -> bool {
        matches!(self, Self::EachFiring | Self::Projections)
    }
}

/// Which keys of `contextPruning` are read; the others have built-in values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneKeys {
    /// All nine.
    All,
    /// `mode`, `ttl`, `tools` and `hardClear`.
    Few,
}

impl PruneKeys {
    /// Whether a key below `contextPruning` is read, such as `softTrim.maxChars`.
    pub fn reads(self, key: &str) -> bool {
        let top = key.split('.').next().unwrap_or(key);
        self == Self::All || ["mode", "ttl", "tools", "hardClear"].contains(&top)
    }
}

/// Pruning of results that hold images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageResults {
    /// They stay whole (pruning 5.6).
    Skipped,
    /// Each image becomes a line of text, and the result is one like others (pruning 8.1).
    Replaced,
}

/// Which cache-ttl marker is the last touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// The last one, of any model.
    Any,
    /// The last one of the provider and model of the run.
    SameModel,
}

/// For which models pruning is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligible {
    /// `anthropic`, and `openrouter` with `anthropic/`.
    Anthropic,
    /// The list of pruning 3.6.
    Caching,
    /// What plugins say, then a list by provider and interface.
    Plugins,
}

/// How a turn limit cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// There is no such limit.
    None,
    /// To exactly the limit; leading summaries go (pruning 2.1).
    Exact,
    /// In batches of half the limit; what precedes the conversation stays (pruning 8.4).
    Batches,
}

/// Where a turn limit is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryLookup {
    /// The person, the channel for persons, the channel for groups (pruning 2.3).
    Channel,
    /// The same three of the account first, where the key names one.
    Account,
}

/// Chars that one tool result may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ResultLimit {
    /// 0.3 of the window, and never more than this (pruning 6.2).
    Share {
        /// Chars.
        most: f64,
    },
    /// 0.3 of the window, and never more than a cap that the window's size sets (pruning 8.3).
    Stepped,
}

/// How an oversized text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// Its head stays. A block's share is never below the least to keep, with or without the length of
    /// the suffix on top (pruning 6.4, 6.6).
    Head {
        /// The suffix is added to the least: 2217 instead of 2000.
        floor_has_suffix: bool,
    },
    /// Head, and tail where that looks important (pruning 8.3).
    HeadAndTail,
}

/// How a session with oversized results is rewritten on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// It is not.
    None,
    /// The branch is appended again without labels and branch summaries, and a compaction keeps naming an old id
    /// (pruning 6.11, 6.12).
    Losing,
    /// Every reference follows the copies (pruning 8.6).
    Remapping,
}

/// What watches over tool results at each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Nothing.
    None,
    /// A limit for each, then placeholders for the oldest (pruning 6.30).
    Placeholders,
    /// A limit for each (pruning 8.7).
    Single,
}

/// What becomes of images the model has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegacyImages {
    /// They stay.
    Stay,
    /// Those of users before the last answer go (pruning 1.6).
    BeforeLastAnswer,
    /// Those of users and results before the last turns that were answered go, and references to media.
    BeforeLastTurns {
        /// Turns that stay as they are.
        kept: usize,
    },
}

/// What a character weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// One each, four to a token.
    Units,
    /// More for CJK (pruning 8.5).
    Weighted,
}

/// What of the window is kept free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserve {
    /// The runtime's own setting.
    Runtime,
    /// That, but at least `reserveTokensFloor`.
    Floor,
    /// `reserveTokens` or the runtime's own, but at least `reserveTokensFloor` (compaction 2.2).
    Configured,
    /// At least 20000, but at most a quarter of the window.
    Quarter,
}

impl Reserve {
    /// Whether a key below `compaction` is read.
    pub fn reads(self, key: &str) -> bool {
        match key {
            "reserveTokens" => self == Self::Configured,
            "reserveTokensFloor" => matches!(self, Self::Floor | Self::Configured),
            "keepRecentTokens" => matches!(self, Self::Configured | Self::Quarter),
            _ => true,
        }
    }
}

/// What a compaction considers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compaction {
    /// What follows the previous compaction; what that kept is lost (compaction 3.2–3.8).
    AfterPrevious,
    /// From the first entry the previous one kept.
    FromFirstKept,
    /// The same entry by entry as pi does from 0.63.1 to 0.86, which compacts no branch that ends in a compaction.
    EntriesFromKept,
    /// The projected messages, what the previous one kept among them (store-pi-1.5 H).
    Projected,
}

/// When a window is too small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowGuardRule {
    /// Refused below so many tokens.
    pub block_below: f64,
    /// Warned about below so many tokens.
    pub warn_below: f64,
    /// Share of the reference window that raises the first limit.
    pub block_share: f64,
    /// Share of the reference window that raises the second limit.
    pub warn_share: f64,
    /// An unknown window is refused.
    pub block_unknown: bool,
}

/// When notes are saved before a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryFlush {
    /// Never.
    None,
    /// By the stored total alone.
    StoredTotal,
    /// By the total, the transcript's own and its size (compaction 9).
    TotalsAndSize,
    /// By the plug-in: the floor at most a quarter of the window.
    Plugin,
}

/// What follows an overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Compactions that are tried.
    pub attempts: u32,
    /// Cutting tool results starts the count anew.
    pub truncation_restarts: bool,
    /// A failure puts a new session in the place of this one.
    pub resets_session: bool,
}

/// How the active branch is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Branching {
    /// The last entry is the leaf, parents are taken as they are written, and only a compaction bounds a context (store K).
    #[default]
    LastEntry,
    /// Leaf rows and side rows count, parents are corrected, and a `reset` bounds a context as a compaction does (sqlite F,
    /// G2).
    LeafRows,
}

const FILE_ERA_GUARD: WindowGuardRule = WindowGuardRule {
    block_below: 16_000.0,
    warn_below: 32_000.0,
    block_share: 0.0,
    warn_share: 0.0,
    block_unknown: false,
};

/// The reference.
pub static V2026_3_2: Rules = Rules {
    reading: Reading::Entries,
    pi: PiRelease::OLDEST,
    pruner: Pruner::EachFiring,
    prune_keys: PruneKeys::All,
    image_results: ImageResults::Skipped,
    touch: Touch::Any,
    eligible: Eligible::Caching,
    longest_ttl_ms: f64::MAX,
    history: History::Exact,
    history_lookup: HistoryLookup::Channel,
    result_limit: ResultLimit::Share { most: 400_000.0 },
    truncation: Truncation::Head { floor_has_suffix: true },
    rewrite: Rewrite::Losing,
    guard: Guard::Placeholders,
    server_clearing: false,
    legacy_images: LegacyImages::BeforeLastAnswer,
    estimate: Estimate::Units,
    usage_above_zero: false,
    reserve: Reserve::Configured,
    unknown_window_compacts: true,
    compaction: Compaction::AfterPrevious,
    safeguard: true,
    summary_chars: None,
    window_guard: FILE_ERA_GUARD,
    context_tokens: true,
    memory_flush: MemoryFlush::TotalsAndSize,
    recovery: Recovery { attempts: 3, truncation_restarts: false, resets_session: true },
    branching: Branching::LastEntry,
};

/// The version before it.
pub static V2026_2_19: Rules = Rules {
    pruner: Pruner::FailsToLoad,
    eligible: Eligible::Anthropic,
    truncation: Truncation::Head { floor_has_suffix: false },
    legacy_images: LegacyImages::Stay,
    reserve: Reserve::Floor,
    safeguard: false,
    memory_flush: MemoryFlush::StoredTotal,
    recovery: Recovery { attempts: 3, truncation_restarts: true, resets_session: true },
    ..V2026_3_2
};

/// The version with a runtime of its own.
pub static V2026_9: Rules = Rules {
    reading: Reading::Entries,
    pi: PiRelease::OLDEST,
    pruner: Pruner::Projections,
    prune_keys: PruneKeys::Few,
    image_results: ImageResults::Replaced,
    touch: Touch::SameModel,
    eligible: Eligible::Plugins,
    longest_ttl_ms: 9_007_199_254_740_991.0,
    history: History::Batches,
    history_lookup: HistoryLookup::Account,
    result_limit: ResultLimit::Stepped,
    truncation: Truncation::HeadAndTail,
    rewrite: Rewrite::Remapping,
    guard: Guard::Single,
    server_clearing: true,
    legacy_images: LegacyImages::BeforeLastTurns { kept: 3 },
    estimate: Estimate::Weighted,
    usage_above_zero: true,
    reserve: Reserve::Quarter,
    unknown_window_compacts: false,
    compaction: Compaction::FromFirstKept,
    safeguard: true,
    summary_chars: Some(16_000.0),
    window_guard: WindowGuardRule {
        block_below: 4000.0,
        warn_below: 8000.0,
        block_share: 0.1,
        warn_share: 0.2,
        block_unknown: true,
    },
    context_tokens: false,
    memory_flush: MemoryFlush::Plugin,
    recovery: Recovery { attempts: 3, truncation_restarts: false, resets_session: false },
    branching: Branching::LeafRows,
};

/// The runtime without a gateway: it compacts, and trims nothing.
pub static PI_0_55: Rules = Rules {
    rewrite: Rewrite::None,
    pruner: Pruner::None,
    history: History::None,
    guard: Guard::None,
    legacy_images: LegacyImages::Stay,
    reserve: Reserve::Runtime,
    safeguard: false,
    context_tokens: false,
    memory_flush: MemoryFlush::None,
    recovery: Recovery { attempts: u32::MAX, truncation_restarts: false, resets_session: false },
    ..V2026_3_2
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_reads_four_keys_of_the_pruner_and_two_of_compaction() {
        for key in ["mode", "ttl", "tools.allow", "tools.deny", "hardClear.enabled", "hardClear.placeholder"]
        {
            assert!(V2026_9.prune_keys.reads(key) && V2026_3_2.prune_keys.reads(key), "{key}");
        }
        for key in ["keepLastAssistants", "softTrimRatio", "hardClearRatio", "softTrim.maxChars"] {
            assert!(!V2026_9.prune_keys.reads(key) && V2026_3_2.prune_keys.reads(key), "{key}");
        }
        let read = |reserve: Reserve| {
            ["reserveTokens", "reserveTokensFloor", "keepRecentTokens"].map(|key| reserve.reads(key))
        };
        assert_eq!(read(Reserve::Quarter), [false, false, true]);
        assert_eq!(read(Reserve::Floor), [false, true, false]);
        assert_eq!(read(Reserve::Configured), [true; 3]);
    }

    #[test]
    fn only_two_versions_prune() {
        let all = [&PI_0_55, &V2026_2_19, &V2026_3_2, &V2026_9];
        assert_eq!(all.map(|rules| rules.pruner.is_active()), [false, false, true, true]);
    }
}
