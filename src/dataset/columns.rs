//! Every table and column of the dataset. The Parquet schema, `clawscope schema dataset`, the SQL views and the page of the
//! guide are made from these lists. A pointer names the place of a value in a row: `/of` is the session, the other first
//! members are the JSON of the reports that commands print.

use super::column::{Column, Kind};
use Kind::{Boolean, Integer, Number, Text, Time};

/// A table of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Sessions,
    Entries,
    Calls,
    Events,
    Findings,
    Cache,
    Losses,
    Settings,
}

impl Table {
    pub const ALL: [Self; 8] = [
        Self::Sessions,
        Self::Entries,
        Self::Calls,
        Self::Events,
        Self::Findings,
        Self::Cache,
        Self::Losses,
        Self::Settings,
    ];

    /// Returns the name of the table, its folder and its view.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Entries => "entries",
            Self::Calls => "calls",
            Self::Events => "events",
            Self::Findings => "findings",
            Self::Cache => "cache",
            Self::Losses => "losses",
            Self::Settings => "settings",
        }
    }

    /// Describes its rows in one sentence.
    pub fn description(self) -> &'static str {
        match self {
            Self::Sessions => {
                "One row for each session, as `clawscope sessions` lists it, with the verdict of `explain`."
            }
            Self::Entries => {
                "One row for each entry of a transcript, as in `clawscope tree`, with its fate in the last call."
            }
            Self::Calls => {
                "One row for each model call since the last reset and each trace: `recorded`, and one per `--replay`."
            }
            Self::Events => {
                "One row for each clearing, truncation and compaction of a trace, and for each recorded overflow."
            }
            Self::Findings => "One row for each finding, guard and advice of `clawscope explain`.",
            Self::Cache => "One row for each billed call on every branch, as in `clawscope cost`.",
            Self::Losses => {
                "One row for each message that a prompt of a trace lacked, as in `clawscope replay --lost`."
            }
            Self::Settings => "One row for each setting of a session, as in `clawscope settings`.",
        }
    }

    /// Returns its columns, the session first.
    pub fn columns(self) -> impl Iterator<Item = &'static Column> + Clone {
        let own = match self {
            Self::Sessions => SESSIONS,
            Self::Entries => ENTRIES,
            Self::Calls => CALLS,
            Self::Events => EVENTS,
            Self::Findings => FINDINGS,
            Self::Cache => CACHE,
            Self::Losses => LOSSES,
            Self::Settings => SETTINGS,
        };
        OF.iter().chain(own)
    }
}

const fn col(name: &'static str, kind: Kind, pointer: &'static str, meaning: &'static str) -> Column {
    Column::new(name, kind, pointer, meaning)
}

const fn tokens(name: &'static str, pointer: &'static str, meaning: &'static str) -> Column {
    Column::new(name, Integer, pointer, meaning).in_unit("tokens")
}

const fn usd(name: &'static str, pointer: &'static str, meaning: &'static str) -> Column {
    Column::new(name, Number, pointer, meaning).in_unit("USD")
}

const fn count(
    name: &'static str,
    kind: &'static str,
    pointer: &'static str,
    meaning: &'static str,
) -> Column {
    Column::new(name, Integer, pointer, meaning).in_unit(kind)
}

/// The first columns of every table.
const OF: &[Column] = &[
    col("session", Text, "/of/session", "The session: a digest of its store and key, which joins the tables"),
    col("key", Text, "/of/key", "The routing key of the session"),
];

