//! The rules of every range of gateway releases (releases R1, R2). Each is written as its difference from the
//! neighbour on the side of the reference 2026.3.2, so one entry shows what one release changed.

use super::pi_release::PiRelease;
use super::rules::{
    Aggregate, BranchRule, ChatPreflight, ChatWindow, Compaction, DurationRule, Eligibility, Estimate,
    FailedCalls, FileLimits, Guard, HeadTailCut, HistoryLimitRule, HistoryLookup, ImageResults, KeptTurns,
    LastTouch, LegacyImages, MemoryFlush, MissingDetails, NameMatching, Notice, PairingRule, Preflight,
    Pressure, PruneKeys, PruneSize, PruneWeight, Pruner, ReadMode, Recovery, Reserve, ResultLimit,
    ResultMatching, Rewrite, Rules, RuntimeRecovery, Sending, TranscriptTotal, Truncation, WindowGuardRule,
    WindowRule,
};
use crate::units::{Chars, Millis};

pub(super) static V2026_3_2: Rules = Rules {
    read_mode: ReadMode::Entries,
    pi: PiRelease::OLDEST,
    pruner: Pruner::EachFiring,
    prune_keys: PruneKeys::All,
    prune_size: PruneSize {
        weight: PruneWeight::Units,
        signatures: false,
        accepts_malformed_answers: false,
        accepts_malformed_texts: false,
        notes_omitted_thinking: false,
    },
    image_results: ImageResults::Skipped,
    filter_needs_name: false,
    marker: "openclaw.cache-ttl",
    last_touch: LastTouch::Any,
    eligibility: Eligibility::Caching,
    duration: DurationRule { composite: true, longest_ms: Millis(f64::MAX) },
    history_limit: HistoryLimitRule::Exact,
    history_lookup: HistoryLookup::Channel,
    result_limit: ResultLimit::Share { most: Chars(400_000.0), configured: false },
    truncation: Truncation::Head { floor_has_suffix: true },
    pairing: REFERENCE_PAIRING,
    aggregate: Aggregate::None,
    rewrite: Rewrite::Lossy,
    guard: Guard::Placeholders { stops: false },
    guard_counts_details: true,
    mid_turn_check: false,
    preflight: Preflight::None,
    chat_preflight: ChatPreflight::None,
    turn_end_counts_summarised: false,
    sending: Sending::AsStored,
    chat_window: ChatWindow::OfFlush,
    transcript_total: TranscriptTotal::AllMessages,
    server_threshold: false,
    server_clearing: false,
    legacy_images: LegacyImages::BeforeLastAnswer { results: false },
    estimate: Estimate::Units,
    usage_above_zero: false,
    reserve: Reserve::Configured,
    unknown_window_compacts: true,
    compaction: Compaction::AfterPrevious,
    safeguard: true,
    summary_chars: None,
    compaction_seconds: Some(300),
    window_guard: WindowGuardRule {
        block_below: 16_000.0,
        warn_below: 32_000.0,
        block_share: 0.0,
        warn_share: 0.0,
        block_unknown: false,
    },
    window_source: WindowRule::Lowest { names: NameMatching::Exact, model_tokens: false, prefixed: false },
    memory_flush: MemoryFlush::TotalsAndSize,
    workspace_files: FileLimits { file: Chars(20_000.0), total: Chars(150_000.0) },
    archives_at_reset: false,
    recovery: Recovery {
        attempts: 3,
        truncation_restarts: false,
        resets_session: true,
        in_run: RuntimeRecovery { compactions: u32::MAX, counts_completed: false },
    },
    branching: BranchRule::LastEntry,
    overflow_texts: "2026.2.25",
};

/// The pairing of 2026.3.2. The summariser uses it in all releases.
pub(crate) const REFERENCE_PAIRING: PairingRule = PairingRule {
    matching: ResultMatching::BeforeAnswer,
    failed_calls: FailedCalls::Ignored,
    names_results: true,
    reads_loose_ids: false,
    short_for_responses: false,
    missing_details: MissingDetails::None,
};

// Older than the reference, newest first.

