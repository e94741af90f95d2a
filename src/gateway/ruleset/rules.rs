//! Every number and choice that differs between versions, as data. Rules that all versions share are code and not
//! here.
//!
//! Each field names its row of the tables (pruning 8, compaction 12), so a person can compare it with the text of the
//! rules.

use serde::{Deserialize, Deserializer, Serialize};

use super::pi_release::{PiChange, PiRelease};
use crate::units::{Chars, Millis};

/// The way in which a runtime turns a transcript into messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ReadMode {
    /// Each entry becomes a message: pi up to 0.85, and the gateways built on it.
    #[default]
    Entries,
    /// A projection applies edits and contains system messages: pi from 0.87 on (store-pi-1.5 C, D).
    Projected,
}

impl PiRelease {
    pub const fn reading(self) -> ReadMode {
        if self.has(PiChange::Projects) { ReadMode::Projected } else { ReadMode::Entries }
    }
}

/// For callers that know only the read mode: the oldest release that reads entries, the newest that projects them.
impl From<ReadMode> for PiRelease {
    fn from(reading: ReadMode) -> Self {
        match reading {
            ReadMode::Entries => Self::OLDEST,
            ReadMode::Projected => Self::NEWEST,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    pub read_mode: ReadMode,
    /// The release of pi whose reading, counting and compacting apply; the gateway's own rules override them.
    pub pi: PiRelease,
    /// Row "Pruner active at all".
    pub pruner: Pruner,
    /// Row "Config keys": the keys of `contextPruning` that are read.
    pub prune_keys: PruneKeys,
    /// Row "Size estimate": the size of a message for the pruner (releases R12–R14).
    pub prune_size: PruneSize,
    /// Row "Image results".
    pub image_results: ImageResults,
    /// Whether a tool result without a tool name makes the tool list fail, and pruning with it (releases R10).
    pub filter_needs_name: bool,
    /// The custom type of the marker that a run writes (releases R15).
    #[serde(deserialize_with = "leaked")]
    pub marker: &'static str,
    /// Row "Last touch".
    pub last_touch: LastTouch,
    /// Row "Eligibility".
    pub eligibility: Eligibility,
    /// Row "Duration".
    pub duration: DurationRule,
    /// Row "Turn limit".
    pub history_limit: HistoryLimitRule,
    /// Row "Limit lookup".
    pub history_lookup: HistoryLookup,
    /// Row "Single limit".
    pub result_limit: ResultLimit,
    /// Row "Truncation".
    pub truncation: Truncation,
    /// Row "Pairing repair" (compaction 6.8).
    pub pairing: PairingRule,
    /// The limit of all tool results together (releases R35–R38).
    pub aggregate: Aggregate,
    /// Row "Persisted rewrite".
    pub rewrite: Rewrite,
    /// Row "Context guard".
    pub guard: Guard,
    /// Whether the guard counts the details of a result (releases R44).
    pub guard_counts_details: bool,
    /// Whether a prompt can be checked again inside a tool loop (releases R43).
    pub mid_turn_check: bool,
    /// The check before a prompt is sent (releases R60–R62).
    pub preflight: Preflight,
    /// The check before a chat turn, its window, and what counts as the transcript's total (releases R67).
    pub chat_preflight: ChatPreflight,
    pub chat_window: ChatWindow,
    pub transcript_total: TranscriptTotal,
    /// Whether the check after the turn of an `openclaw agent` command counts all messages of the branch, those that were
    /// summarised too (releases R73).
    pub turn_end_counts_summarised: bool,
    /// How messages differ on sending from their entries (releases R74).
    pub sending: Sending,
    /// Whether the check before a chat turn leaves compaction to a provider that does it.
    pub server_threshold: bool,
    /// Row "Server-side clearing": whether the gateway makes a provider that can do so clear tool uses.
    pub server_clearing: bool,
    /// Row "Legacy images".
    pub legacy_images: LegacyImages,
    /// Rows "Token estimate" and "Size estimate".
    pub estimate: Estimate,
    /// Row "Usage validity": whether a usage must exceed 0 to anchor an estimate.
    pub usage_above_zero: bool,
    /// Row "Reserve".
    pub reserve: Reserve,
    /// Row "`shouldCompact`": whether an unknown window, or one of 0 or less, compacts at every call.
    pub unknown_window_compacts: bool,
    /// Rows "Range start" and "Cut point".
    pub compaction: Compaction,
    /// Row "Safeguard active?".
    pub safeguard: bool,
    /// Row "Summary size": the maximum chars of a stored summary, including the notice about the cut; `None` without
    /// a limit.
    pub summary_chars: Option<Chars>,
    /// The time limit of a compaction in seconds (releases R63); `None` without a known one.
    pub compaction_seconds: Option<u32>,
    /// Row "Window guard".
    pub window_guard: WindowGuardRule,
    /// Row "Window source".
    pub window_source: WindowRule,
    /// Row "Memory flush".
    pub memory_flush: MemoryFlush,
    /// Row "Workspace files".
    pub workspace_files: FileLimits,
    /// Whether a reset renames the old transcript to an archive (store F2).
    pub archives_at_reset: bool,
    /// Row "Recovery".
    pub recovery: Recovery,
    /// The active leaf, the parents of entries and the bounds of the context (sqlite F, G).
    pub branching: BranchRule,
    /// The release whose texts of refusals and rate limits apply (releases R90–R94).
    #[serde(deserialize_with = "leaked")]
    pub overflow_texts: &'static str,
}

/// Keeps a text for the life of the program: releases are read once.
fn leaked<'de, D: Deserializer<'de>>(text: D) -> Result<&'static str, D::Error> {
    Ok(String::deserialize(text)?.leak())
}

impl Rules {
    /// Whether the check before a prompt only records its result, so that a prompt above the budget is sent (releases
    /// R60).
    pub fn sends_above_budget(&self) -> bool {
        matches!(self.preflight, Preflight::Pressure(Pressure { is_diagnostic: true, .. }))
    }

