//! Every class, each on the smallest session that shows it, in several sizes and in several providers' words.

use clawscope::report::explain::{FindingClass, GuardKind, OverflowKind};
use clawscope::units::Moment;
use serde_json::json;

use super::made::{Made, START_MS, words};
use super::on_store::{KEY, Read, read_session};
use super::{finding, line, number, verdict, why};

/// Providers' texts for a prompt of `sent` tokens that does not fit `limit`.
const WORDS: [fn(u64, u64) -> String; 5] = [
    |sent, limit| format!("prompt is too long: {sent} tokens > {limit} maximum"),
    |sent, limit| {
        format!(
            "400 This model's maximum context length is {limit} tokens. However, your messages resulted in {sent} tokens."
        )
    },
    |sent, limit| {
        format!("The input token count ({sent}) exceeds the maximum number of tokens allowed ({limit}).")
    },
    |sent, limit| {
        format!(
            "{{\"error\":{{\"message\":\"the request exceeds the available context size. n_prompt_tokens: {sent}, n_ctx: {limit}\"}}}}"
        )
    },
    |sent, limit| {
        format!("This model's maximum prompt length is {limit} but the request contains {sent} tokens.")
    },
];

/// A session that is refused in the words of each provider, on windows that take turns. `fill` gets the window.
fn each(fill: impl Fn(&mut Made, u64)) -> impl Iterator<Item = (u64, Made)> {
    let windows = [65_536, 131_072, 200_000];
    let all: Vec<(u64, Made)> = windows
        .into_iter()
        .cycle()
        .zip(WORDS)
        .map(|(window, words)| {
            let mut made = Made::new();
            fill(&mut made, window);
            made.failed(&words(made.prompt(), window));
            (window, made)
        })
        .collect();
    all.into_iter()
}

/// The session on a window, with pruning switched off.
fn unpruned(made: &Made, window: u64) -> Read {
    made.on(window)
        .config(json!({ "agents": { "defaults": { "contextPruning": { "mode": "off" } } } }))
        .read()
}

#[test]
fn one_result_larger_than_the_remaining_window() {
    for (window, made) in each(|made, window| {
        made.grow_to(window / 3, 8_000);
        made.user("read the log");
        made.step("exec", &[window as usize * 3]);
    }) {
        let message = verdict(&unpruned(&made, window), FindingClass::SingleResult, &["one exec result a"]);
        assert_eq!(message.overflows[0].limit, Some(window), "{}", message.overflows[0].text);
    }
}

#[test]
fn results_of_one_turn_that_are_too_large_together() {
    for (window, made) in each(|made, window| {
        made.grow_to(window / 2, 8_000);
        made.user("get everything");
        made.step("exec", &[window as usize, window as usize, window as usize]);
    }) {
        verdict(&unpruned(&made, window), FindingClass::ParallelResults, &["3 parallel results added ~"]);
    }
}

#[test]
fn a_user_message_larger_than_the_window() {
    for (window, made) in each(|made, window| {
        made.user("hello");
        made.answer(300);
        made.user(&words(window as usize * 4));
    }) {
        let message = verdict(&made.read(window), FindingClass::UserMessage, &["your message "]);
        assert!(message.no_setting_helps(), "{:#?}", message.advice);
    }
}

#[test]
fn one_run_that_outgrows_the_window_by_results_no_larger_than_their_siblings() {
    for (window, made) in each(|made, window| {
        made.grow_to(window / 4, 8_000);
        made.user("now everything");
        while made.prompt() < window {
            made.step("exec", &[window as usize / 4]);
        }
    }) {
        let message =
            verdict(&unpruned(&made, window), FindingClass::ToolLoopTreadmill, &["tool results take ~"]);
        assert!(why(&message, GuardKind::Compaction).contains("the check before this run saw"));
    }
}

#[test]
fn a_session_that_grows_message_by_message() {
    let mut made = Made::new();
    while made.prompt() < 195_000 {
        let number = made.count;
        made.user(&words(3_000 + number));
        made.answer(2_000);
    }
    made.user("go on");
    made.failed("prompt is too long: 200700 tokens > 200000 maximum");
    verdict(&made.read(200_000), FindingClass::GradualGrowth, &["grew message by message to 200,700 tokens"]);
}