/// No question tells this release from the reference.
pub(super) static V2026_3_1: Rules = V2026_3_2;

pub(super) static V2026_2_26: Rules = Rules {
    pairing: PairingRule { names_results: false, ..REFERENCE_PAIRING },
    memory_flush: MemoryFlush::StoredTotal { fresh: true },
    ..V2026_3_1
};

pub(super) static V2026_2_25: Rules = Rules { legacy_images: LegacyImages::Stay, ..V2026_2_26 };

pub(super) static V2026_2_23: Rules = Rules { overflow_texts: "2026.2.23", ..V2026_2_25 };

pub(super) static V2026_2_22: Rules = Rules {
    eligibility: Eligibility::Anthropic,
    duration: DurationRule { composite: false, longest_ms: Millis(f64::MAX) },
    overflow_texts: "2026.2.12",
    ..V2026_2_23
};

pub(super) static V2026_2_21: Rules =
    Rules { truncation: Truncation::Head { floor_has_suffix: false }, ..V2026_2_22 };

pub(super) static V2026_2_17: Rules = Rules {
    pruner: Pruner::FailsToLoad,
    reserve: Reserve::Floor,
    safeguard: false,
    recovery: Recovery { truncation_restarts: true, ..V2026_2_21.recovery },
    ..V2026_2_21
};

pub(super) static V2026_2_12: Rules = Rules {
    filter_needs_name: true,
    history_lookup: HistoryLookup::Direct,
    guard: Guard::None,
    compaction_seconds: None,
    memory_flush: MemoryFlush::StoredTotal { fresh: false },
    ..V2026_2_17
};

pub(super) static V2026_2_9: Rules = Rules { overflow_texts: "2026.2.9", ..V2026_2_12 };

pub(super) static V2026_2_6: Rules = Rules {
    history_lookup: HistoryLookup::Dm,
    result_limit: ResultLimit::None,
    truncation: Truncation::None,
    rewrite: Rewrite::None,
    recovery: Recovery { truncation_restarts: false, ..V2026_2_9.recovery },
    overflow_texts: "2026.1.30",
    ..V2026_2_9
};

pub(super) static V2026_2_2: Rules = Rules {
    pairing: PairingRule { failed_calls: FailedCalls::Paired, ..V2026_2_6.pairing },
    recovery: Recovery { attempts: 1, ..V2026_2_6.recovery },
    ..V2026_2_6
};

pub(super) static V2026_2_1: Rules = Rules { pruner: Pruner::EachFiring, safeguard: true, ..V2026_2_2 };

pub(super) static V2026_1_30: Rules = Rules { window_source: WindowRule::First, ..V2026_2_1 };

pub(super) static V2026_1_29: Rules = Rules { overflow_texts: "2026.1.24", ..V2026_1_30 };

pub(super) static V2026_1_24: Rules = Rules { marker: "clawdbot.cache-ttl", ..V2026_1_29 };

// Newer than the reference, oldest first.

pub(super) static V2026_3_7: Rules = Rules {
    prune_size: PruneSize { accepts_malformed_answers: true, ..V2026_3_2.prune_size },
    truncation: Truncation::Ends(PARTIAL),
    recovery: Recovery {
        in_run: RuntimeRecovery { compactions: u32::MAX, counts_completed: true },
        ..V2026_3_2.recovery
    },
    overflow_texts: "2026.3.7",
    ..V2026_3_2
};

const PARTIAL: HeadTailCut =
    HeadTailCut { notice: Notice::Partial, bounded: false, result_blocks: false, whole_pairs: false };

pub(super) static V2026_3_8: Rules = Rules {
    pi: PiRelease([0, 57, 1]),
    recovery: Recovery {
        in_run: RuntimeRecovery { compactions: 1, counts_completed: true },
        ..V2026_3_7.recovery
    },
    overflow_texts: "2026.3.8",
    ..V2026_3_7
};

pub(super) static V2026_3_11: Rules = Rules {
    overflow_texts: "2026.3.11",
    archives_at_reset: true,
    image_results: ImageResults::Replaced { odd_texts: false, whole_pairs: false },
    legacy_images: LegacyImages::BeforeLastAnswer { results: true },
    ..V2026_3_8
};