    /// Whether a summary takes in the first 2000 chars of a tool result only: pi from 0.56.3 on, and the gateways' own
    /// runtime.
    pub fn summary_cuts_results(&self) -> bool {
        self.pi.has(PiChange::CutsResults) || !matches!(self.estimate, Estimate::Units)
    }

    /// Whether policies need text features and not only lengths: the weight of characters, the
    /// words at the end of a text, the mentions of media (pruning 8.3, 8.5, 8.7; releases R11–R14, R32, R51).
    pub fn needs_text_features(&self) -> bool {
        !matches!(self.truncation, Truncation::None | Truncation::Head { .. })
    }
}

/// Limits of the workspace files in a system prompt, in chars (compaction 11.9).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileLimits {
    /// The limit of one file.
    pub file: Chars,
    /// The limit of all files together.
    pub total: Chars,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Pruner {
    None,
    /// The pruner is configured, but the published build fails to load it.
    FailsToLoad,
    /// Each firing decides again; the calls between send everything.
    EachFiring,
    /// A pruned result stays pruned (pruning 8.2).
    Projections {
        /// Whether the transcript records it, so that it survives a restart of the gateway.
        stored: bool,
    },
}

impl Pruner {
    pub fn is_active(self) -> bool {
        matches!(self, Self::EachFiring | Self::Projections { .. })
    }
}

/// The keys of `contextPruning` that are read; the rest are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PruneKeys {
    /// All nine.
    All,
    /// Only `mode`, `ttl`, `tools` and `hardClear`.
    Few,
}

impl PruneKeys {
    /// Whether a key below `contextPruning` is read, such as `softTrim.maxChars`.
    pub fn reads(self, key: &str) -> bool {
        let top = key.split('.').next().unwrap_or(key);
        self == Self::All || ["mode", "ttl", "tools", "hardClear"].contains(&top)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ImageResults {
    /// The pruner skips them (pruning 5.6).
    Skipped,
    /// A line of text replaces each image, and the pruner treats the result like any other (pruning 8.1,
    /// releases R11).
    Replaced {
        /// Whether a text block without text counts as its JSON (releases R14).
        odd_texts: bool,
        /// Whether head and tail keep surrogate pairs whole.
        whole_pairs: bool,
    },
}

/// The size of a message for the pruner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PruneSize {
    pub weight: PruneWeight,
    /// Whether signatures of thinking and redacted thinking count (releases R13).
    pub signatures: bool,
    /// Whether malformed blocks of an answer count 0; otherwise counting fails (releases R14).
    pub accepts_malformed_answers: bool,
    /// Whether a text block without text counts as its JSON; otherwise counting fails (releases R14).
    pub accepts_malformed_texts: bool,
    /// Whether a note replaces the thinking of an answer that holds nothing else (releases R13).
    pub notes_omitted_thinking: bool,
}

/// The size of a character for the pruner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PruneWeight {
    /// 1 for each UTF-16 unit (pruning 5.4).
    Units,
    /// 4 for a character of the Chinese, Japanese and Korean blocks (releases R12).
    Blocks {
        /// Whether wide forms of letters and signs count 4 too.
        wide: bool,
    },
    /// A table decides (pruning 8.5).
    Table,
}