#[test]
fn the_same_job_in_the_same_session_and_other_jobs_of_the_same_length() {
    let run = |text: &dyn Fn(usize) -> String| {
        let mut made = Made::new();
        while made.prompt() < 127_500 {
            let number = made.count;
            made.user(&text(number));
            made.answer(3_000);
            made.wait(30.0);
        }
        made.user(&text(made.count));
        made.failed("prompt is too long: 128200 tokens > 128000 maximum");
        made.on(128_000).config(json!({ "agents": { "defaults": { "compaction": { "reserveTokens": 0, "reserveTokensFloor": 0 } } } })).read()
    };
    let same = run(&|number| {
        format!("[cron:4 mail] Check the mail and say what is new. Current time: {number} March")
    });
    let message = verdict(&same, FindingClass::RecurringSessionGrowth, &["the same job ran "]);
    assert!(number(finding(&message, FindingClass::RecurringSessionGrowth), "count") > 100.0);
    let text_features = ["alpha", "gamma", "delta", "omega", "sigma"];
    let other = run(&|number| {
        let word = |at: usize| text_features[(number / at) % text_features.len()];
        format!("Please look at {} and {} and {} now", word(3), word(15), word(75))
    });
    assert_ne!(other.said().findings[0].class, FindingClass::RecurringSessionGrowth);
}

#[test]
fn system_prompt_and_tools_that_leave_no_room() {
    let mut made = Made::new();
    made.fixed = 41_000.0;
    made.user("hello");
    made.failed("400 This model's maximum context length is 40960 tokens. However, your request has 41200 input tokens.");
    let report = super::on_store::report(104_000, 60_000);
    verdict(
        &made.on(40_960).row(report).read(),
        FindingClass::FixedOverhead,
        &["system prompt, tools and files take ~"],
    );
}

#[test]
fn images_that_fill_the_window() {
    let mut made = Made::new();
    for number in 0..7 {
        made.user_with_images(1, 27_000.0);
        made.answer(100 + number);
    }
    made.user("and?");
    made.failed("prompt is too long: 201500 tokens > 200000 maximum");
    verdict(&made.read(200_000), FindingClass::ImageBloat, &["7 images take ~"]);
}

#[test]
fn a_request_too_large_in_bytes_is_not_a_token_limit() {
    for text in [
        "413 Request Entity Too Large",
        "413 {\"error\":{\"type\":\"request_too_large\",\"message\":\"Request exceeds the maximum size\"}}",
    ] {
        let mut made = Made::new();
        made.grow_to(30_000, 9_000);
        made.user_with_images(6, 1_500.0);
        made.failed(text);
        let message =
            verdict(&made.read(200_000), FindingClass::BytesLimit, &["too large in bytes (6 images)"]);
        assert_eq!(message.overflows[0].kind, OverflowKind::Bytes);
        assert!(message.findings.iter().all(|finding| finding.class != FindingClass::WrongWindow));
    }
}

#[test]
fn a_window_that_the_provider_does_not_serve_named_or_not() {
    for text in [
        "This model's maximum context length is 131072 tokens. However, you requested 133900 tokens",
        "Unhandled stop reason: model_context_window_exceeded",
        "Range of input length should be [1, 131072]",
    ] {
        let mut made = Made::new();
        made.grow_to(125_000, 20_000);
        made.user("go on");
        made.step("exec", &[34_000]);
        made.failed(text);
        let message =
            verdict(&made.read(200_000), FindingClass::WrongWindow, &["but the gateway assumes 200,000"]);
        assert_eq!(finding(&message, FindingClass::WrongWindow).prevents_overflow, Some(true));
        let first = &message.advice[0];
        assert!(
            first.fits_all && first.description().starts_with("contextWindow 200,000 → "),
            "{:#?}",
            message.advice
        );
        assert!(first.patch.contains("\"contextWindow\":"), "{}", first.patch);
    }
}