pub(super) static V2026_3_22: Rules = Rules {
    pi: PiRelease([0, 61, 1]),
    eligibility: Eligibility::Plugins,
    pairing: PairingRule {
        failed_calls: FailedCalls::WithoutResults { replaces: false },
        ..REFERENCE_PAIRING
    },
    rewrite: Rewrite::Remapping,
    guard: Guard::Placeholders { stops: true },
    summary_chars: Some(Chars(16_000.0)),
    compaction_seconds: Some(900),
    overflow_texts: "2026.3.22",
    ..V2026_3_11
};

pub(super) static V2026_3_28: Rules = Rules {
    pi: PiRelease([0, 63, 1]),
    compaction: Compaction::EntriesFromKept,
    history_lookup: HistoryLookup::NamedChannel,
    window_source: WindowRule::Lowest { names: NameMatching::Aliases, model_tokens: false, prefixed: false },
    overflow_texts: "2026.3.28",
    ..V2026_3_22
};

pub(super) static V2026_3_31: Rules = Rules {
    pi: PiRelease([0, 64, 0]),
    chat_preflight: ChatPreflight::IfStale,
    pairing: PairingRule {
        failed_calls: FailedCalls::WithoutResults { replaces: true },
        ..REFERENCE_PAIRING
    },
    prune_size: PruneSize { weight: PruneWeight::Blocks { wide: false }, ..V2026_3_28.prune_size },
    ..V2026_3_28
};

pub(super) static V2026_4_1: Rules = Rules {
    prune_size: PruneSize { signatures: true, ..V2026_3_31.prune_size },
    overflow_texts: "2026.4.1",
    ..V2026_3_31
};

pub(super) static V2026_4_5: Rules = Rules {
    eligibility: Eligibility::PluginsOrApi,
    result_limit: ResultLimit::Share { most: Chars(40_000.0), configured: false },
    guard: Guard::NewestFirst,
    legacy_images: LegacyImages::BeforeLastTurns { turns: ANSWERED, references: false },
    window_source: WindowRule::Lowest { names: NameMatching::Aliases, model_tokens: true, prefixed: false },
    overflow_texts: "2026.4.5",
    ..V2026_4_1
};

const ANSWERED: KeptTurns = KeptTurns { count: 3, open: true };

pub(super) static V2026_4_7: Rules = Rules {
    last_touch: LastTouch::SameModel,
    truncation: Truncation::Ends(COUNTED),
    aggregate: Aggregate::Newest { floor_is_notice: true },
    guard: Guard::SingleThenStop,
    preflight: Preflight::Estimate { leaves_room: false },
    ..V2026_4_5
};

const COUNTED: HeadTailCut = HeadTailCut { notice: Notice::Count, ..PARTIAL };

pub(super) static V2026_4_10: Rules =
    Rules { chat_window: ChatWindow::ContextTokens, overflow_texts: "2026.4.10", ..V2026_4_7 };

pub(super) static V2026_4_12: Rules =
    Rules { preflight: Preflight::Estimate { leaves_room: true }, ..V2026_4_10 };

pub(super) static V2026_4_15: Rules = Rules {
    workspace_files: FileLimits { file: Chars(12_000.0), total: Chars(60_000.0) },
    result_limit: ResultLimit::Share { most: Chars(16_000.0), configured: true },
    truncation: Truncation::Ends(HeadTailCut { bounded: true, ..COUNTED }),
    aggregate: Aggregate::Newest { floor_is_notice: false },
    reserve: Reserve::CappedFloor,
    ..V2026_4_12
};

pub(super) static V2026_4_24: Rules = Rules {
    prune_size: PruneSize { accepts_malformed_texts: true, ..V2026_4_1.prune_size },
    image_results: ImageResults::Replaced { odd_texts: true, whole_pairs: false },
    pairing: PairingRule {
        failed_calls: FailedCalls::Dropped,
        short_for_responses: true,
        ..REFERENCE_PAIRING
    },
    ..V2026_4_15
};

