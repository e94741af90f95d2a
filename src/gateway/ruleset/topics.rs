//! Describes the rules of a release in words, topic by topic, so that a person can compare two releases line by line.

use schemars::JsonSchema;
use serde::Serialize;

use super::rules::{
    Aggregate, BranchRule, ChatPreflight, ChatWindow, Compaction, Eligibility, Estimate, FailedCalls, Guard,
    HistoryLimitRule, HistoryLookup, ImageResults, KeptTurns, LastTouch, LegacyImages, MemoryFlush,
    NameMatching, Notice, Preflight, Pressure, PruneKeys, PruneWeight, Pruner, Reserve, ResultLimit,
    ResultMatching, Rewrite, Rules, Sending, TranscriptTotal, Truncation, WindowRule,
};
use crate::format::format_number;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Topic {
    /// The phase of a session's life in which the rule applies.
    pub group: &'static str,
    /// A name that is unique across all groups.
    #[serde(rename = "topic")]
    pub name: &'static str,
    /// The rule, in a sentence or less.
    pub rule: String,
}

type TopicRow = (&'static str, &'static str, fn(&Rules) -> String);

const ROWS: [TopicRow; 41] = [
    ("Pruning", "pruning", |rules| pruner(rules.pruner).to_owned()),
    ("Pruning", "pruned models", |rules| eligible(rules.eligibility).to_owned()),
    ("Pruning", "last touch", |rules| touch(rules)),
    ("Pruning", "ttl", |rules| {
        let form = if rules.duration.composite {
            "such as 30m, 1h or 1h30m"
        } else {
            "such as 30m or 1h; 1h30m is an error"
        };
        form.to_owned()
    }),
    ("Pruning", "contextPruning keys", |rules| {
        match rules.prune_keys {
            PruneKeys::All => "all nine keys",
            PruneKeys::Few => "mode, ttl, tools, hardClear; the ratios and sizes are built in",
        }
        .to_owned()
    }),
    ("Pruning", "message size", |rules| weight(rules.prune_size.weight).to_owned()),
    ("Pruning", "thinking size", |rules| {
        if rules.prune_size.signatures { "with signatures and redacted thinking" } else { "text only" }
            .to_owned()
    }),
    ("Pruning", "malformed blocks", |rules| odd_blocks(rules).to_owned()),
    ("Pruning", "results with images", |rules| {
        match rules.image_results {
            ImageResults::Skipped => "never pruned",
            ImageResults::Replaced { whole_pairs: false, .. } => "pruned; a text line replaces each image",
            ImageResults::Replaced { .. } => {
                "pruned; a text line replaces each image, and no cut splits a surrogate pair"
            }
        }
        .to_owned()
    }),
    ("Tool results", "one result", |rules| result_limit(rules.result_limit)),
    ("Tool results", "text truncation", |rules| truncation(rules.truncation)),
    ("Tool results", "all results together", |rules| aggregate(rules.aggregate).to_owned()),
    ("Tool results", "rewriting a session", |rules| rewrite(rules.rewrite).to_owned()),
    ("Each call", "images already seen", |rules| images(rules.legacy_images)),
    ("Each call", "context guard", |rules| guard(rules)),
    ("Each call", "provider clears tool uses", |rules| yes_no(rules.server_clearing)),
    ("Each run", "result of a call", |rules| result_matching(rules).to_owned()),
    ("Each run", "failed answer with calls", |rules| {
        match rules.pairing.failed_calls {
            FailedCalls::Paired => "sent, with its results",
            FailedCalls::Ignored | FailedCalls::WithoutResults { .. } => "sent without its results",
            FailedCalls::Dropped => "not sent, nor its results",
        }
        .to_owned()
    }),
    ("Each run", "turn limit", |rules| history(rules.history_limit).to_owned()),
    ("Each run", "turn limit keys", |rules| history_lookup(rules.history_lookup).to_owned()),
    ("Each run", "check before a prompt", |rules| preflight(rules.preflight).to_owned()),
    ("Each run", "check before a chat turn", |rules| chat_preflight(rules)),
    ("Each run", "check after an openclaw agent turn", |rules| {
        if rules.turn_end_counts_summarised {
            "of all messages, also summarised ones"
        } else {
            "of the context"
        }
        .to_owned()
    }),
    ("Each run", "changed on sending", |rules| sending(rules.sending).to_owned()),
    ("Each run", "check inside a tool loop", |rules| {
        if rules.mid_turn_check { "with compaction.midTurnPrecheck.enabled" } else { "none" }.to_owned()
    }),
    ("Each run", "workspace files", |rules| {
        let limits = rules.workspace_files;
        format!("{} chars each, {} together", format_number(limits.file), format_number(limits.total))
    }),
    ("Compaction", "estimate", |rules| estimate(rules).to_owned()),
    ("Compaction", "reserve", |rules| reserve(rules.reserve).to_owned()),
    ("Compaction", "unknown window", |rules| {
        if rules.unknown_window_compacts { "compacts before every call" } else { "never compacts" }.to_owned()
    }),
    ("Compaction", "summarised part", |rules| compaction(rules.compaction).to_owned()),
    ("Compaction", "safeguard mode", |rules| {
        if rules.safeguard { "available" } else { "has no effect" }.to_owned()
    }),
    ("Compaction", "summary length", |rules| {
        rules
            .summary_chars
            .map_or_else(|| "no limit".to_owned(), |chars| format!("at most {} chars", format_number(chars)))
    }),
    ("Compaction", "time limit", |rules| {
        rules.compaction_seconds.map_or_else(|| "none known".to_owned(), |seconds| format!("{seconds} s"))
    }),
    ("Compaction", "memory flush", |rules| memory_flush(rules.memory_flush).to_owned()),
    ("Window", "window source", |rules| window(rules.window_source)),
    ("Window", "too small", |rules| small_window(rules)),
    ("Overflow", "error texts", |rules| format!("those of {}", rules.overflow_texts)),
    ("Overflow", "recovery", |rules| recovery(rules)),
    ("Overflow", "inside the run", |rules| match rules.recovery.in_run.compactions {
        0 => "left to the gateway".to_owned(),
        1 => "compacts once".to_owned(),
        _ => "compacts every time".to_owned(),
    }),
    ("Overflow", "if compaction fails", |rules| {
        if rules.recovery.resets_session { "a chat starts a new session" } else { "the session continues" }
            .to_owned()
    }),
    ("Store", "sessions", |rules| {
        match rules.branching {
            BranchRule::LastEntry => "JSONL files; the last entry is the active leaf",
            BranchRule::LeafRows => "a database; leaf rows say which branch is active",
        }
        .to_owned()
    }),
];

