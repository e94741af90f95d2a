//! Small sessions replayed against the examples of the rules.

use std::fmt::Write as _;

mod by_list;
mod check;
mod departures;
mod rare_stories;
mod stories;

use super::*;
use crate::gateway::models::opus_price;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Ruleset;
use crate::ids::LineIds;
use crate::js;
use crate::policy::PolicySet;
use crate::policy::compact::branch_entries;
use crate::policy::features::ContentFeatures;
use crate::policy::preflight::FixedPressure;
use crate::policy::prune::Gate;
use crate::store::entry::ReadMode;
use crate::store::load::{load_bytes, load_for_release};
use crate::store::source::Source;
use crate::units::{Chars, Moment, Tokens};

const MINUTE: i64 = 60_000;
/// 2026-02-21T05:00:00Z, ms.
const START: i64 = 1_771_650_000_000;

/// Replays a session under the settings in force and under others, as an opened session does.
fn replay(session: &ReplaySession<'_>, recorded: &Settings, simulated: &Settings) -> Replay {
    let record = recorded_trace(session, recorded, &|| true).expect("nobody stops it");
    let trace = simulated_trace(session, simulated, &record, &|| true).expect("nobody stops it");
    record.into_replay(session, Arc::new(trace))
}

/// A session built entry by entry; each entry is the child of the previous one.
#[derive(Default, Clone)]
struct Script {
    text: String,
    entries: usize,
    minutes: i64,
    /// Texts are read, as for policies that cut them.
    has_texts: bool,
    /// The runtime projects the transcript, so that context edits count.
    is_projected: bool,
}

impl Script {
    fn entry(mut self, rest: &str) -> Self {
        let at = self.entries;
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let time = js::iso_text(Moment::from_whole(START + self.minutes * MINUTE));
        let _ =
            writeln!(self.text, "{{\"id\":\"e{at}\",\"parentId\":{parent},\"timestamp\":\"{time}\",{rest}}}");
        self.entries += 1;
        self
    }

    fn after(mut self, minutes: i64) -> Self {
        self.minutes += minutes;
        self
    }