#[test]
fn a_reply_that_is_reserved_shrinks_the_window() {
    let mut made = Made::new();
    made.grow_to(64_000, 12_000);
    made.user("go on");
    made.step("exec", &[9_000]);
    let sent = made.prompt();
    made.failed(&format!(
        "400 This model's maximum context length is 98304 tokens. However, you requested {} tokens ({sent} in the messages, 32768 in the completion).",
        sent + 32_768
    ));
    let message =
        verdict(&made.read(98_304), FindingClass::PruningInert, &["Overflowed: pruning did nothing"]);
    assert_eq!(message.overflows[0].reply_reserve, Some(32_768));
    let reserve = finding(&message, FindingClass::ReplyReserve);
    assert_eq!((number(reserve, "prompt"), number(reserve, "reply")), (sent as f64, 32_768.0));
}

#[test]
fn a_fallback_model_with_a_smaller_window() {
    let mut made = Made::new();
    made.grow_to(180_000, 20_000);
    made.user("go on");
    made.model = ("openrouter", "mistral-large");
    made.failed("Prompt contains 181000 tokens, too large for model with 131072 maximum context length");
    let both = json!({ "models": { "providers": { "openrouter": { "models": [{ "id": "mistral-large", "contextWindow": 131_072 }] } } } });
    let large = json!({ "models": { "providers": { "anthropic": { "models": [{ "id": "claude-opus-4-6", "contextWindow": 1_000_000 }] } } } });
    let read = made.on(131_072).config(both).config(large).read();
    let message = verdict(
        &read,
        FindingClass::ModelSwitch,
        &["the call went to mistral-large, whose limit is 131,072"],
    );
    // The calls that the first model answered do fit, for any window of the second one.
    assert_eq!(message.recorded.unwrap().overflows, 1);
}

#[test]
fn a_provider_that_stops_counting() {
    let mut made = Made::new();
    made.grow_to(40_000, 9_000);
    while made.prompt() < 200_500 {
        let number = made.count;
        made.user(&words(2_000 + number));
        made.uncounted(6_000);
    }
    made.user("go on");
    made.failed("Your input exceeds the context window of this model.");
    let message =
        verdict(&made.read(200_000), FindingClass::CounterStaleLow, &["calls; its last count is 4"]);
    assert_eq!(finding(&message, FindingClass::CounterStaleLow).prevents_overflow, Some(true));
}

#[test]
fn a_provider_that_counts_only_new_tokens() {
    let mut made = Made::new();
    while made.prompt() < 40_000 {
        let number = made.count;
        made.user(&words(2_000 + number));
        made.answer(6_000);
    }
    while made.prompt() < 200_500 {
        let number = made.count;
        made.user(&words(2_000 + number));
        made.reported(6_000, 510);
    }
    made.user("go on");
    made.failed("prompt is too long: 201000 tokens > 200000 maximum");
    let off = json!({ "agents": { "defaults": { "contextPruning": { "mode": "off" } } } });
    let read = made.on(200_000).config(off).read();
    let message = verdict(&read, FindingClass::CounterStaleLow, &["reported far too few tokens for "]);
    assert_eq!(finding(&message, FindingClass::CounterStaleLow).prevents_overflow, Some(true));
}

#[test]
fn the_gate_that_kept_the_pruner_closed() {
    let gates = [
        ("ttl", json!({ "mode": "cache-ttl", "ttl": "3h" }), "contextPruning.ttl"),
        (
            "keep",
            json!({ "mode": "cache-ttl", "ttl": "30m", "keepLastAssistants": 90 }),
            "contextPruning.keepLastAssistants",
        ),
        (
            "tools",
            json!({ "mode": "cache-ttl", "ttl": "30m", "tools": { "deny": ["exec"] } }),
            "contextPruning.tools",
        ),
    ];
    for (name, pruning, key) in gates {
        let mut made = Made::new();
        made.grow_to(170_000, 20_000);
        made.wait(50.0);
        made.user(&words(140_000));
        made.failed(&format!("prompt is too long: {} tokens > 200000 maximum", made.prompt()));
        let off = json!({ "agents": { "defaults": { "contextPruning": pruning, "compaction": { "reserveTokens": 0, "reserveTokensFloor": 0 } } } });
        let read = made.on(200_000).config(off).read();
        let message = verdict(&read, FindingClass::PruningInert, &["pruning did nothing because "]);
        let guard = message.guards.iter().find(|guard| guard.kind == GuardKind::Pruning).unwrap();
        assert!(guard.opening_keys.contains(&key), "{name}: {guard:?}");
        assert!(
            message.advice[0].fits_all && message.advice[0].description().contains("contextPruning."),
            "{:#?}",
            message.advice
        );
    }
}