impl Rules {
    /// Describes every topic, in the order of a session's life.
    pub fn topics(&self) -> Vec<Topic> {
        ROWS.iter().map(|(group, name, rule)| Topic { group, name, rule: rule(self) }).collect()
    }
}

fn yes_no(on: bool) -> String {
    if on { "yes" } else { "no" }.to_owned()
}

fn pruner(pruner: Pruner) -> &'static str {
    match pruner {
        Pruner::None => "none",
        Pruner::FailsToLoad => "never runs: the configured pruner does not load",
        Pruner::EachFiring => "decides anew each time it runs; calls in between send everything",
        Pruner::Projections { stored: false } => "a pruned result stays pruned until the gateway restarts",
        Pruner::Projections { stored: true } => "a pruned result stays pruned, even after a restart",
    }
}

fn eligible(eligible: Eligibility) -> &'static str {
    match eligible {
        Eligibility::Anthropic => "anthropic, openrouter anthropic/…",
        Eligibility::Caching => "anthropic, moonshot, zai, some of openrouter and kilocode",
        Eligibility::Plugins => "the provider's plug-in decides; other providers are not pruned",
        Eligibility::PluginsOrApi | Eligibility::NewestPlugins => {
            "the provider's plug-in decides; without one, provider and api"
        }
    }
}

fn result_matching(rules: &Rules) -> &'static str {
    match rules.pairing.matching {
        ResultMatching::BeforeAnswer => "the first of its id before the next answer; each id matches once",
        ResultMatching::BeforeCalls => {
            "the first of its id before the next answer with calls; each id matches once"
        }
        ResultMatching::Anywhere => "the first of its id, which may come later; each id matches once",
        ResultMatching::EachUse => "each use of an id has its own",
    }
}

fn touch(rules: &Rules) -> String {
    let of = match rules.last_touch {
        LastTouch::Any => "of any model",
        LastTouch::SameModel => "of the same provider and model",
    };
    format!("newest {} marker {of}", rules.marker)
}