const SESSIONS: &[Column] = &[
    col("place", Text, "/of/place", "The store that lists the session"),
    col("agent", Text, "/listed/agent", "The agent that owns the session").otel("gen_ai.agent.id"),
    col("kind", Text, "/listed/kind", "The kind of session: main, direct, group, cron, …"),
    col("channel", Text, "/listed/channel", "The chat program, if known"),
    col("parent", Text, "/listed/parent", "Key of the session that started this one"),
    col("id", Text, "/listed/id", "The id of the transcript").otel("gen_ai.conversation.id"),
    col("path", Text, "/listed/path", "The transcript"),
    col("title", Text, "/words/title", "The title").of_words(),
    col("provider", Text, "/listed/provider", "Provider of the last run").otel("gen_ai.provider.name"),
    col("model", Text, "/listed/model", "Model of the last run").otel("gen_ai.request.model"),
    col("ruleset", Text, "/listed/ruleset", "The release whose rules apply"),
    tokens("window_tokens", "/listed/window", "The context window"),
    col(
        "window_guard",
        Text,
        "/listed/windowGuard",
        "`warn` or `block` if the gateway finds the window too small",
    ),
    tokens("tokens", "/listed/tokens/value", "Tokens of the next prompt"),
    col("tokens_from", Text, "/listed/tokens/source", "Whether they are measured, calibrated or estimated"),
    count("percent", "%", "/listed/percent", "Their share of the window"),
    count("entries", "entries", "/listed/entries", "Entries of the transcript"),
    count("compactions", "compactions", "/listed/compactions", "Compactions"),
    count("overflows", "calls", "/listed/overflows", "Calls that overflowed"),
    count("calls", "calls", "/listed/usage/calls", "Calls on every branch"),
    tokens("usage_tokens", "/listed/usage/tokens", "Input, cache and output tokens of all calls"),
    usd("cost", "/listed/usage/cost", "Cost of all calls"),
    usd("recorded_cost", "/listed/usage/recordedCost", "The recorded part of the cost"),
    usd("listed_cost", "/listed/usage/listedCost", "The part of the cost at list prices"),
    count("calls_without_cost", "calls", "/listed/usage/callsWithoutCost", "Calls without a recorded cost"),
    col("started_at", Time, "/of/startedAt", "Time of the first entry"),
    col("updated_at", Time, "/listed/updatedAt", "Last change"),
    count("bytes", "bytes", "/listed/bytes", "Size of the transcript"),
    col("flags", Text, "/listed/flags", "The marks of the session"),
    col("verdict", Text, "/explained/verdict/class", "Class of the first finding"),
    col("confidence", Text, "/explained/verdict/confidence", "Confidence of the first finding"),
    col(
        "no_setting_helps",
        Boolean,
        "/explained/noSettingHelps",
        "Whether the search found no setting that helps",
    ),
    col("problem", Text, "/of/problem", "Why other tables lack the session or a part of it"),
];

const ENTRIES: &[Column] = &[
    col("entry", Text, "/node/entry", "The entry"),
    col("parent", Text, "/node/parent", "The entry before it on its branch"),
    count("line", "lines", "/node/line", "Line in the file, from 1"),
    col("type", Text, "/node/type", "The type of the entry"),
    col("role", Text, "/node/role", "The sender of its message"),
    col("tool", Text, "/node/tool", "The tool of a result or a call").otel("gen_ai.tool.name"),
    tokens("tokens", "/node/tokens", "Estimated tokens of its message"),
    count("chars", "chars", "/node/chars", "Chars of its message as pi counts them"),
    col("time", Time, "/node/time", "Its time"),
    count("depth", "branches", "/node/depth", "Branches between it and the trunk"),
    col("active", Boolean, "/node/active", "Whether it is on the path to the active leaf"),
    col("leaf", Boolean, "/node/leaf", "Whether it is the active leaf"),
    col("silent", Boolean, "/node/silent", "Whether it is an answer that asks for no reply"),
    count(
        "position",
        "messages",
        "/sent/index",
        "Position of its message in the context, from 0; null outside it",
    ),
    count("pruner_chars", "chars", "/sent/prunerChars", "Chars of its message as the pruner counts them"),
    col("fate", Text, "/sent/sent/fate", "How pruning changed it in the last call; null if it did not"),
    col("reason", Text, "/sent/sent/reason", "The reason of that fate"),
    tokens("sent_tokens", "/sent/sent/tokens", "Tokens of the changed form"),
    col("label", Text, "/words/label", "The label that a person gave it").of_words(),
    col("text", Text, "/words/text", "The first 240 characters of its text").of_words(),
];