/// The way in which calls and results are paired before a prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairingRule {
    pub matching: ResultMatching,
    pub failed_calls: FailedCalls,
    /// Whether a result without a usable tool name takes that of its call.
    pub names_results: bool,
    /// Whether ids of results are trimmed and read from six keys, and a result without an id belongs to an only call.
    pub reads_loose_ids: bool,
    /// Whether an invented result is the word `aborted` where a model is called through the Responses API.
    pub short_for_responses: bool,
    pub missing_details: MissingDetails,
}

/// The result that a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ResultMatching {
    /// The first of its id before the next answer; an id is used once.
    BeforeAnswer,
    /// The first of its id before the next answer with calls; an id is used once.
    BeforeCalls,
    /// As before; a result that comes even later moves up, and a recorded result replaces an invented one.
    Anywhere,
    /// Every use of an id has its own result.
    EachUse,
}

/// The treatment of the calls of an answer that failed or was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum FailedCalls {
    /// They are paired like all others.
    Paired,
    /// They need no result, and recorded ones are orphans.
    Ignored,
    /// Their results are dropped.
    WithoutResults {
        /// Whether dropped results are enough to make the repaired list replace the recorded one.
        replaces: bool,
    },
    /// The whole answer is dropped, with its results.
    Dropped,
}

/// The `details` of an invented result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingDetails {
    None,
    Mark,
    MarkAndReason,
}

/// The syntax of `ttl`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DurationRule {
    /// Whether several numbers may follow each other, each with its unit, such as `1h30m` (releases R10).
    pub composite: bool,
    /// The longest duration; a longer one is an error.
    pub longest_ms: Millis,
}

/// The cache-ttl marker that is the last touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LastTouch {
    /// The newest marker of any model.
    Any,
    /// The newest marker of the run's provider and model.
    SameModel,
}

/// The models for which pruning is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Eligibility {
    /// `anthropic`, and `openrouter` with `anthropic/`.
    Anthropic,
    /// The list of pruning 3.6.
    Caching,
    /// The provider's plugin decides; a provider without one is not eligible (releases R17).
    Plugins,
    /// The provider's plugin decides, then a list by provider and API (releases R17).
    PluginsOrApi,
    /// Like [`Self::PluginsOrApi`], but with the plugins of 2026.9 (pruning 8, row "Eligibility").
    NewestPlugins,
}

/// The cut that a turn limit makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HistoryLimitRule {
    None,
    /// Cuts to exactly the limit and drops leading summaries (pruning 2.1).
    Exact,
    /// Cuts to exactly the limit and keeps the messages before the conversation (releases R80).
    ExactWithPrelude,
    /// Cuts in batches of half the limit and keeps the messages before the conversation (pruning 8.4).
    Batches,
}

/// The keys that can hold a turn limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HistoryLookup {
    /// The person's key, then the channel's; only for the chat kind `dm` (releases R81).
    Dm,
    /// Like [`Self::Dm`], but also for `direct`.
    Direct,
    /// Like [`Self::Direct`], plus the channel's key for groups (pruning 2.3).
    Channel,
    /// Like [`Self::Channel`], but with normalised channel names.
    NamedChannel,
    /// The same three keys of the account first, if the session key names one.
    Account,
}