#[test]
fn disabled_pruning_is_not_the_cause() {
    let mut made = Made::new();
    made.grow_to(170_000, 20_000);
    made.wait(50.0);
    made.user(&words(140_000));
    made.failed(&format!("prompt is too long: {} tokens > 200000 maximum", made.prompt()));
    let off = json!({ "agents": { "defaults": { "contextPruning": { "mode": "off" } } } });
    let message = verdict(&made.on(200_000).config(off).read(), FindingClass::UserMessage, &[]);
    assert!(why(&message, GuardKind::Pruning).contains("mode is off"));
}

#[test]
fn replies_cut_shorter_and_shorter_show_a_smaller_window() {
    let mut made = Made::new();
    made.grow_to(60_000, 20_000);
    for (prompt, output) in [(64_300, 1_236), (65_000, 536), (65_535, 1)] {
        made.user("go on");
        made.settle(prompt);
        made.cut(output);
    }
    let message = made.read(200_000).said();
    assert_eq!(message.overflows.len(), 3);
    assert_eq!(number(finding(&message, FindingClass::WrongWindow), "served"), 65_536.0);
}

#[test]
fn useless_compactions_are_the_verdict_without_an_overflow() {
    let mut idle = Made::new();
    idle.user("hello");
    let kept = idle.answer(100_000);
    idle.user(&words(100_000));
    idle.compaction(&words(900), kept);
    idle.answer(300);
    verdict(&idle.read(200_000), FindingClass::CompactionNoOp, &["Compaction #1 freed nothing"]);
    let mut late = Made::new();
    late.grow_to(120_000, 20_000);
    for _ in 0..3 {
        late.failed("Compaction timed out after 60000 ms");
        late.wait(1.0);
    }
    verdict(&late.read(200_000), FindingClass::CompactionTimeout, &["3 compactions timed out"]);
}

#[test]
fn a_second_compaction_right_after_the_first_is_named_besides_the_cause() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    let kept = made.user(&words(760_000));
    made.compaction(&words(4_000), kept);
    made.failed("prompt is too long: 200164 tokens > 200000 maximum");
    let message = verdict(&made.read(200_000), FindingClass::UserMessage, &[]);
    assert!(finding(&message, FindingClass::CompactionRefused).headline().contains("right after compaction"));
}

#[test]
fn the_release_that_did_not_recognise_an_overflow_is_named() {
    let mut made = Made::new();
    made.grow_to(120_000, 20_000);
    made.user("go on");
    made.step("exec", &[60_000]);
    made.failed("Range of input length should be [1, 129024]");
    let message = made.read(131_072).said();
    assert_eq!(message.overflows[0].recognised, Some(false), "no release knows Qwen's words");
    assert!(why(&message, GuardKind::Recovery).contains("did not recognise this"), "{}", line(&message));
}

/// A session whose newest message waits for its answer when it is compacted, twice, at about these tokens.
fn compacted_while_waiting(tokens: u64, release: &str) -> Read {
    let mut made = Made::new();
    made.fixed = 3_000.0;
    for _ in 0..2 {
        let kept = made.user("go on");
        made.grow_to(tokens, 2_000);
        made.user("and now?");
        made.compaction(&words(2_000), kept);
        made.settle(6_000);
        made.answer(300);
    }
    made.on(32_000).config(json!({ "meta": { "lastTouchedVersion": release } })).read()
}

