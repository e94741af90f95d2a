//! Every number and choice that differs between versions, as data. A rule that is the same in all of them is
//! not here. Each field names its row of the tables (pruning 8, compaction 12).

use super::pi::PiRelease;

/// How a runtime reads a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReadMode {
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
    pub read_mode: ReadMode,
    /// The release of pi whose way of reading, weighing and compacting holds; a gateway's own rules override it.
    pub pi: PiRelease,
    /// Row "Pruner active at all".
    pub pruner: Pruner,
    /// Row "Config keys": which keys of `contextPruning` are read.
    pub prune_keys: PruneKeys,
    /// Row "Size estimate": what a message weighs to the pruner (releases R12–R14).
    pub prune_size: PruneSize,
    /// Row "Image results": what pruning does with a result that holds images.
    pub image_results: ImageResults,
    /// A tool result without a name of its tool makes the list of tools fail, and pruning with it (releases R10).
    pub filter_needs_name: bool,
    /// The custom type of the marker that a run leaves (releases R15).
    pub marker: &'static str,
    /// Row "Last touch": which marker counts.
    pub last_touch: LastTouch,
    /// Row "Eligibility": for which models pruning is installed.
    pub eligibility: Eligibility,
    /// Row "Duration": how the `ttl` is read.
    pub duration: DurationRule,
    /// Row "Turn limit".
    pub history_limit: HistoryLimitRule,
    /// Row "Limit lookup".
    pub history_lookup: HistoryLookup,
    /// Row "Single limit": what one tool result may have.
    pub result_limit: ResultLimit,
    /// Row "Truncation": how a text is cut.
    pub truncation: Truncation,
    /// What all tool results may have together (releases R35–R38).
    pub aggregate: Aggregate,
    /// Row "Persisted rewrite": how a session with oversized results is rewritten.
    pub rewrite: Rewrite,
    /// Row "Context guard".
    pub guard: Guard,
    /// The guard counts the details of a result (releases R44).
    pub guard_counts_details: bool,
    /// A prompt can be checked again inside a tool loop (releases R43).
    pub mid_turn_check: bool,
    /// What is checked before a prompt is sent (releases R60–R62).
    pub preflight: Preflight,
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
    /// A compaction that takes longer is given up (releases R63), seconds; none where nothing ends it.
    pub compaction_seconds: Option<u32>,
    /// Row "Window guard".
    pub window_guard: WindowGuardRule,
    /// Row "Window source": which of several windows counts.
    pub window_source: WindowRule,
    /// Row "Memory flush".
    pub memory_flush: MemoryFlush,
    /// Row "Recovery".
    pub recovery: Recovery,
    /// Where a session stands, how its entries hang together, and what bounds its context (sqlite F, G).
    pub branching: Branching,
}

impl Rules {
    /// Whether steps ask for the letters of texts and not only for their lengths: what a character weighs, which words end
    /// a text, where it speaks of media (pruning 8.3, 8.5, 8.7; releases R11–R14, R32, R51).
    pub fn needs_text_features(&self) -> bool {
        !matches!(self.truncation, Truncation::None | Truncation::Head { .. })
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
    Projections {
        /// The transcript keeps it, so that it outlives the gateway's process.
        stored: bool,
    },
}

impl Pruner {
    /// Whether anything is ever pruned.
    pub fn is_active(self) -> bool {
        matches!(self, Self::EachFiring | Self::Projections { .. })
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
    /// Each image becomes a line of text, and the result is one like others (pruning 8.1, releases R11).
    Replaced {
        /// Text blocks without a text count as their JSON (releases R14).
        odd_texts: bool,
        /// Head and tail split no surrogate pair.
        whole_pairs: bool,
    },
}

/// What a message weighs to the pruner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneSize {
    /// What a character weighs.
    pub weight: PruneWeight,
    /// Thinking counts with its signature, and redacted thinking counts (releases R13).
    pub signatures: bool,
    /// Blocks of an answer that are none count nothing; else counting fails (releases R14).
    pub accepts_malformed_answers: bool,
    /// Text blocks without a text count as their JSON; else counting fails (releases R14).
    pub accepts_malformed_texts: bool,
}

/// What a character weighs to the pruner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneWeight {
    /// One for each unit (pruning 5.4).
    Units,
    /// Four for a character of the blocks of Chinese, Japanese and Korean (releases R12).
    Blocks {
        /// Wide forms of letters and signs are among them.
        wide: bool,
    },
    /// By a table (pruning 8.5).
    Table,
}

