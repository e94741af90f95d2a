//! Stories with one miss each, whose cause is known because the story makes it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use super::*;
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::Environment;
use crate::gateway::models::opus_price;
use crate::js;
use crate::session::loading::open;
use crate::session::testing::loaded_session;
use crate::store::discovery::discover;
use crate::units::{Moment, Tokens};

/// 2026-11-19T10:00:00Z, ms.
const START: f64 = 1_795_082_400_000.0;
const MINUTE: f64 = 60_000.0;

/// A transcript in the making; each entry follows the previous one unless it names a parent.
struct Story {
    text: String,
    entries: usize,
    /// Minutes since the start.
    minutes: f64,
    model: &'static str,
    parent: Option<usize>,
    /// USD for input, cache read and cache write of each answer; nothing is recorded without it.
    cost: Option<[f64; 3]>,
}

impl Story {
    fn new() -> Self {
        let text =
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-11-19T10:00:00.000Z\"}\n";
        Self {
            text: text.to_owned(),
            entries: 0,
            minutes: 0.0,
            model: "claude-opus-4-6",
            parent: None,
            cost: None,
        }
    }

    fn entry(mut self, rest: &str) -> Self {
        let parent = self.parent.map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let time = js::iso_text(Moment(START + self.minutes * MINUTE));
        let at = self.entries;
        let _ = writeln!(self.text, r#"{{"id":"e{at}","parentId":{parent},"timestamp":"{time}",{rest}}}"#);
        (self.entries, self.parent) = (at + 1, Some(at));
        self
    }

    fn user(self) -> Self {
        self.entry(r#""type":"message","message":{"role":"user","content":"go on"}"#)
    }

    /// A question and its answer, with the prompt's tokens: read, written, neither.
    fn turn(self, read: u32, write: u32, input: u32) -> Self {
        self.user().answer(read, write, input)
    }

    fn answer(self, read: u32, write: u32, input: u32) -> Self {
        let blocks = r#"[{"type":"text","text":"done"}]"#;
        self.answer_with(blocks, "stop", [read, write, input])
    }

    fn answer_with(self, blocks: &str, stop: &str, [read, write, input]: [u32; 3]) -> Self {
        let cost = self.cost.map_or(String::new(), |[input, read, write]| {
            let total = input + read + write;
            format!(
                r#","cost":{{"input":{input},"output":0,"cacheRead":{read},"cacheWrite":{write},"total":{total}}}"#
            )
        });
        // The output makes each answer a different one.
        let (model, output) = (self.model, self.entries);
        let total = read + write + input + output as u32;
        self.entry(&format!(
            r#""type":"message","message":{{"role":"assistant","content":{blocks},"provider":"anthropic","model":"{model}","stopReason":"{stop}","usage":{{"input":{input},"output":{output},"cacheRead":{read},"cacheWrite":{write},"totalTokens":{total}{cost}}}}}"#
        ))
    }

    fn after(mut self, minutes: f64) -> Self {
        self.minutes += minutes;
        self
    }

    fn from(mut self, entry: usize) -> Self {
        self.parent = Some(entry);
        self
    }

    fn on(mut self, model: &'static str) -> Self {
        self.model = model;
        self
    }

    fn paying(mut self, usd: [f64; 3]) -> Self {
        self.cost = Some(usd);
        self
    }

    fn session(&self) -> LoadedSession {
        let session = loaded_session(&self.text, 200_000.0);
        LoadedSession { price: Some(opus_price()), ..session }
    }

    fn ledger(&self) -> CacheLedger {
        cache_ledger(&self.session()).expect("memory is readable")
    }
}

/// The story's start: a cold call and a warm one, entries e0 to e3.
fn begun() -> Story {
    Story::new().turn(0, 20_000, 10).after(1.0).turn(20_000, 2_000, 10).after(1.0)
}

/// The cause of the last call's miss, its place and tokens.
fn last_miss(story: &Story) -> (MissCause, Option<u32>, f64) {
    let ledger = story.ledger();
    let miss = ledger.calls.last().and_then(|call| call.miss).expect("the last call misses");
    (miss.cause, miss.at.map(|at| at.0), miss.tokens.get())
}

#[test]
fn a_first_call_is_not_counted_as_a_miss_and_a_growing_prompt_hits() {
    let ledger = begun().ledger();
    let first = ledger.calls[0].miss.expect("nothing could be read");
    assert_eq!(
        (first.cause, first.is_counted(), first.tokens),
        (MissCause::FirstCall, false, Tokens(20_010.0))
    );
    assert_eq!(ledger.calls[1].miss, None);
    assert_eq!(CacheTotals::of(&ledger.calls).misses, CallCount::default());
}

#[test]
fn up_to_1024_unread_tokens_are_noise() {
    let at_floor = begun().turn(22_010 - 1_024, 3_000, 10).ledger();
    assert_eq!(at_floor.calls[2].miss, None);
    let (cause, _, tokens) = last_miss(&begun().turn(22_010 - 1_025, 3_000, 10));
    assert_eq!((cause, tokens), (MissCause::SystemChanged, 1_025.0));
}

#[test]
fn a_pause_longer_than_the_retention_is_the_cause_and_a_shorter_one_is_not() {
    let miss = last_miss(&begun().after(6.0).turn(0, 23_000, 10));
    assert_eq!(miss, (MissCause::Pause, None, 22_010.0));
    assert_eq!(last_miss(&begun().after(2.0).turn(0, 23_000, 10)).0, MissCause::Unknown);
}

#[test]
fn a_warmed_cache_restarts_the_pause() {
    let warmed = |story: Story| {
        story.entry(
            r#""type":"usage","kind":"cache_warm","provider":"anthropic","model":"claude-opus-4-6","usage":{"input":0,"output":1,"cacheRead":22010,"cacheWrite":0,"totalTokens":22011}"#,
        )
    };
    let story = warmed(begun().after(3.0)).after(3.0).turn(0, 23_000, 10);
    assert_eq!(last_miss(&story), (MissCause::Unknown, None, 22_010.0));
    assert_eq!(story.ledger().calls.len(), 3, "warming is no call of the conversation");
}

#[test]
fn another_model_cannot_read_the_first_ones_cache() {
    let story = begun().on("claude-sonnet-4-6").turn(0, 23_000, 10);
    assert_eq!(last_miss(&story), (MissCause::ModelChanged, None, 22_010.0));
}

#[test]
fn another_thinking_level_changes_the_key() {
    let story = begun().entry(r#""type":"thinking_level_change","thinkingLevel":"high""#).turn(0, 23_000, 10);
    assert_eq!(last_miss(&story).0, MissCause::ThinkingChanged);
}

#[test]
fn a_call_on_another_branch_reads_up_to_the_fork() {
    let story = begun().from(1).turn(18_000, 3_000, 10);
    assert_eq!(last_miss(&story), (MissCause::BranchSwitched, Some(1), 21_010.0 - 18_000.0));
}

#[test]
fn a_system_message_and_a_context_edit_change_the_prefix() {
    let system = r#""type":"message","message":{"role":"system","content":"You are terse."}"#;
    let story = begun().entry(system).turn(0, 23_000, 10);
    assert_eq!(last_miss(&story).0, MissCause::SystemChanged);
    let edit = r#""type":"context_edit","targetId":"e2","replacement":null"#;
    let story = begun().entry(edit).turn(9_000, 13_000, 10);
    assert_eq!(last_miss(&story), (MissCause::ContextEdit, Some(2), 22_010.0 - 9_000.0));
}

#[test]
fn a_compaction_a_branch_summary_and_a_reset_make_new_prompts() {
    let kinds = [
        (
            r#""type":"compaction","summary":"so far","firstKeptEntryId":"e2","tokensBefore":22010"#,
            MissCause::Compaction,
        ),
        (r#""type":"branch_summary","summary":"so far","fromId":"e2""#, MissCause::BranchSummary),
        (r#""type":"reset","reason":"new""#, MissCause::Reset),
    ];
    for (entry, cause) in kinds {
        let story = begun().entry(entry).turn(0, 8_000, 10);
        assert_eq!(last_miss(&story), (cause, Some(4), 8_010.0), "{entry}");
        let totals = CacheTotals::of(&story.ledger().calls);
        assert_eq!(totals.misses.calls, 0, "{entry}");
        assert_eq!(totals.by_cause[&cause].calls, 1);
    }
}

#[test]
fn pruning_within_the_retention_changes_the_prefix_at_the_pruned_result() {
    let large = "x".repeat(60_000);
    let call = r#"[{"type":"toolCall","id":"c1","name":"exec","arguments":{}}]"#;
    let result = format!(
        r#""type":"message","message":{{"role":"toolResult","toolCallId":"c1","toolName":"exec","content":[{{"type":"text","text":"{large}"}}]}}"#
    );
    let story = |minutes: f64| {
        Story::new()
            .user()
            .answer_with(call, "toolUse", [0, 20_000, 10])
            .entry(&result)
            .answer(20_000, 15_000, 10)
            .after(minutes)
            .turn(20_000, 3_000, 10)
    };
    let pruned = |story: &Story| {
        let config = r#"{"agents":{"defaults":{"contextPruning":{"mode":"cache-ttl","ttl":"2m","softTrimRatio":0.01,"hardClearRatio":0.9,"keepLastAssistants":1}}}}"#;
        let mut own = GatewayConfig::empty();
        own.js_root = js::parse(config).unwrap();
        let session = LoadedSession { config: Arc::new(own), ..story.session() };
        let ledger = cache_ledger(&session).unwrap();
        let miss = ledger.calls.last().and_then(|call| call.miss).expect("the last call misses");
        (miss.cause, miss.at.map(|at| at.0))
    };
    assert_eq!(pruned(&story(3.0)), (MissCause::Pruning, Some(2)));
    assert_eq!(pruned(&story(1.0)), (MissCause::PrefixEnds, None), "the ttl has not passed");
    assert_eq!(pruned(&story(6.0)), (MissCause::Pause, None), "pruning a cold cache costs nothing");
}

/// Cause and place of the last call's miss in a store with this configuration.
fn last_miss_in_store(story: &Story, key: &str, config: &str) -> (MissCause, Option<u32>) {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    };
    write("openclaw.json", config);
    write("agents/main/sessions/s.jsonl", &story.text);
    let rows = format!(r#"{{"{key}":{{"sessionId":"s","updatedAt":1}}}}"#);
    write("agents/main/sessions/sessions.json", &rows);
    let store = discover(Some(dir.path()), &Environment::default());
    let session = open(&store, &store.sessions[0].key, None, Moment::ZERO, &mut |_, _| true).unwrap();
    let ledger = cache_ledger(&session).unwrap();
    let miss = ledger.calls.last().and_then(|call| call.miss).expect("the last call misses");
    (miss.cause, miss.at.map(|at| at.0))
}

#[test]
fn a_history_limit_that_drops_the_oldest_turn_is_the_cause() {
    let long = format!(r#"[{{"type":"text","text":"{}"}}]"#, "word ".repeat(8_000));
    let story = Story::new().user().answer_with(&long, "stop", [0, 10_000, 10]).after(1.0);
    let story = story.turn(10_000, 10_000, 10).after(1.0).turn(0, 10_050, 10);
    let config = r#"{"channels":{"telegram":{"dmHistoryLimit":1}}}"#;
    let found = |key: &str| last_miss_in_store(&story, key, config);
    assert_eq!(found("agent:main:telegram:direct:7"), (MissCause::HistoryLimit, Some(2)));
    assert_eq!(found("agent:main:main"), (MissCause::Unknown, None), "the limit is for telegram");
}

/// A call and its result of 70,000 chars.
fn with_result(story: Story, id: &str, count: [u32; 3]) -> Story {
    let call = format!(r#"[{{"type":"toolCall","id":"{id}","name":"exec","arguments":{{}}}}]"#);
    let text = "x".repeat(70_000);
    story.answer_with(&call, "toolUse", count).entry(&format!(
        r#""type":"message","message":{{"role":"toolResult","toolCallId":"{id}","toolName":"exec","content":[{{"type":"text","text":"{text}"}}]}}"#
    ))
}

/// A configuration that a release wrote, with a window in tokens.
fn config_of(release: &str, window: u32) -> String {
    format!(
        r#"{{"meta":{{"lastTouchedVersion":"{release}"}},"models":{{"providers":{{"anthropic":{{"baseUrl":"http://x","models":[{{"id":"claude-opus-4-6","name":"o","contextWindow":{window}}}]}}}}}}}}"#
    )
}

#[test]
fn a_guard_that_replaces_an_older_result_is_the_cause() {
    let story = with_result(Story::new().user(), "c1", [0, 20_000, 10]);
    let story = with_result(story, "c2", [20_000, 15_000, 10]).answer(0, 30_000, 10);
    let found = |window| last_miss_in_store(&story, "agent:main:main", &config_of("2026.3.2", window));
    assert_eq!(found(40_000), (MissCause::Guard, Some(2)));
    assert_eq!(found(200_000), (MissCause::Unknown, None), "both results fit");
}

#[test]
fn a_budget_of_all_results_that_cuts_an_older_one_is_the_cause() {
    let story = with_result(Story::new().user(), "c1", [0, 20_000, 10]);
    let story = with_result(story, "c2", [20_000, 15_000, 10]).answer(35_000, 15_000, 10).after(1.0);
    let story = story.turn(0, 30_000, 10);
    let found = |release| last_miss_in_store(&story, "agent:main:main", &config_of(release, 200_000));
    assert_eq!(found("2026.5.28"), (MissCause::ResultBudget, Some(2)));
    assert_eq!(found("2026.3.2"), (MissCause::Unknown, None), "this release has no such budget");
}

/// One recorded run: its start and its system prompt.
fn recorded_run(id: &str, minutes: f64, system: &str) -> String {
    let event = |kind: &str, data: &str| {
        let time = js::iso_text(Moment(START + minutes * MINUTE));
        format!(
            r#"{{"traceSchema":"openclaw-trajectory","schemaVersion":1,"type":"{kind}","ts":"{time}","sessionId":"s","runId":"{id}","data":{data}}}"#
        )
    };
    let compiled = format!(r#"{{"systemPrompt":"{system}","tools":[],"messages":[]}}"#);
    format!("{}\n{}\n", event("session.started", "{}"), event("context.compiled", &compiled))
}

#[test]
fn a_recorded_system_prompt_that_changed_is_the_cause() {
    let dir = tempfile::tempdir().unwrap();
    let story = begun().turn(0, 23_000, 10);
    let write = |name: &str, text: &str| {
        let mut file = std::fs::File::create(dir.path().join(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    write("s.jsonl", &story.text);
    let cause = |systems: [&str; 3]| {
        let runs = [("r1", 0.0), ("r2", 1.0), ("r3", 2.0)];
        let text: String =
            runs.iter().zip(systems).map(|((id, at), system)| recorded_run(id, *at, system)).collect();
        write("s.trajectory.jsonl", &text);
        let store = discover(Some(&dir.path().join("s.jsonl")), &Environment::default());
        let session = open(&store, &store.sessions[0].key, None, Moment::ZERO, &mut |_, _| true).unwrap();
        let ledger = cache_ledger(&session).unwrap();
        ledger.calls.last().and_then(|call| call.miss).map(|miss| miss.cause)
    };
    assert_eq!(cause(["a", "a", "b"]), Some(MissCause::SystemChanged));
    assert_eq!(cause(["a", "b", "b"]), Some(MissCause::Unknown));
}

#[test]
fn the_extra_cost_is_the_recorded_rate_above_the_rate_of_a_read() {
    // 23,010 tokens were paid with $0.23, and a read costs 0.5 USD per million at list prices.
    let story = begun().paying([0.0, 0.0, 0.2301]).turn(0, 23_000, 10);
    let miss = story.ledger().calls[2].miss.unwrap();
    let expected = 22_010.0 * (0.2301 / 23_010.0 - 0.5e-6);
    assert!((miss.cost.total().unwrap() - expected).abs() < 1e-12, "{miss:?}");
    assert!(!miss.cost.is_estimated());
    // Part of the prompt was read: its own recorded rate is the rate of a read.
    let story = begun().paying([0.0, 0.01, 0.13]).turn(10_000, 13_000, 0);
    let miss = story.ledger().calls[2].miss.unwrap();
    let expected = 12_010.0 * (0.13 / 13_000.0 - 0.01 / 10_000.0);
    assert!((miss.cost.total().unwrap() - expected).abs() < 1e-12, "{miss:?}");
}

#[test]
fn without_a_recorded_cost_list_prices_count_and_are_estimates() {
    let miss = begun().turn(0, 23_000, 10).ledger().calls[2].miss.unwrap();
    // Opus: 5 for input, 6.25 for a write, 0.5 for a read, USD per million.
    let paid = (23_000.0 * 6.25 + 10.0 * 5.0) / 23_010.0;
    let expected = 22_010.0 * (paid - 0.5) / 1e6;
    assert!((miss.cost.total().unwrap() - expected).abs() < 1e-12, "{miss:?}");
    assert!(miss.cost.is_estimated());
}

#[test]
fn a_provider_without_reports_has_no_misses_and_one_that_stops_reading_has() {
    let silent = Story::new().turn(0, 0, 20_000).turn(0, 0, 22_000).ledger();
    assert!(silent.calls.iter().all(|call| call.is_uncached && call.miss.is_none()));
    let (_, _, tokens) = last_miss(&begun().turn(0, 0, 23_000));
    assert_eq!(tokens, 22_010.0);
}

#[test]
fn sums_by_day_add_up_to_the_sum_of_all_calls() {
    let ledger = begun().after(15.0 * 60.0).turn(0, 23_000, 10).after(5.0).turn(23_010, 10, 1).ledger();
    let days = ledger.totals_by_day();
    assert_eq!(days.keys().collect::<Vec<_>>(), ["2026-11-19", "2026-11-20"]);
    assert_eq!(days["2026-11-20"].misses.calls, 1);
    let mut sum = CacheTotals::default();
    for day in days.values() {
        sum.merge(day);
    }
    let whole = ledger.totals();
    assert_eq!(
        (sum.calls, sum.read, sum.written, sum.misses.tokens),
        (4, whole.read, whole.written, Tokens(22_010.0))
    );
    assert_eq!(whole.worst_cause().map(|(cause, count)| (cause, count.calls)), Some((MissCause::Pause, 1)));
}