/// The maximum chars of one tool result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ResultLimit {
    None,
    /// 0.3 of the window, at most `most` (pruning 6.2).
    Share {
        most: Chars,
        /// Whether `contextLimits.toolResultMaxChars` replaces the maximum if set (releases R30).
        configured: bool,
    },
    /// 0.3 of the window, at most a cap that depends on the window's size (pruning 8.3).
    Stepped {
        /// Whether `contextLimits.toolResultMaxChars` replaces the cap if set (releases R30).
        configured: bool,
    },
}

impl ResultLimit {
    /// Whether `contextLimits.toolResultMaxChars` is read.
    pub fn is_configured(self) -> bool {
        matches!(self, Self::Share { configured: true, .. } | Self::Stepped { configured: true })
    }
}

/// How messages differ on sending from their entries (releases R74). Later forms include times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Sending {
    AsStored,
    /// A failed answer is joined with the answer after it.
    FailedAnswers,
    /// The same; user messages have their time before them, and a request that does not think leaves thinking out.
    Times,
    /// Times and thinking, and a line about the run. A failed answer without a text is left out.
    RunLine,
}

impl Sending {
    pub fn has_times(self) -> bool {
        self >= Self::Times
    }

    pub fn joins_failed_answers(self) -> bool {
        matches!(self, Self::FailedAnswers | Self::Times)
    }
}

/// The cut of an oversized text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Truncation {
    None,
    /// Keeps the head. Each block's share has a minimum of 2000 chars (pruning 6.4, 6.6; releases R31).
    Head {
        /// Whether the length of the suffix is added to that minimum: 2217 instead of 2000.
        floor_has_suffix: bool,
    },
    /// Keeps the head, and the tail if it looks important, in UTF-16 units (releases R32, R34).
    Ends(HeadTailCut),
    /// Like [`Self::Ends`], but by weighted characters (pruning 8.3).
    HeadAndTail,
}

/// Options of a cut that keeps head and tail without weights (releases R32, R34).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadTailCut {
    pub notice: Notice,
    /// Whether the minimum shrinks if the budget has no room for it.
    pub bounded: bool,
    /// Whether blocks of type `toolResult` count as texts too.
    pub result_blocks: bool,
    pub whole_pairs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// Says that the text is partial (pruning 6.3).
    Partial,
    /// Gives the number of missing characters.
    Count,
    /// Gives the number, and advises to request less.
    CountAndAdvice,
}

/// The limit of all tool results together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Aggregate {
    None,
    /// The limit of one result, only while recovering from an overflow; cuts the newest first (releases R35).
    Newest {
        /// Whether a budget is at least as long as the shortest notice.
        floor_is_notice: bool,
    },
    /// Like [`Self::Newest`], but cuts the oldest first, and at every prompt four times that limit applies
    /// (releases R36).
    Oldest,
    /// Like [`Self::Oldest`], then empties results that still do not fit; a result that was sent keeps its bytes
    /// (releases R37).
    Emptied,
    /// Four times the limit of one result, or half the window; a note replaces results that still do not fit
    /// (releases R38).
    Elided,
    /// Like [`Self::Elided`], but by weighted characters (pruning 8.3).
    Weighted,
}

/// The check before a prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Preflight {
    None,
    /// The runtime's estimate plus a fifth (releases R60).
    Estimate {
        /// Whether the reserve leaves room for a prompt (releases R61).
        leaves_room: bool,
    },
    /// An approximation of a tokenizer plus a fifth (releases R62).
    Pressure(Pressure),
}

/// The total that decides before a chat turn whether the session is compacted first (releases R67).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChatPreflight {
    None,
    /// The transcript's, and only while the stored total is missing or marked stale.
    IfStale,
    /// The stored total; the transcript's too while the stored one is missing or marked stale.
    StoredTotal,
    /// The larger of the stored total and the transcript's, each with the last answer.
    LargerTotal,
    /// Like [`Self::LargerTotal`], compared with the window minus the reserve. A stored total counts only if it is marked
    /// fresh and of version 1.
    WithinReserve,
}

/// The window of the check before a chat turn (releases R67).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChatWindow {
    /// That of the memory flush.
    OfFlush,
    /// The configured `contextTokens`, even if it is above the model's window.
    ContextTokens,
    /// That of a run.
    OfRun,
}