pub(super) static V2026_4_25: Rules = Rules {
    sending: Sending::FailedAnswers,
    prune_size: PruneSize { notes_omitted_thinking: true, ..V2026_4_24.prune_size },
    legacy_images: LegacyImages::BeforeLastTurns { turns: ANSWERED, references: true },
    ..V2026_4_24
};

pub(super) static V2026_4_27: Rules =
    Rules { transcript_total: TranscriptTotal::AllOfPath, overflow_texts: "2026.4.27", ..V2026_4_25 };

pub(super) static V2026_4_29: Rules =
    Rules { mid_turn_check: true, window_guard: SHARED_WINDOW_GUARD, ..V2026_4_27 };

pub(super) static V2026_5_2: Rules = Rules { transcript_total: TranscriptTotal::UsageOrFile, ..V2026_4_29 };

const SHARED_WINDOW_GUARD: WindowGuardRule = WindowGuardRule {
    block_below: 4000.0,
    warn_below: 8000.0,
    block_share: 0.1,
    warn_share: 0.2,
    block_unknown: true,
};

pub(super) static V2026_5_7: Rules =
    Rules { transcript_total: TranscriptTotal::UsageAndTail { counts_line_end: true }, ..V2026_5_2 };

pub(super) static V2026_5_12: Rules = Rules {
    pairing: PairingRule { matching: ResultMatching::BeforeCalls, ..V2026_4_24.pairing },
    ..V2026_5_7
};

pub(super) static V2026_5_18: Rules =
    Rules { guard_counts_details: false, overflow_texts: "2026.5.18", ..V2026_5_12 };

pub(super) static V2026_5_22: Rules = Rules {
    preflight: Preflight::Pressure(DOUBLED),
    chat_preflight: ChatPreflight::StoredTotal,
    recovery: Recovery { resets_session: false, ..V2026_5_18.recovery },
    ..V2026_5_18
};

const DOUBLED: Pressure = Pressure {
    results_by_units: false,
    as_sent: false,
    provider_count: false,
    counts_tools: false,
    is_diagnostic: false,
    refuses_compacted: false,
};
const DIAGNOSTIC: Pressure =
    Pressure { provider_count: true, is_diagnostic: true, refuses_compacted: false, ..AS_SENT };
const AS_SENT: Pressure =
    Pressure { results_by_units: true, as_sent: true, refuses_compacted: true, ..DOUBLED };

pub(super) static V2026_5_26: Rules = Rules {
    result_limit: ResultLimit::Stepped { configured: true },
    truncation: Truncation::Ends(ADVISED),
    pairing: PairingRule { reads_loose_ids: true, ..V2026_5_18.pairing },
    server_threshold: true,
    window_source: WindowRule::Lowest { names: NameMatching::AnyCase, model_tokens: true, prefixed: false },
    overflow_texts: "2026.5.26",
    ..V2026_5_22
};

pub(super) static V2026_5_28: Rules = Rules {
    turn_end_counts_summarised: true,
    duration: DurationRule { composite: true, longest_ms: MAX_SAFE_INTEGER_MS },
    aggregate: Aggregate::Oldest,
    estimate: Estimate::OwnRuntime { user_images: false, context_usage: false },
    transcript_total: TranscriptTotal::UsageAndTail { counts_line_end: false },
    overflow_texts: "2026.5.28",
    ..V2026_5_26
};

const ADVISED: HeadTailCut = HeadTailCut { notice: Notice::CountAndAdvice, bounded: true, ..PARTIAL };
/// `Number.MAX_SAFE_INTEGER` of JavaScript.
const MAX_SAFE_INTEGER_MS: Millis = Millis(9_007_199_254_740_991.0);

pub(super) static V2026_6_1: Rules = Rules {
    workspace_files: FileLimits { file: Chars(20_000.0), total: Chars(60_000.0) },
    pairing: PairingRule {
        matching: ResultMatching::Anywhere,
        missing_details: MissingDetails::Mark,
        ..V2026_5_28.pairing
    },
    window_source: WindowRule::Lowest { names: NameMatching::AnyCase, model_tokens: true, prefixed: true },
    ..V2026_5_28
};