fn weight(weight: PruneWeight) -> &'static str {
    match weight {
        PruneWeight::Units => "1 per char (UTF-16 unit)",
        PruneWeight::Blocks { wide: false } => "1 per char, 4 for Chinese, Japanese and Korean",
        PruneWeight::Blocks { wide: true } => "1 per char, 4 for Chinese, Japanese, Korean and wide forms",
        PruneWeight::Table => "1 per char, 4 to 16 for Chinese, Japanese, Korean and rare scripts",
    }
}

fn odd_blocks(rules: &Rules) -> &'static str {
    match (rules.prune_size.accepts_malformed_answers, rules.prune_size.accepts_malformed_texts) {
        (false, _) => "stop pruning",
        (true, false) => "ignored in answers; stop pruning in tool results",
        (true, true) => "ignored; a text block without text counts as its JSON",
    }
}

fn result_limit(limit: ResultLimit) -> String {
    let configured = if limit.is_configured() { ", or contextLimits.toolResultMaxChars" } else { "" };
    match limit {
        ResultLimit::None => "no limit".to_owned(),
        ResultLimit::Share { most, .. } => {
            format!("30% of the window, at most {} chars{configured}", format_number(most))
        }
        ResultLimit::Stepped { .. } => {
            format!("30% of the window, at most 16,000 / 32,000 / 64,000 chars by window size{configured}")
        }
    }
}

fn truncation(truncation: Truncation) -> String {
    match truncation {
        Truncation::None => "none".to_owned(),
        Truncation::Head { floor_has_suffix } => {
            let least = if floor_has_suffix { "2,217" } else { "2,000" };
            format!("keeps the head; at least {least} chars of each block")
        }
        Truncation::Ends(ends) => {
            let notice = match ends.notice {
                Notice::Partial => "long notice",
                Notice::Count => "notice with the count",
                Notice::CountAndAdvice => "notice with count and advice",
            };
            let bound = if ends.bounded { "never above the limit" } else { "may exceed the limit" };
            let pairs = if ends.whole_pairs { ", emoji stay whole" } else { "" };
            format!("keeps the head, and the tail if it looks important; {notice}; {bound}{pairs}")
        }
        Truncation::HeadAndTail => {
            "keeps the head, and the tail if it looks important; by weighted length".to_owned()
        }
    }
}

fn aggregate(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::None => "no limit",
        Aggregate::Newest { .. } => "after an overflow: the limit of one result; cuts the newest first",
        Aggregate::Oldest => "every prompt: 4 times the limit of one result; cuts the oldest first",
        Aggregate::Emptied => {
            "every prompt: 4 times the limit of one result; cuts, then empties the oldest first; results \
             already sent stay as sent"
        }
        Aggregate::Elided | Aggregate::Weighted => {
            "every prompt: 4 times the limit of one result or half the window; cuts the oldest, then replaces \
             them by a note; results already sent stay as sent"
        }
    }
}

fn rewrite(rewrite: Rewrite) -> &'static str {
    match rewrite {
        Rewrite::None => "never",
        Rewrite::Lossy => "loses labels and branch summaries; a compaction keeps an old id",
        Rewrite::Remapping => "keeps ids, labels and branch summaries",
    }
}

fn images(images: LegacyImages) -> String {
    match images {
        LegacyImages::Stay => "sent again".to_owned(),
        LegacyImages::BeforeLastAnswer { results } => {
            let whose = if results { "of users and tools" } else { "of users" };
            format!("those {whose} are removed before the last answer")
        }
        LegacyImages::BeforeLastTurns { turns: KeptTurns { count, open }, references } => {
            let media = if references { ", with media references" } else { "" };
            let which = if open { "answered turns" } else { "turns before the current one" };
            format!("removed before the last {count} {which}{media}")
        }
    }
}

fn guard(rules: &Rules) -> String {
    let details = if rules.guard_counts_details { ", details counted" } else { "" };
    match rules.guard {
        Guard::None => "none".to_owned(),
        Guard::Placeholders { stops: false } => {
            format!("half the window per result; above 75% in total, replaces the oldest{details}")
        }
        Guard::Placeholders { stops: true } => {
            format!(
                "half the window per result; above 75% in total, replaces the oldest; above 90%, stops the \
                 call{details}"
            )
        }
        Guard::NewestFirst => {
            format!(
                "half the window per result; above 75% in total, shortens the newest; above 90%, stops the \
                 call{details}"
            )
        }
        Guard::SingleThenStop => format!(
            "half the window per result; above 90% in total, stops the \
             call{details}"
        ),
        Guard::Single => "half the window per result; keeps the images that fit".to_owned(),
    }
}