const CALLS: &[Column] = &[
    col("trace", Text, "/of/trace", "`recorded`, or the name of a replay"),
    count("call", "calls", "/call/index", "Index of the call, from 0"),
    col("entry", Text, "/call/entry", "The answer"),
    col("time", Time, "/call/time", "Start of the call"),
    col("idle_ms", Number, "/call/idleMs", "Time since the cache was used").in_unit("ms"),
    col("model", Text, "/call/model", "Provider and model, joined by a slash"),
    col("window_tokens", Integer, "/of/window", "Tokens that the provider takes").in_unit("tokens"),
    tokens("tokens", "/trace/tokens", "Tokens of the prompt"),
    tokens("expected", "/trace/expected", "Tokens that the provider would count"),
    tokens("measured", "/of/measured", "Tokens that the provider counted; null in replays")
        .otel("gen_ai.usage.input_tokens"),
    col("size_from", Text, "/trace/size", "The origin of the size"),
    col("over", Boolean, "/trace/overflow", "Whether the prompt did not fit at first"),
    col("failed", Boolean, "/trace/failed", "Whether the last try did not fit either"),
    count("messages", "messages", "/trace/messages", "Messages of the prompt"),
    col("gate", Text, "/trace/gate", "`open`, or why pruning waits"),
    count("cleared", "messages", "/trace/cleared", "Cleared messages"),
    count("trimmed", "messages", "/trace/trimmed", "Trimmed messages"),
    tokens("freed", "/trace/freed", "Tokens that the policies of this call removed"),
    count("history", "messages", "/trace/history", "Messages that the turn limit left out"),
    count("reduced", "messages", "/trace/reduced", "Messages that were reduced before the prompt"),
    col("checked", Text, "/trace/checked", "The result of the check before the prompt"),
    tokens("compacted", "/trace/compacted/tokens", "Tokens that a compaction before the call removed"),
    tokens("truncated", "/trace/truncated/tokens", "Tokens that a truncation before the call removed"),
    usd("summary_cost", "/trace/compacted/cost", "Cost of the compaction's summary"),
    col("first_changed", Text, "/trace/firstChanged", "The first changed entry"),
    tokens("cache_read", "/trace/cacheRead", "Prompt tokens read from the cache")
        .otel("gen_ai.usage.cache_read.input_tokens"),
    tokens("cache_write", "/trace/cacheWrite", "Prompt tokens written to the cache")
        .otel("gen_ai.usage.cache_creation.input_tokens"),
    tokens("input", "/trace/input", "Prompt tokens neither read nor written"),
    tokens("output", "/trace/output", "Tokens of the answer").otel("gen_ai.usage.output_tokens"),
    usd("cost", "/trace/cost", "Cost of the call"),
    col("cost_from", Text, "/trace/costFrom", "The origin of the cost"),
];

const EVENTS: &[Column] = &[
    col("trace", Text, "/of/trace", "`recorded`, or the name of a replay"),
    col("kind", Text, "/event/kind", "A policy, or the kind of overflow"),
    col("overflow", Boolean, "/of/overflow", "Whether it is a recorded overflow"),
    count("call", "calls", "/event/call", "Index of the first call, from 0"),
    count("calls", "calls", "/event/calls", "Consecutive calls with the same change"),
    col("entry", Text, "/of/entry", "The first changed entry, or that of the overflow"),
    col("time", Time, "/event/time", "Start of the first call, or time of the overflow"),
    count("messages", "messages", "/event/messages", "Messages changed"),
    tokens("tokens", "/event/tokens", "Tokens freed at the first call"),
    usd("cost", "/event/cost", "Cost that the event added"),
    col("provider", Text, "/event/model/provider", "Provider of the overflow").otel("gen_ai.provider.name"),
    col("model", Text, "/event/model/id", "Model of the overflow").otel("gen_ai.request.model"),
    tokens("requested", "/event/requested", "Tokens that the refused call needed, by its text"),
    tokens("limit_tokens", "/event/limit", "Tokens that fit, by its text"),
    tokens("reply", "/event/reply", "Tokens of `requested` that are reserved for the reply"),
    col("recognised", Boolean, "/event/recognised", "Whether the runtime recognised the overflow"),
    col("rule", Text, "/event/rule", "The rule that recognised it"),
    col("limit_from", Text, "/event/by", "The origin of the limit"),
    col("text", Text, "/words/text", "The text of the refusal").of_words(),
];