/// How the text of a `ttl` is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DurationRule {
    /// Several numbers with a unit each, such as `1h30m`; else one (releases R10).
    pub composite: bool,
    /// Longer ones, in ms, are errors.
    pub longest_ms: f64,
}

/// Which cache-ttl marker is the last touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastTouch {
    /// The last one, of any model.
    Any,
    /// The last one of the provider and model of the run.
    SameModel,
}

/// For which models pruning is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligibility {
    /// `anthropic`, and `openrouter` with `anthropic/`.
    Anthropic,
    /// The list of pruning 3.6.
    Caching,
    /// What plugins say; a provider without one is not (releases R17).
    Plugins,
    /// What plugins say, then a list by provider and interface (releases R17).
    PluginsOrApi,
    /// The same with the plugins of 2026.9 (pruning 8, row "Eligibility").
    NewestPlugins,
}

/// How a turn limit cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryLimitRule {
    /// There is no such limit.
    None,
    /// To exactly the limit; leading summaries go (pruning 2.1).
    Exact,
    /// To exactly the limit; what precedes the conversation stays (releases R80).
    ExactWithPrelude,
    /// In batches of half the limit; what precedes the conversation stays (pruning 8.4).
    Batches,
}

/// Where a turn limit is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryLookup {
    /// The person, the channel for persons; only under the kind `dm` (releases R81).
    Dm,
    /// The same under `direct` too.
    Direct,
    /// The person, the channel for persons, the channel for groups (pruning 2.3).
    Channel,
    /// The same, with the names of channels normalised.
    NamedChannel,
    /// The same three of the account first, where the key names one.
    Account,
}

/// Chars that one tool result may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ResultLimit {
    /// As many as it has.
    None,
    /// 0.3 of the window, and never more than this (pruning 6.2).
    Share {
        /// Chars.
        most: f64,
        /// `contextLimits.toolResultMaxChars` stands for it where that is set (releases R30).
        configured: bool,
    },
    /// 0.3 of the window, and never more than a cap that the window's size sets (pruning 8.3).
    Stepped {
        /// `contextLimits.toolResultMaxChars` stands for the cap where that is set (releases R30).
        configured: bool,
    },
}

impl ResultLimit {
    /// Whether `contextLimits.toolResultMaxChars` is read.
    pub fn is_configured(self) -> bool {
        matches!(self, Self::Share { configured: true, .. } | Self::Stepped { configured: true })
    }
}

/// How an oversized text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// It is not.
    None,
    /// Its head stays. A block's share is never below the least to keep, with or without the length of
    /// the suffix on top (pruning 6.4, 6.6; releases R31).
    Head {
        /// The suffix is added to the least: 2217 instead of 2000.
        floor_has_suffix: bool,
    },
    /// Head, and tail where that looks important, in plain units (releases R32, R34).
    Ends(Ends),
    /// The same by what characters weigh (pruning 8.3).
    HeadAndTail,
}

/// How head and tail of a text are kept before characters had weights (releases R32, R34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// What follows a cut text.
    pub notice: Notice,
    /// The least to keep gives way where the budget has no room for it.
    pub bounded: bool,
    /// Blocks of type `toolResult` count as texts too.
    pub result_blocks: bool,
    /// No surrogate pair is split.
    pub whole_pairs: bool,
}

/// What follows a text that was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// That it is a partial view (pruning 6.3).
    Partial,
    /// How many characters are missing.
    Count,
    /// That, and to ask for less.
    CountAndAdvice,
}

/// What all tool results may have together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// As much as they have.
    None,
    /// What one may have, where an overflow is recovered from; the newest give way first (releases R35).
    Newest {
        /// A budget is never below the shortest notice.
        floor_is_notice: bool,
    },
    /// The same, the oldest first, and four times as much for every prompt (releases R36).
    Oldest,
    /// That, and what is still too much is emptied; what was sent once keeps its bytes (releases R37).
    Emptied,
    /// Four times what one may have, or half the window; what is still too much becomes a note (releases R38).
    Elided,
    /// That by what characters weigh (pruning 8.3).
    Weighted,
}

/// What is checked before a prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preflight {
    /// Nothing.
    None,
    /// The runtime's estimate with a fifth on top (releases R60).
    Estimate {
        /// The reserve leaves room for a prompt (releases R61).
        leaves_room: bool,
    },
    /// What a tokenizer would make of it, with a fifth on top (releases R62).
    Pressure(Pressure),
}