#[test]
fn a_compaction_far_below_the_trigger_while_a_message_waits_shows_a_refusal() {
    let session = compacted_while_waiting(13_800, "2026.9.6");
    let said = ["Overflowed 2x: the provider refused ~", "but the gateway assumes 32,000"];
    let message = verdict(&session, FindingClass::WrongWindow, &said);
    assert_eq!(message.findings[0].confidence.as_str(), "likely");
    assert!(message.overflows.iter().all(|it| it.kind == OverflowKind::Unrecorded));
    assert!(why(&message, GuardKind::Recovery).contains("1 compaction followed"), "{}", line(&message));
    assert!(message.findings.iter().all(|it| it.class != FindingClass::CompactionRefused));
}

#[test]
fn after_the_compaction_of_a_refused_prompt_the_model_is_told_to_go_on() {
    let mut made = Made::new();
    made.fixed = 3_000.0;
    let kept = made.user("go on");
    made.grow_to(13_800, 2_000);
    made.user("and now?");
    made.compaction(&words(2_000), kept);
    let added = |made: &Made| {
        let read = made.on(32_000).config(json!({ "meta": { "lastTouchedVersion": "2026.9.6" } })).read();
        let count = read.context.messages.len();
        read.sending_changes().unwrap().added.into_iter().filter(|it| it.message == count).count()
    };
    assert_eq!(added(&made), 1);
    made.answer(300);
    assert_eq!(added(&made), 0);
}

#[test]
fn a_compaction_near_the_trigger_or_of_a_release_that_keeps_refusals_shows_none() {
    for (tokens, release) in [(23_000, "2026.9.6"), (13_800, "2026.7.1")] {
        let session = compacted_while_waiting(tokens, release);
        assert!(session.overflows.is_empty(), "{tokens} under {release}");
    }
}

#[test]
fn a_recording_says_whether_a_call_was_refused_before_a_compaction() {
    let event = |status: &str| {
        json!({
            "traceSchema": "openclaw-trajectory", "schemaVersion": 1, "source": "runtime", "type": "trace.artifacts",
            "ts": "2026-11-19T08:00:01.000Z", "sessionId": "s", "runId": "r", "seq": 1,
            "data": { "finalStatus": status, "stopReason": status }
        })
    };
    // Near the trigger only the recording tells a refusal from a compaction that was due.
    for tokens in [13_800, 23_000] {
        let folder = compacted_while_waiting(tokens, "2026.9.6");
        let sessions = folder.folder().join("agents/main/sessions");
        let transcript = sessions.join("s.jsonl");
        let named = std::fs::read_to_string(&transcript).unwrap();
        let named =
            named.replace(r#""type":"compaction","#, r#""type":"compaction","__openclaw":{"runId":"r"},"#);
        crate::support::fixture::put(&transcript, named);
        for (status, refused) in [("success", 0), ("error", 2)] {
            let recording = sessions.join("s.trajectory.jsonl");
            crate::support::fixture::put(&recording, format!("{}\n", event(status)));
            let read = read_session(folder.folder(), Moment(START_MS), |key| key.0 == KEY);
            assert_eq!(read.overflows.len(), refused, "{status} at {tokens}");
        }
    }
}

#[test]
fn a_release_that_counts_summarised_messages_compacts_after_every_turn() {
    let mut made = Made::new();
    made.fixed = 3_000.0;
    made.grow_to(15_000, 2_000);
    let kept = made.user("go on");
    made.answer(4_000);
    made.compaction(&words(2_000), kept);
    made.user("and now?");
    made.answer(8_000);
    made.compaction(&words(2_000), kept);
    let said = |release: &str| {
        let read = made.on(24_000).config(json!({ "meta": { "lastTouchedVersion": release },
            "agents": { "defaults": { "compaction": { "reserveTokens": 8_000, "reserveTokensFloor": 8_000 } } } }));
        let message = read.read().said();
        finding(&message, FindingClass::CompactionNoOp).headline()
    };
    assert!(said("2026.7.1").ends_with("freed nothing: this release counts summarised messages again"));
    assert!(said("2026.9.6").ends_with("freed nothing"));
}