const FINDINGS: &[Column] = &[
    col("part", Text, "/of/part", "`finding`, `guard` or `advice`"),
    count("rank", "rows", "/of/rank", "Position in its part, from 1; the first finding is the verdict"),
    col("class", Text, "/found/class", "Class of a finding"),
    col("confidence", Text, "/found/confidence", "Confidence of a finding"),
    col("guard", Text, "/found/guard", "Name of a guard"),
    col("state", Text, "/found/state", "State of a guard"),
    col("sentence", Text, "/of/sentence", "The finding, the reason of a guard, or the note of an advice"),
    col("rule", Text, "/found/rule", "The rule behind a finding"),
    col("flips", Boolean, "/found/flips", "Whether every call fits after a correction"),
    tokens("due_by", "/found/dueBy", "Tokens below the threshold of a guard"),
    col("opened", Text, "/found/opened", "Keys that make every call fit when opened alone"),
    col("entry", Text, "/found/entry", "The entry of a guard"),
    col("numbers", Text, "/found/numbers", "Numbers of a finding, as JSON"),
    col("settings", Text, "/found/set", "The settings of an advice, as JSON"),
    col("helps", Boolean, "/found/helps", "Whether every call fits under an advice"),
    col("has_room", Boolean, "/found/hasRoom", "Whether the failing call fits with one more turn"),
    count("overflows", "calls", "/found/overflows", "Calls that do not fit under an advice"),
    tokens("peak", "/found/peak", "The largest prompt under an advice"),
    usd("cost", "/found/cost", "Cost of all calls and summaries under an advice"),
    tokens("tokens_before", "/found/before", "Tokens of the failing prompt as recorded"),
    tokens("tokens_after", "/found/after", "Tokens of the failing prompt under an advice"),
    count("compactions", "compactions", "/found/compactions", "Compactions under an advice"),
    tokens("limit_tokens", "/found/limit", "Tokens that fit"),
];

const CACHE: &[Column] = &[
    col("entry", Text, "/call/entry", "The answer"),
    col("time", Time, "/call/time", "Time of the answer"),
    col("model", Text, "/of/model", "Provider and model of the answer, joined by a slash"),
    tokens("cache_read", "/call/read", "Prompt tokens read from the cache")
        .otel("gen_ai.usage.cache_read.input_tokens"),
    tokens("cache_write", "/call/written", "Prompt tokens written to the cache")
        .otel("gen_ai.usage.cache_creation.input_tokens"),
    tokens("input", "/call/input", "Prompt tokens neither read nor written"),
    usd("cost", "/call/cost", "Cost of the call"),
    col("uncached", Boolean, "/call/uncached", "Whether no cache activity was ever reported up to this call"),
    col("cause", Text, "/call/miss/cause", "Why prompt tokens were not read; null if all were"),
    col("is_miss", Boolean, "/call/miss/isMiss", "False for a new prompt, which is no miss"),
    col("changed_at", Text, "/call/miss/at", "The entry at which the prompt changed"),
    tokens("missed", "/call/miss/tokens", "Tokens that were not read"),
    usd("missed_cost", "/call/miss/cost", "Extra cost of these tokens"),
    col("age_ms", Number, "/call/miss/age", "Time since the previous prompt was sent").in_unit("ms"),
];

const LOSSES: &[Column] = &[
    col("trace", Text, "/of/trace", "`recorded`, or the name of a replay"),
    col("entry", Text, "/lost/entry", "The entry of the message"),
    col("tool", Text, "/lost/tool", "The tool of a result").otel("gen_ai.tool.name"),
    col("cause", Text, "/lost/cause", "Why the prompt lacked it: summarised, pruned, cleared, …"),
    count("from_call", "calls", "/of/fromCall", "Index of the first call without it, from 0"),
    count("until_call", "calls", "/of/untilCall", "Index of the first call that has it again, from 0"),
    tokens("tokens_before", "/lost/tokensBefore", "Tokens of the whole message"),
    tokens("tokens_after", "/lost/tokensAfter", "Tokens of what was left"),
    count("fetched_again", "calls", "/of/fetchedAgain", "Calls that fetched it again"),
    count("quoted", "answers", "/of/quoted", "Answers that used something that only it had"),
    count("asked_again", "questions", "/of/askedAgain", "Questions of the person that named it"),
    tokens("repeated_tokens", "/of/tokens", "Tokens of the repetitions"),
    usd("repeated_cost", "/of/cost", "List price of the repetitions"),
];

const SETTINGS: &[Column] = &[
    col("setting", Text, "/setting/key", "The key of `--set`"),
    col("policy", Text, "/setting/policy", "The policy that reads it"),
    col("path", Text, "/setting/path", "The place in the configuration"),
    col("unit", Text, "/setting/unit", "The unit"),
    col("value", Text, "/setting/value", "The value in force; lists and objects as JSON"),
    col("default_value", Text, "/setting/default", "The default of the release"),
    col("provenance", Text, "/setting/from", "The origin of the value"),
    col("fixed", Text, "/setting/fixed", "The reason for which the release does not read it"),
    col("releases", Text, "/setting/releases", "The releases that read it"),
    col("ruleset", Text, "/ruleset/id", "The release whose rules apply"),
    col("release", Text, "/ruleset/release", "The gateway's release, if known"),
];