fn history(history: HistoryLimitRule) -> &'static str {
    match history {
        HistoryLimitRule::None => "none",
        HistoryLimitRule::Exact => "keeps exactly that many turns; drops a leading summary",
        HistoryLimitRule::ExactWithPrelude => "keeps exactly that many turns; keeps a leading summary",
        HistoryLimitRule::Batches => "in batches of half the limit; keeps a leading summary",
    }
}

fn sending(sending: Sending) -> &'static str {
    match sending {
        Sending::AsStored => "nothing",
        Sending::FailedAnswers => "failed answers",
        Sending::Times => "failed answers, times, thinking",
        Sending::RunLine => "times, thinking, a line about the run",
    }
}

fn history_lookup(lookup: HistoryLookup) -> &'static str {
    match lookup {
        HistoryLookup::Dm => "direct messages (dm)",
        HistoryLookup::Direct => "direct messages (dm, direct)",
        HistoryLookup::Channel => "direct messages, channels and groups",
        HistoryLookup::NamedChannel => "direct messages, channels and groups; channel names in any case",
        HistoryLookup::Account => "the account first, then direct messages, channels and groups",
    }
}

fn preflight(preflight: Preflight) -> &'static str {
    match preflight {
        Preflight::None => "none",
        Preflight::Estimate { leaves_room: false } => "estimate + 20% against the window minus the reserve",
        Preflight::Estimate { leaves_room: true } => {
            "estimate + 20% against the window minus the reserve; the reserve leaves room for a prompt"
        }
        Preflight::Pressure(Pressure { results_by_units: false, as_sent: true, .. }) => {
            "token pressure + 20%: tool results weigh double, system prompt and summaries counted"
        }
        Preflight::Pressure(Pressure { results_by_units: false, .. }) => {
            "token pressure + 20%: tool results weigh double, system prompt counted"
        }
        Preflight::Pressure(Pressure { provider_count: false, .. }) => {
            "token pressure + 20%: tool results weigh at least half their chars, system prompt and summaries counted"
        }
        Preflight::Pressure(Pressure { counts_tools: true, .. }) => {
            "the provider's count, then token pressure + 20%: tools too, tool results weigh at least half their chars"
        }
        Preflight::Pressure(_) => {
            "the provider's count, then token pressure + 20%: tool results weigh at least half their chars"
        }
    }
}

fn estimate(rules: &Rules) -> &'static str {
    match rules.estimate {
        Estimate::Units => "4 chars per token",
        Estimate::OwnRuntime { user_images: false, .. } => "4 chars per token; own runtime",
        Estimate::OwnRuntime { context_usage: false, .. } => "4 chars per token, 1200 tokens per image",
        Estimate::OwnRuntime { .. } => "4 chars per token, 1200 tokens per image; contextUsage replaces it",
        Estimate::Weighted { counts_envelope: false } => {
            "4 weighted chars per token, 2,000 tokens per image; contextUsage replaces it"
        }
        Estimate::Weighted { counts_envelope: true } => {
            "4 weighted chars per token, line ends and senders too, 2,000 per image; contextUsage replaces it"
        }
    }
}

fn reserve(reserve: Reserve) -> &'static str {
    match reserve {
        Reserve::Runtime => "the runtime's own setting",
        Reserve::Floor => "16,384, at least reserveTokensFloor (20,000)",
        Reserve::Configured => "reserveTokens (16,384), at least reserveTokensFloor (20,000)",
        Reserve::CappedFloor => {
            "reserveTokens (16,384), at least reserveTokensFloor (20,000); leaves room for a prompt"
        }
        Reserve::Capped => {
            "reserveTokens, at least reserveTokensFloor; leaves room for a prompt (8,000 or half the window)"
        }
        Reserve::CappedAlone => "20,000; leaves room for a prompt (8,000 or half the window)",
        Reserve::Quarter => "20,000, at most a quarter of the window",
    }
}

fn compaction(compaction: Compaction) -> &'static str {
    match compaction {
        Compaction::AfterPrevious => "entries after the previous compaction; drops the entries that it kept",
        Compaction::FromFirstKept | Compaction::EntriesFromKept => {
            "from the first entry the previous compaction kept"
        }
        Compaction::Projected => "the projected messages, including those the previous compaction kept",
    }
}