/// How that is guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pressure {
    /// Tool results weigh at least half their units.
    pub results_by_units: bool,
    /// Shell commands and summaries count with the texts that they are sent with; else they count nothing.
    pub as_sent: bool,
    /// What a provider counted stands for everything before the answer that records it.
    pub provider_count: bool,
}

/// How a session with oversized results is rewritten on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// It is not.
    None,
    /// The branch is appended again without labels and branch summaries, and a compaction keeps naming an old id
    /// (pruning 6.11, 6.12).
    Lossy,
    /// Every reference follows the copies (pruning 8.6).
    Remapping,
}

/// What watches over tool results at each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Nothing.
    None,
    /// A limit for each, then placeholders for the oldest (pruning 6.30).
    Placeholders {
        /// A call that is still too large ends (releases R41).
        stops: bool,
    },
    /// A limit for each, then shorter texts and placeholders for the newest; a call that is still too large ends
    /// (releases R42).
    NewestFirst,
    /// A limit for each; a call that is still too large ends (releases R43).
    SingleThenStop,
    /// A limit for each, by what characters weigh; images that fit stay (pruning 8.7).
    Single,
}

/// What becomes of images the model has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegacyImages {
    /// They stay.
    Stay,
    /// Those before the last answer go (pruning 1.6).
    BeforeLastAnswer {
        /// Those of tool results too, and not only of users (releases R50).
        results: bool,
    },
    /// Those of users and results before the last turns that were answered go.
    BeforeLastTurns {
        /// Those that stay as they are.
        turns: KeptTurns,
        /// References to media in texts go too (releases R51).
        references: bool,
    },
}

/// Turns whose images stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptTurns {
    /// How many of the last.
    pub count: usize,
    /// The last turn is one of them as soon as it is answered; else only when the next one begins.
    pub open: bool,
}

/// What a character weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// One each, four to a token.
    Units,
    /// The same; images of users count as others do, and a call without arguments counts a word for them (releases
    /// R20, R21).
    OwnRuntime {
        /// Images of users count as others do.
        user_images: bool,
        /// A count that a provider's answer holds for the whole context stands for its usage.
        context_usage: bool,
    },
    /// More for CJK (pruning 8.5).
    Weighted {
        /// Texts of a message count with a line end between two, and a user message with the sender that it names.
        counts_envelope: bool,
    },
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
    /// The same; the floor leaves room for a prompt (releases R61).
    CappedFloor,
    /// The same; the whole reserve does.
    Capped,
    /// At least 20000, but leaves room for a prompt.
    CappedAlone,
    /// At least 20000, but at most a quarter of the window.
    Quarter,
}

impl Reserve {
    /// Whether a key below `compaction` is read.
    pub fn reads(self, key: &str) -> bool {
        let in_files = matches!(self, Self::Configured | Self::CappedFloor | Self::Capped);
        match key {
            "reserveTokens" => in_files,
            "reserveTokensFloor" => in_files || self == Self::Floor,
            "keepRecentTokens" => in_files || matches!(self, Self::CappedAlone | Self::Quarter),
            "enabled" => matches!(self, Self::CappedAlone | Self::Quarter),
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

/// Which of several windows counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowRule {
    /// The first that is there: the model's own, the configured one, `agents.defaults.contextTokens` (releases R72).
    First,
    /// The configured one, else the model's own, lowered by `agents.defaults.contextTokens` (pruning 4.5).
    Lowest {
        /// How names of providers are compared.
        names: NameMatching,
        /// `contextTokens` of a model goes before its `contextWindow`.
        model_tokens: bool,
        /// A configured id may have the name of its provider before it.
        prefixed: bool,
    },
    /// The same, and nothing lowers it (pruning 8).
    OfModel {
        /// The lower of the two that a configured model has; else its `contextTokens`.
        lower: bool,
    },
}

impl WindowRule {
    /// Whether `agents.defaults.contextTokens` is read.
    pub fn reads_context_tokens(self) -> bool {
        !matches!(self, Self::OfModel { .. })
    }
}

/// How names of providers are compared with those of the configuration (releases R72).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameMatching {
    /// As they are written.
    Exact,
    /// Without regard to case, and by the aliases that the gateway itself knows.
    Aliases,
    /// Without regard to case; aliases are the plug-ins'.
    AnyCase,
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
    StoredTotal {
        /// One that is not known to be up to date counts nothing.
        fresh: bool,
    },
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