    fn user(self) -> Self {
        self.entry(r#""type":"message","message":{"role":"user","content":"go on"}"#)
    }

    /// An answer to a prompt of `prompt` tokens; with `calls` it calls a tool.
    fn answer(self, prompt: u64, calls: bool) -> Self {
        let id = self.entries;
        let (block, stop) = if calls {
            (format!(r#"{{"type":"toolCall","id":"c{id}","name":"exec","arguments":{{}}}}"#), "toolUse")
        } else {
            (r#"{"type":"text","text":"done"}"#.to_owned(), "stop")
        };
        self.entry(&format!(
            r#""type":"message","message":{{"role":"assistant","content":[{block}],"stopReason":"{stop}","usage":{{"input":{prompt},"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}}}"#,
            prompt + 10
        ))
    }

    /// The result of the previous call, `chars` long.
    fn result(self, chars: usize) -> Self {
        let (id, text) = (self.entries - 1, "x".repeat(chars));
        self.entry(&format!(
            r#""type":"message","message":{{"role":"toolResult","toolCallId":"c{id}","toolName":"exec","content":[{{"type":"text","text":"{text}"}}]}}"#
        ))
    }

    fn refused(self, words: &str) -> Self {
        self.entry(&format!(
            r#""type":"message","message":{{"role":"assistant","content":[],"stopReason":"error","errorMessage":"{words}"}}"#
        ))
    }

    fn index(&self) -> Index {
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}", self.text);
        if self.is_projected {
            let source = Source::from_memory("t.jsonl", text.into_bytes());
            return load_for_release(&source, ReadMode::Projected, &mut LineIds, &mut |_, _| true)
                .expect("loads");
        }
        load_bytes("t.jsonl", text.as_bytes(), &mut LineIds)
    }

    /// Replays it with a provider that takes `window` tokens. The record has no policies.
    fn replay(&self, simulated: &Settings, window: Tokens, refused: &[RefusedCall]) -> Replay {
        self.with_session(window, refused, |session| replay(session, &settings(&[]), simulated))
    }

    fn with_session<T>(
        &self,
        window: Tokens,
        refused: &[RefusedCall],
        ask: impl FnOnce(&ReplaySession<'_>) -> T,
    ) -> T {
        let index = self.index();
        let path: Vec<EntryIx> = index.iter().map(|(ix, _)| ix).collect();
        let features = |line| {
            let entry = js::parse(line).expect("JSON");
            let rules = Ruleset::V2026_7_1.rules();
            entry.get("message").map(|message| Arc::new(ContentFeatures::of_under(rules, message)))
        };
        let features = self.has_texts.then(|| self.text.lines().map(features).collect::<Vec<_>>());
        let branch = branch_entries(&index, &path, |_| Ok::<_, ()>(js::Value::Null)).expect("reads");
        let session = ReplaySession {
            index: &index,
            path: &path,
            branch: &branch,
            features: features.as_deref(),
            refused,
            cut_short: &HashSet::new(),
            unreliable_answers: &HashSet::new(),
            copied_failures: &HashSet::new(),
            cache_touches: &[],
            prune_eligible: true,
            fixed_tokens: 0,
            fixed_pressure: FixedPressure::default(),
            drops_thinking: false,
            repair: RepairRules::default(),
            calibrated: None,
            provider_window: window,
            runtime_window: window,
            replies: &HashMap::new(),
            windows: &HashMap::new(),
            mode: CompactionMode::Default,
            retention: Retention::Short,
            price: Some(opus_price()),
            prices: &HashMap::new(),
        };
        ask(&session)
    }
}

fn refused_at(entry: u32, requested: Option<f64>, limit: Option<f64>) -> RefusedCall {
    RefusedCall {
        entry: EntryIx(entry),
        requested: requested.map(Tokens),
        limit: limit.map(Tokens),
        excess: None,
        min_tokens: Tokens::ZERO,
        reason: crate::replay::RefusalReason::Tokens,
    }
}

fn settings(steps: &[Policy]) -> Settings {
    let mut all = PolicySettings::pruning_only(PruneSettings {
        keep_last_assistants: 1.0,
        soft_trim_ratio: 0.1,
        min_prunable_tool_chars: Chars(1.0),
        ..PruneSettings::default()
    });
    all.enabled = PolicySet::of(steps);
    all.compaction.keep_recent_tokens = Tokens(100.0);
    all.compaction.reserve_tokens = Tokens(1_000.0);
    all.summary_tokens = 50;
    Settings {
        policies: all,
        prune_on: true,
        window: Tokens(10_000.0),
        guard_window: Tokens(10_000.0),
        // The scripts show what an ideal gateway does.
        assumptions: Assumptions { ideal_compaction: true, ..Assumptions::default() },
    }
}

/// A run with a large result; then, after `minutes` idle, a run with two calls.
fn idle(minutes: i64) -> Script {
    let first = Script::default().user().answer(2, true).result(20_000).answer(5_100, false);
    first.after(minutes).user().answer(5_200, true).result(40).answer(5_300, false)
}

#[test]
fn after_an_idle_time_the_first_call_is_pruned_and_the_next_within_the_ttl_is_not() {
    let replay = idle(5).replay(&settings(&[Policy::Prune]), Tokens(200_000.0), &[]);
    let pruned: Vec<bool> = replay.simulated.iter().map(|call| call.pruned.has_changes()).collect();
    assert_eq!(pruned, [false, false, true, false]);
    let gates = replay.simulated.iter().map(|call| call.gate);
    let words: Vec<&str> = gates.map(|gate| gate.reason().map_or("open", |reason| reason.word())).collect();
    assert_eq!(words[2], "open");
    assert!(matches!(replay.simulated[0].gate, Gate::NeverTouched));
    assert!(matches!(replay.simulated[3].gate, Gate::Warm { .. }));
    assert_eq!(replay.simulated[2].first_changed, Some(EntryIx(2)));
    assert_eq!(replay.simulated[3].tokens, replay.recorded[3].tokens);
    assert!(!replay.touches_recorded);
}

#[test]
fn a_pause_a_minute_shorter_than_the_ttl_does_not_prune() {
    let replay = idle(4).replay(&settings(&[Policy::Prune]), Tokens(200_000.0), &[]);
    assert_eq!(replay.simulated.len(), 4);
    assert!(replay.simulated.iter().all(|call| !call.pruned.has_changes()));
    assert_eq!(firing_log(&replay, Tokens(200_000.0)), FiringLog { events: Vec::new(), stats: Vec::new() });
}

#[test]
fn a_pruned_prompt_is_written_to_the_cold_cache_and_the_unpruned_one_after_it_again() {
    let replay = idle(5).replay(&settings(&[Policy::Prune]), Tokens(200_000.0), &[]);
    let [_, _, pruned, unpruned] = &replay.simulated[..] else { panic!("four calls") };
    assert!(
        !pruned.is_measured && pruned.split.read == Tokens::ZERO && pruned.split.write == pruned.expected
    );
    // The next call can read only the part before the pruned result.
    assert!(
        unpruned.split.read < Tokens(10.0) && unpruned.split.write > Tokens(5_000.0),
        "{:?}",
        unpruned.split
    );
    assert!(pruned.cache_cost.expect("a price") < 0.0);
    let fired = firing_log(&replay, Tokens(200_000.0)).events;
    assert_eq!(
        fired.iter().map(|fired| (fired.kind, fired.call)).collect::<Vec<_>>(),
        [(PolicyEventKind::Prune, 2)]
    );
    assert_eq!(fired[0].first, Some(EntryIx(2)));
}

/// Two runs; the first ends with a count of `count` tokens.
fn two_runs(count: u64) -> Script {
    Script::default()
        .user()
        .answer(2, true)
        .result(4_000)
        .answer(count - 10, false)
        .after(1)
        .user()
        .answer(2_000, false)
}

#[test]
fn the_threshold_is_passed_by_more_than_window_less_reserve() {
    let at = |count| {
        let replay = two_runs(count).replay(&settings(&[Policy::Compact]), Tokens(10_000.0), &[]);
        replay.simulated.iter().map(|call| call.compacted.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(at(9_000), [false, false, false]);
    assert_eq!(at(9_001), [false, false, true]);
}

#[test]
fn a_compaction_frees_the_summarised_tokens_and_restarts_the_cache() {
    let replay = two_runs(9_001).replay(&settings(&[Policy::Compact]), Tokens(10_000.0), &[]);
    let (before, after) = (&replay.recorded[2], &replay.simulated[2]);
    let compacted = after.compacted.as_ref().expect("compacted");
    assert!(!compacted.by_overflow && !compacted.is_recorded);
    assert_eq!(before.tokens - after.tokens, compacted.tokens);
    assert_eq!(after.split.read, Tokens::ZERO);
    assert!(compacted.summary_cost.expect("a price") > 0.0);
}

#[test]
fn a_refused_prompt_is_compacted_and_fits_the_second_time() {
    let script = two_runs(5_000).after(1).user().refused("prompt is too long: 12000 tokens > 10000 maximum");
    let refused = [refused_at(7, Some(12_000.0), Some(10_000.0))];
    let mut compacting = settings(&[Policy::Compact]);
    compacting.policies.compaction.keep_recent_tokens = Tokens(1.0);
    let replay = script.replay(&compacting, Tokens(11_500.0), &refused);
    let (recorded, simulated) = (&replay.recorded[3], &replay.simulated[3]);
    assert!(recorded.overflowed && recorded.failed && recorded.expected == Tokens(12_000.0));
    assert!(simulated.overflowed && !simulated.failed, "{simulated:?}");
    assert!(simulated.compacted.as_ref().is_some_and(|compacted| compacted.by_overflow));
    let alone = script.replay(&settings(&[]), Tokens(11_500.0), &refused);
    assert!(alone.simulated[3].overflowed && alone.simulated[3].failed);
    assert_eq!(alone.totals()[1].overflows, 1);
}

#[test]
fn an_answer_to_a_prompt_above_the_window_is_a_silent_overflow() {
    let silent = [refused_at(3, None, None)];
    let replay = two_runs(12_000).replay(&settings(&[]), Tokens(10_000.0), &silent);
    let overflows: Vec<bool> = replay.recorded.iter().map(|call| call.overflowed).collect();
    assert_eq!(overflows, [false, true, false]);
    // The call had an answer anyway.
    assert!(!replay.recorded[1].failed);
}

#[test]
fn an_answer_to_a_prompt_that_the_server_cut_is_compared_with_the_trigger() {
    let cut = |counted: f64| {
        let reason = RefusalReason::Cut { counted: Tokens(counted) };
        let of_limit = refused_at(3, None, Some(9_000.0));
        let refused = [RefusedCall { reason, min_tokens: Tokens(9_001.0), ..of_limit }];
        let read = |session: &ReplaySession<'_>| {
            // What the server counted does not measure the prompt.
            let doubted = HashSet::from([EntryIx(3)]);
            let session = ReplaySession { unreliable_answers: &doubted, ..*session };
            // On record the server's count stayed below the trigger.
            let mut recorded = settings(&[Policy::Compact]);
            recorded.policies.compaction.reserve_tokens = Tokens::ZERO;
            replay(&session, &recorded, &settings(&[Policy::Compact]))
        };
        let replay = two_runs(9_000).with_session(Tokens(10_000.0), &refused, read);
        replay.simulated.iter().map(|call| call.compacted.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(cut(9_000.0), [false; 3]);
    assert_eq!(cut(9_001.0), [false, false, true]);
}

/// For both traces and each call: whether it fits, and whether it was answered.
fn fates(replay: &Replay) -> [Vec<(bool, bool)>; 2] {
    [&replay.recorded, &replay.simulated]
        .map(|trace| trace.iter().map(|it| (it.overflowed, it.failed)).collect())
}

#[test]
fn an_answered_call_is_no_overflow_even_above_the_window() {
    let within = Script::default().user().answer(12_000, true).result(40).answer(5_000, false);
    let [recorded, simulated] = fates(&within.replay(&settings(&[]), Tokens(10_000.0), &[]));
    assert_eq!(recorded, [(false, false); 2], "a call within a run is no overflow for its count");
    assert_eq!(simulated, recorded);
}

#[test]
fn the_settings_in_force_bring_the_record_again() {
    let silent = two_runs(12_000);
    let words = [refused_at(3, None, None)];
    let [recorded, simulated] = fates(&silent.replay(&settings(&[]), Tokens(10_000.0), &words));
    assert_eq!(recorded, [(false, false), (true, false), (false, false)]);
    assert_eq!(simulated, recorded, "the runtime recognises an overflow, but the call was answered");
    let refused = two_runs(5_000).after(1).user().refused("prompt is too long: 8000 tokens");
    for requested in [Some(8_000.0), Some(12_000.0), None] {
        let words = [refused_at(7, requested, None)];
        let [recorded, simulated] = fates(&refused.replay(&settings(&[]), Tokens(10_000.0), &words));
        assert_eq!(recorded[3], (true, true), "{requested:?}");
        assert_eq!(simulated, recorded, "{requested:?}: refused below the window is refused all the same");
    }
}

#[test]
fn a_refused_call_that_now_fits_is_paid_once() {
    let script = idle(70).user().refused("prompt is too long: 12000 tokens > 10000 maximum");
    let refused = [refused_at(9, Some(12_000.0), Some(10_000.0))];
    let fitting = Settings { policies: settings(&[Policy::History]).policies, ..settings(&[]) };
    let mut limited = fitting.clone();
    limited.policies.history_limit = 1.0;
    let replay = script.replay(&limited, Tokens(10_000.0), &refused);
    let (recorded, simulated) = (&replay.recorded[4], &replay.simulated[4]);
    assert!(recorded.failed && recorded.cost == Some(0.0), "{recorded:?}");
    assert!(!simulated.overflowed && simulated.cost > Some(0.0), "{simulated:?}");
    assert_eq!(simulated.split.output, Tokens(10.0), "an answer as long as those before it");
    // The next call repeats the request and has the answer.
    let replay = script.answer(5_300, false).replay(&limited, Tokens(10_000.0), &refused);
    assert!(replay.calls[4].retried && !replay.simulated[4].failed);
    assert_eq!(replay.simulated[4].cost, Some(0.0));
}

#[test]
fn calls_have_their_idle_time_and_start_of_run() {
    let calls = idle(30).replay(&settings(&[]), Tokens(1e6), &[]).calls;
    let idle: Vec<f64> = calls.iter().map(|call| call.idle_ms.get()).collect();
    assert!(idle[0].is_nan());
    assert_eq!(idle[1..], [0.0, 30.0 * MINUTE as f64, 0.0]);
    assert_eq!(calls.iter().map(|call| call.opens_run).collect::<Vec<_>>(), [true, false, true, false]);
}

#[test]
fn a_policy_that_repeatedly_frees_little_fires_too_often() {
    let mut script = Script::default().user().answer(2, true).result(20_000).answer(5_000, false);
    for _ in 0..4 {
        script = script.after(6).user().answer(5_000, false);
    }
    let replay = script.replay(&settings(&[Policy::Prune]), Tokens(200_000.0), &[]);
    let often = |window: f64| firing_log(&replay, Tokens(window)).stats;
    let usual = crate::config::FiringLimits::default();
    assert_eq!((often(200_000.0)[0].times, often(200_000.0)[0].is_too_frequent(usual)), (4, false));
    assert!(often(1e6)[0].is_too_frequent(usual), "{:?}", often(1e6));
    let patient = crate::config::FiringLimits { times: 5, ..usual };
    assert!(!often(1e6)[0].is_too_frequent(patient));
    let strict = crate::config::FiringLimits { freed: 0.5, ..usual };
    assert!(often(200_000.0)[0].is_too_frequent(strict));
    assert!(!often(f64::NAN)[0].is_too_frequent(strict), "a share of an unknown window");
}

#[test]
fn a_single_trace_equals_the_simulated_one_and_can_be_cancelled() {
    fn shared<T: Send + Sync>() {}
    let script = idle(5);
    let (prune, nothing) = (settings(&[Policy::Prune]), settings(&[]));
    let replay = script.replay(&prune, Tokens(200_000.0), &[]);
    script.with_session(Tokens(200_000.0), &[], |session| {
        let always = || true;
        let record = recorded_trace(session, &nothing, &always).expect("wanted");
        assert_eq!((record.calls.len(), &record.trace), (replay.calls.len(), &replay.recorded));
        let trace = simulated_trace(session, &prune, &record, &always).expect("wanted");
        assert_eq!(trace, *replay.simulated);
        assert_eq!(simulated_totals(session, &prune, &record, &always), Some(replay.totals()[1]));
        let requested = std::cell::Cell::new(0);
        let twice = || requested.replace(requested.get() + 1) < 2;
        assert_eq!(simulated_trace(session, &prune, &record, &twice), None);
        assert_eq!(requested.get(), 3);
    });
    shared::<(RecordedTrace, ReplaySession<'_>, Settings)>();
}

#[test]
fn a_refused_call_is_the_largest_prompt_only_if_the_refusal_names_its_tokens() {
    let script = two_runs(5_000).after(1).user().refused("the request is too large");
    let totals = |requested| {
        let refused = [refused_at(7, requested, None)];
        script.replay(&settings(&[]), Tokens(10_000.0), &refused).totals()[0]
    };
    let unnamed = totals(None);
    assert_eq!((unnamed.peak, unnamed.refused.1), (unnamed.answered, None));
    assert!(unnamed.peak.1.is_some() && unnamed.peak.0 <= Tokens(5_000.0), "{unnamed:?}");
    let named = totals(Some(12_000.0));
    assert_eq!((named.peak, named.answered), ((Tokens(12_000.0), Some(3)), unnamed.answered));
    let replay = script.replay(&settings(&[]), Tokens(10_000.0), &[refused_at(7, None, None)]);
    assert!(!replay.recorded[3].has_size() && !replay.simulated[3].has_size());
    assert_eq!(replay.recorded[3].missing_size_label(), "refused");
}

/// A compaction of everything so far; `before` is the JSON member with its tokens before.
fn compacted(script: Script, before: &str) -> Script {
    let rest = format!(r#""type":"compaction","summary":"so far","firstKeptEntryId":"e2"{before}"#);
    script.after(1).entry(&rest)
}

#[test]
fn tokens_before_a_compaction_are_those_of_the_file_else_of_the_last_counted_prompt() {
    let before = |script: Script| {
        let replay = script.user().answer(700, false).replay(&settings(&[]), Tokens(10_000.0), &[]);
        let done = replay.recorded[2]
            .compacted
            .as_ref()
            .expect("a compaction")
            .tokens_before_or_estimate(Tokens::ZERO);
        (done.tokens, done.is_estimate)
    };
    let script = || Script::default().user().answer(3_000, false).user().answer(4_000, false);
    assert_eq!(before(compacted(script(), r#","tokensBefore":9000"#)), (Tokens(9_000.0), false));
    assert_eq!(before(compacted(script(), "")), (Tokens(4_000.0), false));
}

#[test]
fn compactions_before_a_call_and_after_the_last_one_all_count() {
    let script = Script::default().user().answer(3_000, false).user();
    let twice = compacted(compacted(script, ""), "").user().answer(700, false);
    let replay = compacted(twice, r#","tokensBefore":800"#).replay(&settings(&[]), Tokens(10_000.0), &[]);
    assert_eq!(replay.totals().map(|total| total.compactions), [3, 3]);
    let last = replay.recorded[1].compacted_after.as_ref().expect("behind the last call");
    assert_eq!(last.tokens_before_or_estimate(Tokens::ZERO).tokens, Tokens(800.0));
    assert_eq!(replay.totals()[0].cost_breakdown.unrecorded_summaries, 3);
}

#[test]
fn a_recorded_cost_of_zero_leaves_the_list_price_as_an_estimate() {
    let usage = |cost: &str| {
        format!(
            r#""type":"message","message":{{"role":"assistant","content":[],"stopReason":"stop","usage":{{"input":1000000,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":1000000{cost}}}}}"#
        )
    };
    let spent = |costs: [&str; 2]| {
        let script = Script::default().user().entry(&usage(costs[0])).user().entry(&usage(costs[1]));
        script.replay(&settings(&[]), Tokens(2e6), &[]).totals()[0].cost_breakdown
    };
    let [zero, paid] = [r#","cost":{"total":0}"#, r#","cost":{"total":1.25}"#];
    let script = Script::default().user().entry(&usage(zero));
    let calls = script.replay(&settings(&[]), Tokens(2e6), &[]).recorded;
    assert_eq!((calls[0].recorded_cost, calls[0].cost, calls[0].total_cost), (Some(0.0), Some(5.0), 5.0));
    let free = spent([zero, zero]);
    assert_eq!((free.recorded, free.listed, free.unrecorded_calls), (Some(0.0), Some(10.0), 2));
    let mixed = spent([paid, ""]);
    assert_eq!((mixed.recorded, mixed.listed, mixed.unrecorded_calls), (Some(1.25), Some(5.0), 1));
    assert_eq!(mixed.total(), Some(6.25));
}

#[test]
fn a_prompt_that_was_refused_is_not_read_from_the_cache() {
    let script = Script::default().user().refused("prompt is too long: 12000 tokens > 10000 maximum");
    let refused = [refused_at(1, Some(12_000.0), Some(10_000.0))];
    let replay = script.user().answer(8_000, false).replay(&settings(&[]), Tokens(10_000.0), &refused);
    let price = opus_price();
    let uncached = (8_000.0 * price.cache_write + 10.0 * price.output) / 1e6;
    assert_eq!(replay.recorded[1].modelled_cost, Some(uncached));
}

#[test]
fn the_call_after_a_compacted_one_reads_exactly_its_prompt_from_the_cache() {
    let script = two_runs(9_001).result(4_000).answer(2_500, false);
    let replay = script.replay(&settings(&[Policy::Compact]), Tokens(10_000.0), &[]);
    let [.., first, second] = &replay.simulated[..] else { panic!("four calls") };
    assert!(first.compacted.is_some() && second.compacted.is_none());
    assert!(!second.is_measured, "the prompt is another one than the record's");
    let read = first.tokens * second.expected.get() / second.tokens;
    assert!((second.split.read - Tokens(read)).abs() < Tokens(1e-6), "{} {read}", second.split.read.get());
}

#[test]
fn a_result_larger_than_the_window_is_truncated_after_the_overflow() {
    let script = Script { has_texts: true, ..Script::default() };
    let script = script.user().answer(100, true).result(200_000);
    let script = script.refused("prompt is too long: 50000 tokens > 30000 maximum");
    let refused = [refused_at(3, Some(50_000.0), Some(30_000.0))];
    let mut truncating = settings(&[Policy::Truncate]);
    truncating.window = Tokens(30_000.0);
    let replay = script.replay(&truncating, Tokens(30_000.0), &refused);
    let call = &replay.simulated[1];
    assert!(call.overflowed && !call.failed, "{call:?}");
    assert!(call.truncated.as_ref().is_some_and(|cut| cut.by_overflow && cut.messages == 1));
    assert!(call.expected <= Tokens(30_000.0) && replay.recorded[1].failed);
    assert!(script.replay(&settings(&[]), Tokens(30_000.0), &refused).simulated[1].failed);
}

#[test]
fn a_summary_with_a_recorded_cost_of_zero_costs_its_list_price() {
    let usage = r#","usage":{"input":1000000,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":1000000,"cost":{"total":0}}"#;
    let script = Script::default().user().answer(3_000, false).user().answer(4_000, false);
    let script = compacted(script, usage).user().answer(700, false);
    let replay = script.replay(&settings(&[]), Tokens(10_000.0), &[]);
    let done = replay.recorded[2].compacted.as_ref().expect("a compaction");
    assert_eq!((done.summary_recorded, done.summary_cost), (Some(0.0), Some(5.0)));
}

#[test]
fn a_removed_image_leaves_the_summary_and_the_messages_before_it_in_the_cache() {
    let image = r#""type":"message","message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"QUJD"}]}"#;
    let script = Script { has_texts: true, ..Script::default() };
    let script = script.user().answer(3_000, false).user().answer(4_000, false);
    let script = compacted(script, "").entry(image).answer(2_500, false).user().answer(2_600, false);
    let replay = script.replay(&settings(&[Policy::Images]), Tokens(10_000.0), &[]);
    let call = &replay.simulated[3];
    assert!(call.tokens != replay.recorded[3].tokens && !call.is_measured);
    let read = call.split.read * call.tokens.get() / call.expected;
    // The estimate counts no image of a person.
    let before_image = replay.recorded[2].tokens;
    assert!((read - before_image.get()).abs() < 1e-6, "{read} {before_image:?}");
}

#[test]
fn tokens_removed_by_a_compaction_are_withheld_from_every_later_call() {
    let script = two_runs(9_001).result(4_000).answer(2_500, false);
    let replay = script.replay(&settings(&[Policy::Compact]), Tokens(10_000.0), &[]);
    let removed = replay.simulated[2].compacted.as_ref().expect("compacted before the third call").tokens;
    let [recorded, simulated] = replay.totals();
    assert_eq!(
        (simulated.removed_tokens, simulated.withheld_tokens),
        (removed, Tokens(2.0 * removed.get())),
        "two calls follow"
    );
    assert_eq!((recorded.removed_tokens, recorded.withheld_tokens), (Tokens::ZERO, Tokens::ZERO));
    let pruned = idle(5).replay(&settings(&[Policy::Prune]), Tokens(200_000.0), &[]);
    let freed = pruned.simulated[2].pruned.tokens;
    assert_eq!(pruned.totals()[1].withheld_tokens, freed, "pruning changes one prompt alone");
}

#[test]
fn results_newly_replaced_by_the_guard_are_not_read_from_the_cache_after_a_summary() {
    let script = Script { has_texts: true, ..Script::default() };
    let script = script.user().answer(3_000, false).user().answer(4_000, false);
    let script = compacted(script, "").user().answer(2_500, true).result(16_000).answer(6_500, true);
    let script = script.result(16_000).answer(10_500, true).result(16_000).answer(14_500, false);
    let replay = script.replay(&settings(&[Policy::Guard]), Tokens(20_000.0), &[]);
    let [.., one, two, three] = &replay.simulated[..] else { panic!("six calls") };
    let changed = [one, two, three].map(|call| (call.guarded.trimmed, call.guarded.cleared));
    assert_eq!(changed, [(1, 0), (1, 1), (1, 2)], "the newest result is cut, the older ones are replaced");
    let cut = Tokens(4_000.0) - one.guarded.tokens;
    for (before, call) in [(one, two), (two, three)] {
        let read = call.split.read * (call.tokens / call.expected);
        assert!(
            (read - (before.tokens - cut)).abs() < Tokens(1e-6),
            "all but the result that was cut: {read:?}"
        );
    }
}

#[test]
fn a_prompt_that_was_counted_unpruned_contradicts_the_pruning_of_the_record() {
    let contradicted = |script: &Script| {
        script.with_session(Tokens(200_000.0), &[], |session| {
            let record = recorded_trace(session, &settings(&[Policy::Prune]), &|| true).expect("wanted");
            contradicted_policies(&record)
        })
    };
    // The result of 5,000 tokens is still in the prompt that was counted after the pause.
    assert_eq!(contradicted(&idle(5)), PolicySet::of(&[Policy::Prune]));
    assert_eq!(contradicted(&idle(4)), PolicySet::NONE, "nothing was pruned");
    let pruned = Script::default().user().answer(2, true).result(20_000).answer(5_100, false);
    let pruned = pruned.after(5).user().answer(1_000, false);
    assert_eq!(contradicted(&pruned), PolicySet::NONE, "the count is that of the pruned prompt");
}

#[test]
fn each_policy_that_fired_has_separate_totals() {
    let log =
        firing_log(&idle(5).replay(&settings(&[Policy::Prune]), Tokens(200_000.0), &[]), Tokens(200_000.0));
    let [stats] = &log.stats[..] else { panic!("one policy fired: {:?}", log.stats) };
    let [event] = &log.events[..] else { panic!("once: {:?}", log.events) };
    assert_eq!((stats.kind, stats.times, stats.call_interval), (PolicyEventKind::Prune, 1, 4.0));
    assert_eq!((stats.tokens, Some(stats.cost)), (event.tokens, event.cost));
    assert_eq!(stats.freed_share, event.tokens / Tokens(200_000.0));
}

#[test]
fn totals_are_the_sums_over_all_calls() {
    let script = two_runs(9_001).result(4_000).answer(2_500, false);
    let replay = script.replay(&settings(&[Policy::Compact]), Tokens(10_000.0), &[]);
    let totals = replay.totals()[1];
    let sum = |of: fn(&CallReplay) -> Tokens| replay.simulated.iter().map(of).sum::<Tokens>();
    assert_eq!(totals.calls, replay.simulated.len());
    assert_eq!(totals.cache_read, sum(|call| call.split.read));
    assert_eq!(totals.cache_write, sum(|call| call.split.write));
    assert_eq!(totals.input, sum(|call| call.split.input));
    assert_eq!(totals.compactions, 1);
    let largest = replay.simulated.iter().map(|call| call.expected).fold(Tokens::ZERO, Tokens::max);
    assert_eq!((totals.peak.0, totals.overflows, totals.failed), (largest, 0, 0));
}