fn chat_preflight(rules: &Rules) -> String {
    let check = match rules.chat_preflight {
        ChatPreflight::None => return "none".to_owned(),
        ChatPreflight::IfStale => "the transcript's total, if the stored one is missing or stale",
        ChatPreflight::StoredTotal => "the stored total against window - floor - soft threshold",
        ChatPreflight::LargerTotal => {
            "the stored total or the transcript's against window - floor - soft threshold"
        }
        ChatPreflight::WithinReserve => "the stored total or the transcript's against window - reserve",
    };
    let window = match rules.chat_window {
        ChatWindow::OfFlush => "of the flush",
        ChatWindow::ContextTokens => "contextTokens, else the model's",
        ChatWindow::OfRun => "of the run",
    };
    let total = match rules.transcript_total {
        TranscriptTotal::AllMessages => "an estimate of all messages",
        TranscriptTotal::AllOfPath => "an estimate of all messages of the path",
        TranscriptTotal::UsageOrFile => "the last usage or the file's size",
        TranscriptTotal::UsageAndTail { counts_line_end: true } => "the last usage and what follows it",
        TranscriptTotal::UsageAndTail { counts_line_end: false } => {
            "the last usage and what follows its line"
        }
        TranscriptTotal::UsageOfPath => "the last usage of the path and what follows it",
    };
    format!("{check}; window {window}; transcript's total: {total}")
}

fn memory_flush(flush: MemoryFlush) -> &'static str {
    match flush {
        MemoryFlush::None => "none",
        MemoryFlush::StoredTotal { fresh: false } => "uses the stored total",
        MemoryFlush::StoredTotal { fresh: true } => "uses the stored total, if it is fresh",
        MemoryFlush::TotalsAndSize => "uses the stored total, the transcript and its size in bytes",
        MemoryFlush::Plugin => "the memory plug-in decides; the reserve is at most a quarter of the window",
    }
}

fn window(rule: WindowRule) -> String {
    match rule {
        WindowRule::First => {
            "the model's window, else the configured one, else agents.defaults.contextTokens".to_owned()
        }
        WindowRule::OfModel { lower } => {
            let which = if lower { "the lower of contextTokens and" } else { "contextTokens or" };
            format!("{which} contextWindow of the configured model, else the model's window")
        }
        WindowRule::Lowest { names, model_tokens, prefixed } => {
            let of = if model_tokens { "contextTokens or contextWindow" } else { "contextWindow" };
            let names = if names == NameMatching::Exact { "" } else { "; provider names in any case" };
            let prefixed = if prefixed { ", ids with or without the provider" } else { "" };
            format!(
                "{of} of the configured model, else the model's window; agents.defaults.contextTokens lowers \
                 it{names}{prefixed}"
            )
        }
    }
}

fn small_window(rules: &Rules) -> String {
    let guard = &rules.window_guard;
    let shares = if guard.block_share > 0.0 {
        format!(", or {}% and {}% of it", guard.block_share * 100.0, guard.warn_share * 100.0)
    } else {
        String::new()
    };
    format!(
        "refused below {}, warned below {}{shares}",
        format_number(guard.block_below),
        format_number(guard.warn_below)
    )
}

fn recovery(rules: &Rules) -> String {
    match rules.recovery.attempts {
        u32::MAX => "the runtime's own".to_owned(),
        1 => "tries 1 compaction".to_owned(),
        attempts => {
            let again = if rules.recovery.truncation_restarts { ", again after cutting results" } else { "" };
            format!("tries up to {attempts} compactions{again}")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn neighbouring_releases_differ_in_words() {
        let gateways: Vec<Ruleset> = Ruleset::ALL.into_iter().filter(|ruleset| !ruleset.is_pi()).collect();
        for pair in gateways.windows(2) {
            // 2026.3.1 answers as the reference does.
            if pair[1] == Ruleset::default() {
                continue;
            }
            let [before, after] = [pair[0], pair[1]].map(|ruleset| ruleset.rules().topics());
            assert_ne!(before, after, "{} {}", pair[0].id(), pair[1].id());
        }
    }

    #[test]
    fn topics_have_unique_names_and_groups_are_contiguous() {
        let topics = Ruleset::default().rules().topics();
        let names: std::collections::HashSet<&str> = topics.iter().map(|topic| topic.name).collect();
        assert_eq!(names.len(), topics.len());
        let mut groups: Vec<&str> = topics.iter().map(|topic| topic.group).collect();
        groups.dedup();
        let unique: std::collections::HashSet<&str> = groups.iter().copied().collect();
        assert_eq!(unique.len(), groups.len());
    }
}