pub(super) static V2026_6_6: Rules = Rules { compaction_seconds: Some(180), ..V2026_6_1 };

pub(super) static V2026_6_8: Rules = Rules { chat_window: ChatWindow::OfRun, ..V2026_6_6 };

pub(super) static V2026_6_9: Rules = Rules { chat_preflight: ChatPreflight::LargerTotal, ..V2026_6_8 };

pub(super) static V2026_6_11: Rules = Rules {
    truncation: Truncation::Ends(HeadTailCut { result_blocks: true, ..ADVISED }),
    aggregate: Aggregate::Emptied,
    estimate: Estimate::OwnRuntime { user_images: true, context_usage: false },
    ..V2026_6_9
};

pub(super) static V2026_6_33: Rules =
    Rules { preflight: Preflight::Pressure(Pressure { as_sent: true, ..DOUBLED }), ..V2026_6_11 };

pub(super) static V2026_7_1: Rules = Rules {
    sending: Sending::Times,
    history_limit: HistoryLimitRule::ExactWithPrelude,
    truncation: Truncation::Ends(HeadTailCut { result_blocks: true, whole_pairs: true, ..ADVISED }),
    aggregate: Aggregate::Elided,
    preflight: Preflight::Pressure(AS_SENT),
    prune_size: PruneSize { weight: PruneWeight::Blocks { wide: true }, ..V2026_4_25.prune_size },
    estimate: Estimate::OwnRuntime { user_images: true, context_usage: true },
    reserve: Reserve::Capped,
    overflow_texts: "2026.7.1",
    ..V2026_6_33
};

pub(super) static V2026_7_33: Rules =
    Rules { image_results: ImageResults::Replaced { odd_texts: true, whole_pairs: true }, ..V2026_7_1 };

pub(super) static V2026_8_1: Rules = Rules {
    sending: Sending::Times,
    pruner: Pruner::Projections { stored: false },
    server_clearing: false,
    ..V2026_9_2
};

pub(super) static V2026_9_2: Rules = Rules {
    reserve: Reserve::CappedAlone,
    legacy_images: LegacyImages::BeforeLastTurns { turns: ANSWERED, references: true },
    ..V2026_9_3
};

pub(super) static V2026_9_3: Rules = Rules {
    preflight: Preflight::Pressure(DIAGNOSTIC),
    window_source: WindowRule::OfModel { lower: false },
    ..V2026_9_5
};

pub(super) static V2026_9_5: Rules =
    Rules { estimate: Estimate::Weighted { counts_envelope: false }, ..V2026_9_6 };

/// The newest rules: the gateway's own runtime, sessions in a database, pruning that is permanent.
pub(super) static V2026_9_6: Rules = Rules {
    read_mode: ReadMode::Entries,
    pi: PiRelease::OLDEST,
    pruner: Pruner::Projections { stored: true },
    prune_keys: PruneKeys::Few,
    prune_size: PruneSize {
        weight: PruneWeight::Table,
        signatures: true,
        accepts_malformed_answers: true,
        accepts_malformed_texts: true,
        notes_omitted_thinking: true,
    },
    image_results: ImageResults::Replaced { odd_texts: true, whole_pairs: true },
    filter_needs_name: false,
    marker: "openclaw.cache-ttl",
    last_touch: LastTouch::SameModel,
    eligibility: Eligibility::NewestPlugins,
    duration: DurationRule { composite: true, longest_ms: MAX_SAFE_INTEGER_MS },
    history_limit: HistoryLimitRule::Batches,
    history_lookup: HistoryLookup::Account,
    result_limit: ResultLimit::Stepped { configured: false },
    truncation: Truncation::HeadAndTail,
    pairing: PairingRule {
        matching: ResultMatching::EachUse,
        missing_details: MissingDetails::MarkAndReason,
        ..V2026_6_11.pairing
    },
    aggregate: Aggregate::Weighted,
    rewrite: Rewrite::Remapping,
    guard: Guard::Single,
    guard_counts_details: false,
    mid_turn_check: true,
    preflight: Preflight::Pressure(Pressure { counts_tools: true, ..DIAGNOSTIC }),
    chat_preflight: ChatPreflight::WithinReserve,
    turn_end_counts_summarised: false,
    sending: Sending::RunLine,
    chat_window: ChatWindow::OfRun,
    transcript_total: TranscriptTotal::UsageOfPath,
    server_threshold: true,
    server_clearing: true,
    legacy_images: LegacyImages::BeforeLastTurns {
        turns: KeptTurns { open: false, ..ANSWERED },
        references: true,
    },
    estimate: Estimate::Weighted { counts_envelope: true },
    usage_above_zero: true,
    reserve: Reserve::Quarter,
    unknown_window_compacts: false,
    compaction: Compaction::FromFirstKept,
    safeguard: true,
    summary_chars: Some(Chars(16_000.0)),
    compaction_seconds: Some(180),
    window_guard: SHARED_WINDOW_GUARD,
    window_source: WindowRule::OfModel { lower: true },
    memory_flush: MemoryFlush::Plugin,
    workspace_files: FileLimits { file: Chars(20_000.0), total: Chars(60_000.0) },
    archives_at_reset: false,
    recovery: Recovery {
        attempts: 3,
        truncation_restarts: false,
        resets_session: false,
        in_run: RuntimeRecovery { compactions: 0, counts_completed: true },
    },
    branching: BranchRule::LeafRows,
    overflow_texts: "2026.8.1",
};