/// The total of a transcript before a chat turn (releases R67).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TranscriptTotal {
    /// An estimate of all messages in the file, on any branch.
    AllMessages,
    /// An estimate of all messages on the path, also those before a compaction.
    AllOfPath,
    /// The last usage in the file, or an estimate of the newest messages; at least a token per four bytes of the file.
    UsageOrFile,
    /// The last usage in the file and a token per four bytes after it, or an estimate of the newest messages if that is
    /// larger.
    UsageAndTail {
        /// Whether the estimate and the end of the usage's own line count even if nothing follows it.
        counts_line_end: bool,
    },
    /// The last usage on the path since a compaction or reset and estimates of the messages after it, or an estimate of
    /// all messages since a reset.
    UsageOfPath,
}

impl TranscriptTotal {
    /// Whether it takes no count of a provider.
    pub fn is_estimate(self) -> bool {
        matches!(self, Self::AllMessages | Self::AllOfPath)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pressure {
    /// Whether the tokens of a tool result are at least half its UTF-16 units.
    pub results_by_units: bool,
    /// Whether shell commands and summaries count as the texts that are sent for them; otherwise they count 0.
    pub as_sent: bool,
    /// Whether a provider's count replaces the estimate of everything before the answer that records it.
    pub provider_count: bool,
    /// Whether the tools count too, as the JSON of names, descriptions and parameters.
    pub counts_tools: bool,
    /// Whether the result is only recorded: the prompt is sent, whatever it is (releases R60).
    pub is_diagnostic: bool,
    /// Whether a prompt that is still too large after its compaction is refused. Run at 2026.7.1; earlier releases were
    /// not run, and compact again.
    pub refuses_compacted: bool,
}

/// The rewriting of a stored session with oversized results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rewrite {
    None,
    /// Appends the branch again without labels and branch summaries, and a compaction keeps an old id (pruning 6.11,
    /// 6.12).
    Lossy,
    /// Every reference points to the copies (pruning 8.6).
    Remapping,
}

/// The guard that limits tool results at each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Guard {
    None,
    /// Limits each result, then puts placeholders for the oldest (pruning 6.30).
    Placeholders {
        /// Whether a call that is still too large ends (releases R41).
        stops: bool,
    },
    /// Limits each result, then shortens the newest or puts placeholders for them; ends a call that is still too
    /// large (releases R42).
    NewestFirst,
    /// Limits each result; ends a call that is still too large (releases R43).
    SingleThenStop,
    /// Limits each result by weighted characters; images that fit stay (pruning 8.7).
    Single,
}

/// The handling of images that the model has already seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum LegacyImages {
    Stay,
    /// Removed before the last answer (pruning 1.6).
    BeforeLastAnswer {
        /// Whether images of tool results are removed too, and not only those of users (releases R50).
        results: bool,
    },
    /// Removed from users and results before the last answered turns.
    BeforeLastTurns {
        turns: KeptTurns,
        /// Whether media references in texts are removed too (releases R51).
        references: bool,
    },
}

/// The turns that keep their images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptTurns {
    pub count: usize,
    /// Whether the last turn counts as soon as it is answered; otherwise it counts when the next one begins.
    pub open: bool,
}

/// The token estimate of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Estimate {
    /// 1 for each UTF-16 unit, four to a token.
    Units,
    /// Like [`Self::Units`], but a call without arguments also counts a word for them (releases R20, R21).
    OwnRuntime {
        /// Whether images of users count like all images.
        user_images: bool,
        /// Whether a provider's count of the whole context replaces its usage.
        context_usage: bool,
    },
    /// CJK characters count more (pruning 8.5).
    Weighted {
        /// Whether the line ends between the texts of a message count, and the sender that a user message names.
        counts_envelope: bool,
    },
}

/// The part of the window that stays free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reserve {
    /// The setting of the runtime.
    Runtime,
    /// [`Self::Runtime`], at least `reserveTokensFloor`.
    Floor,
    /// `reserveTokens` or the runtime's setting, at least `reserveTokensFloor` (compaction 2.2).
    Configured,
    /// Like [`Self::Configured`], but the floor leaves room for a prompt (releases R61).
    CappedFloor,
    /// Like [`Self::Configured`], but the whole reserve leaves room for a prompt.
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

/// The messages that a compaction considers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compaction {
    /// Messages after the previous compaction; the part that it kept is lost (compaction 3.2–3.8).
    AfterPrevious,
    /// Messages from the first entry that the previous compaction kept.
    FromFirstKept,
    /// Like [`Self::FromFirstKept`], but entry by entry as in pi 0.63.1 to 0.86; a branch that ends in a compaction is not
    /// compacted.
    EntriesFromKept,
    /// The projected messages, including those that the previous compaction kept (store-pi-1.5 H).
    Projected,
}

/// The window that counts among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum WindowRule {
    /// The first that exists: the model's, the configured one, `agents.defaults.contextTokens` (releases R72).
    First,
    /// The configured one, else the model's; `agents.defaults.contextTokens` can lower it (pruning 4.5).
    Lowest {
        names: NameMatching,
        /// Whether the `contextTokens` of a model overrides its `contextWindow`.
        model_tokens: bool,
        /// Whether a configured id may begin with the name of its provider.
        prefixed: bool,
    },
    /// The configured one, else the model's; nothing lowers it (pruning 8).
    OfModel {
        /// Whether the lower of a configured model's `contextTokens` and `contextWindow` counts; otherwise its
        /// `contextTokens`.
        lower: bool,
    },
}

impl WindowRule {
    pub fn reads_context_tokens(self) -> bool {
        !matches!(self, Self::OfModel { .. })
    }
}

/// The comparison of provider names with those of the configuration (releases R72).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameMatching {
    /// Exactly as written.
    Exact,
    /// Ignores case and resolves the gateway's own aliases.
    Aliases,
    /// Ignores case; only plugins define aliases.
    AnyCase,
}

/// The limits below which a window is too small.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowGuardRule {
    /// Tokens; a smaller window is refused.
    pub block_below: f64,
    /// Tokens; a smaller window causes a warning.
    pub warn_below: f64,
    /// Share of the reference window that raises `block_below`.
    pub block_share: f64,
    /// Share of the reference window that raises `warn_below`.
    pub warn_share: f64,
    pub block_unknown: bool,
}

/// The condition for saving notes before a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum MemoryFlush {
    None,
    /// Only the stored total decides.
    StoredTotal {
        /// Whether a total that may be out of date counts 0.
        fresh: bool,
    },
    /// The stored total, the transcript's own total and its size decide (compaction 9).
    TotalsAndSize,
    /// The plugin decides; its floor is at most a quarter of the window.
    Plugin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// The maximum number of compactions.
    pub attempts: u32,
    /// Whether cutting tool results resets the count of attempts.
    pub truncation_restarts: bool,
    /// Whether a failure replaces the session with a new one.
    pub resets_session: bool,
    pub in_run: RuntimeRecovery,
}

/// The compactions that the runtime itself makes after refusals of one run (releases R68).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeRecovery {
    /// The maximum; 0 if the runtime leaves them to the gateway.
    pub compactions: u32,
    /// Whether the gateway counts those that succeeded; before 3.7 it counts those that did not.
    pub counts_completed: bool,
}

/// The way to find the active branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum BranchRule {
    /// The last entry is the leaf, parents are those written, and only a compaction bounds a context (store K).
    #[default]
    LastEntry,
    /// Leaf rows and side rows count, parents are corrected, and a `reset` bounds a context as a compaction does
    /// (sqlite F, G2).
    LeafRows,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn the_newest_reads_four_keys_of_the_pruner_and_two_of_compaction() {
        let [newest, reference] = [Ruleset::V2026_9_6, Ruleset::V2026_3_2].map(|it| it.rules().prune_keys);
        for key in ["mode", "ttl", "tools.allow", "tools.deny", "hardClear.enabled", "hardClear.placeholder"]
        {
            assert!(newest.reads(key) && reference.reads(key), "{key}");
        }
        for key in ["keepLastAssistants", "softTrimRatio", "hardClearRatio", "softTrim.maxChars"] {
            assert!(!newest.reads(key) && reference.reads(key), "{key}");
        }
        let read = |reserve: Reserve| {
            ["reserveTokens", "reserveTokensFloor", "keepRecentTokens"].map(|key| reserve.reads(key))
        };
        assert_eq!(read(Reserve::Quarter), [false, false, true]);
        assert_eq!(read(Reserve::Floor), [false, true, false]);
        assert_eq!(read(Reserve::Configured), [true; 3]);
    }
}