// pi without a gateway compacts, and trims nothing.

pub(super) static PI_0_55: Rules = Rules {
    rewrite: Rewrite::None,
    pruner: Pruner::None,
    history_limit: HistoryLimitRule::None,
    guard: Guard::None,
    legacy_images: LegacyImages::Stay,
    reserve: Reserve::Runtime,
    safeguard: false,
    compaction_seconds: None,
    window_source: WindowRule::OfModel { lower: false },
    memory_flush: MemoryFlush::None,
    recovery: Recovery { attempts: u32::MAX, resets_session: false, ..V2026_3_2.recovery },
    ..V2026_3_2
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn the_newest_reads_four_keys_of_the_pruner_and_two_of_compaction() {
        for key in ["mode", "ttl", "tools.allow", "tools.deny", "hardClear.enabled", "hardClear.placeholder"]
        {
            assert!(V2026_9_6.prune_keys.reads(key) && V2026_3_2.prune_keys.reads(key), "{key}");
        }
        for key in ["keepLastAssistants", "softTrimRatio", "hardClearRatio", "softTrim.maxChars"] {
            assert!(!V2026_9_6.prune_keys.reads(key) && V2026_3_2.prune_keys.reads(key), "{key}");
        }
        let read = |reserve: Reserve| {
            ["reserveTokens", "reserveTokensFloor", "keepRecentTokens"].map(|key| reserve.reads(key))
        };
        assert_eq!(read(Reserve::Quarter), [false, false, true]);
        assert_eq!(read(Reserve::Floor), [false, true, false]);
        assert_eq!(read(Reserve::Configured), [true; 3]);
    }

    #[test]
    fn releases_2_2_to_2_19_and_pi_do_not_prune() {
        let idle = Ruleset::ALL.into_iter().filter(|ruleset| !ruleset.rules().pruner.is_active());
        let idle: Vec<&str> = idle.map(Ruleset::id).collect();
        assert_eq!(idle, ["2026.2.2", "2026.2.6", "2026.2.9", "2026.2.12", "2026.2.17", "pi-0.55", "pi-1.5"]);
    }

    #[test]
    fn neighbours_differ() {
        let gateways: Vec<Ruleset> = Ruleset::ALL.into_iter().filter(|ruleset| !ruleset.is_pi()).collect();
        assert_eq!(gateways.len(), 52);
        for pair in gateways.windows(2) {
            // The reference keeps its own name, though 2026.3.1 answers as it does.
            if pair[1] == Ruleset::default() {
                continue;
            }
            assert_ne!(pair[0].rules(), pair[1].rules(), "{} {}", pair[0].id(), pair[1].id());
        }
    }
}
