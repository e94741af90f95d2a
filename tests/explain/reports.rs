//! The reports that real people made, as sessions with the same numbers, each with its store row and configuration.

use clawscope::explain::{Advice, Class};
use serde_json::json;

use crate::made::{Made, at, words};
use crate::on_store::{KEY, report};
use crate::{finding, line, number, verdict};

#[test]
fn three_parallel_results_inside_the_protected_tail() {
    let mut made = Made::new();
    made.grow_to(140_000, 20_000);
    made.user("get everything");
    made.settle(154_535);
    let results = made.step("exec", &[38_662, 155_016, 136_693]);
    made.failed("prompt is too long: 390607 tokens > 200000 maximum");
    let explanation = verdict(&made.read(200_000), Class::ParallelResults, &[]);
    let entries: Vec<_> =
        explanation.findings[0].evidence.iter().flat_map(|evidence| evidence.entries.clone()).collect();
    assert!(results.iter().all(|result| entries.contains(&at(*result))));
    assert!(explanation.overflowed() && explanation.overflows[0].requested == Some(390_607));
}

#[test]
fn one_process_poll_of_raw_terminal_bytes() {
    let mut made = Made::new();
    made.grow_to(120_000, 20_000);
    made.user("poll it");
    made.settle(136_552);
    made.step("process", &[300_000]);
    made.failed("prompt is too long: 320246 tokens > 200000 maximum");
    let explanation = verdict(&made.read(200_000), Class::SingleResult, &[]);
    let pruning = |advice: &&Advice| advice.words().contains("contextPruning");
    assert!(
        explanation.advice.iter().filter(pruning).all(|advice| !advice.helps),
        "{:?}",
        explanation.advice
    );
}

#[test]
fn seven_compactions_refilled_by_the_same_loop() {
    let mut made = Made::new();
    made.user("hello");
    made.answer(40);
    made.touch();
    made.user("fix the build");
    for _ in 0..7 {
        while made.prompt() < 243_000 {
            made.step("exec", &[30_000]);
        }
        let kept = made.count - 4;
        made.touch();
        made.compaction(&words(6_000), kept);
    }
    while made.prompt() < 145_000 {
        made.step("exec", &[30_000]);
    }
    let read = made.read(272_000);
    let explanation = verdict(&read, Class::ToolLoopTreadmill, &[]);
    assert!(!explanation.overflowed() && !explanation.no_setting_helps());
}

#[test]
fn an_overflow_that_nothing_follows_is_a_fault_of_the_runtime() {
    let mut made = Made::new();
    made.grow_to(150_000, 2_000);
    while made.count < 1_052 {
        made.step("exec", &[300]);
    }
    made.grow_to(190_000, 20_000);
    made.user("go on");
    let first = made.failed("prompt is too long: 203000 tokens > 200000 maximum");
    // The lane waited 612,731 ms, of which the builder's own clock takes half a minute.
    made.wait(612.731 / 60.0 - 0.5);
    made.user("hello?");
    made.failed("prompt is too long: 203100 tokens > 200000 maximum");
    let read = made.on(200_000).row(json!({ "compactionCount": 0 })).read();
    let explanation = verdict(&read, Class::RuntimeFault, &[]);
    assert!((612_731.0..645_000.0).contains(&number(&explanation.findings[0], "idleMs")));
    assert!(explanation.findings[0].evidence.iter().any(|evidence| evidence.entries == [at(first)]));
}

#[test]
fn a_counter_that_predates_the_last_entries_lies_low() {
    let mut made = Made::new();
    made.grow_to(100_000, 700);
    while made.count < 1_026 {
        made.step("exec", &[40]);
    }
    made.user("count");
    made.settle(115_068);
    made.step("exec", &[2_000]);
    let counted = made.count;
    for _ in 0..20 {
        made.user(&words(20_000));
    }
    let stored = |fresh: bool| {
        let row = json!({ "totalTokens": 115_068, "totalTokensFresh": fresh, "compactionCount": 0 });
        let safeguard = json!({ "agents": { "defaults": { "compaction": { "mode": "safeguard" } } } });
        made.on(200_000).row(row).config(safeguard).read()
    };
    let read = stored(true);
    let explanation = verdict(&read, Class::CounterStaleLow, &[]);
    assert_eq!(
        (number(&explanation.findings[0], "stored"), number(&explanation.findings[0], "entriesSince")),
        (115_068.0, 21.0)
    );
    assert_eq!(read.index.entries.len(), counted + 20);
    assert_ne!(
        stored(false).said().findings[0].class,
        Class::CounterStaleLow,
        "it says itself that it is stale"
    );
}

#[test]
fn a_cumulative_counter_is_no_overflow() {
    let mut made = Made::new();
    made.grow_to(90_000, 20_000);
    let row = json!({ "totalTokens": 1_821_240, "inputTokens": 497_720, "cacheRead": 1_323_520 });
    let read = made.on(800_000).row(row).read();
    let explanation = verdict(&read, Class::CounterInflated, &[]);
    assert!(!explanation.overflowed() && explanation.advice.is_empty());
    assert_eq!(number(&explanation.findings[0], "stored"), 1_821_240.0);
}

#[test]
fn a_reserve_that_eats_the_window_must_go_down() {
    let mut made = Made::new();
    made.fixed = 20_000.0;
    made.user("hello");
    made.answer(200);
    made.user("again");
    made.failed("prompt is too long: 33000 tokens > 32768 maximum");
    let floor = json!({ "agents": { "defaults": { "compaction": { "reserveTokensFloor": 24_000 } } } });
    let read = made.on(32_768).config(floor).row(report(40_000, 40_000)).read();
    let explanation = verdict(&read, Class::ImpossibleBudget, &[]);
    let numbers = ["fixed", "usable", "window", "reserve"].map(|name| number(&explanation.findings[0], name));
    assert_eq!(numbers, [20_000.0, 8_768.0, 32_768.0, 24_000.0]);
    let first = &explanation.advice[0];
    assert!(first.helps && first.words().contains("compaction.reserveTokensFloor"), "{}", first.words());
    assert!(
        first.commands[0].ends_with("agents.defaults.compaction.reserveTokens 8192"),
        "{:?}",
        first.commands
    );
}

#[test]
fn a_trigger_that_no_prompt_ever_comes_near() {
    let mut made = Made::new();
    (made.model, made.first_model) = (("vllm", "qwen3.5"), ("vllm", "qwen3.5"));
    // 4 questions, 98 answers, 88 results; the prompts grow from 2,994 to 76,149.
    made.fixed = 2_900.0;
    for turn in 0..4 {
        made.user(&format!("now part {turn} of the work, please"));
        for step in 0..22 {
            if (turn, step) == (0, 0) {
                made.settle(2_994);
            }
            if (turn, step) == (3, 21) {
                made.settle(76_149);
            }
            made.step(if turn * 22 + step < 80 { "exec" } else { "read" }, &[3_100]);
        }
        if turn < 3 {
            for _ in 0..3 {
                made.answer(200);
            }
        }
    }
    made.failed("Your input exceeds the context window of this model");
    let explanation = verdict(&made.read(262_144), Class::WrongWindow, &[]);
    assert_eq!(
        (number(&explanation.findings[0], "known"), number(&explanation.findings[0], "peak")),
        (262_144.0, 76_149.0)
    );
    // What fits is not known; what was answered does.
    assert!(explanation.advice.iter().all(|advice| advice.limit <= 76_149), "{:?}", explanation.advice);
}

#[test]
fn chinese_that_counts_three_times_as_much() {
    let mut made = Made::new();
    made.chars_per_token = 4.0 / 2.9;
    for _ in 0..12 {
        made.user(&"把这周各组的纪要整理成一份周报".repeat(100));
        made.answer(40);
    }
    let read = made.read(60_000);
    let explanation = verdict(&read, Class::EstimatorError, &[]);
    assert!((2.6..3.2).contains(&number(&explanation.findings[0], "ratio")));
}

#[test]
fn pruning_that_no_gate_lets_run() {
    let mut made = Made::new();
    (made.model, made.first_model) = (("openai", "gpt-5.2"), ("openai", "gpt-5.2"));
    while made.prompt() < 190_000 {
        let number = made.count;
        made.user(&format!("part {number}"));
        made.step("exec", &[16_000]);
        made.answer(12_000);
        made.wait(90.0);
    }
    made.user(&words(50_000));
    made.failed("prompt is too long: 205000 tokens > 200000 maximum");
    let explanation = verdict(&made.read(200_000), Class::PruningInert, &[]);
    assert_eq!(explanation.findings[0].rule, "pruning 3.6");
    assert!(explanation.advice.iter().all(|advice| !advice.words().contains("contextPruning")));
}

#[test]
fn pruning_that_is_always_too_early() {
    let mut made = Made::new();
    // 49 turns with 87 calls of exec.
    for turn in 0..49 {
        made.user(&format!("and what about part {turn} of it{}", ".".repeat(turn % 7)));
        for _ in 0..if turn < 38 { 2 } else { 1 } {
            made.step("exec", &[6_000]);
        }
        made.answer(400);
        made.touch();
        made.wait(2.0);
    }
    let read = made.read(200_000);
    let explanation = verdict(&read, Class::PruningInert, &[]);
    assert_eq!(number(&explanation.findings[0], "turns"), 49.0);
    let (turn, calls) =
        (number(&explanation.findings[0], "turn"), number(&explanation.findings[0], "breakEvenCalls"));
    assert!(turn > 1.0 && turn < 49.0 && calls >= 1.0, "{turn} {calls}");
    // It is at risk, so that what makes room is told, and what that costs.
    let ttl = explanation.advice.iter().find(|advice| advice.words().contains("contextPruning.ttl"));
    assert!(ttl.is_none_or(|ttl| ttl.whole.cost.is_some()));
}

#[test]
fn a_summary_that_is_an_empty_form() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    let kept = made.user("and now");
    made.compaction("## Goal\n\n## Progress\n- (none)\n\n## Next Steps\n- (none)", kept);
    made.answer(300);
    verdict(&made.read(200_000), Class::CompactionHollow, &[]);
}

#[test]
fn tool_schemas_that_no_estimate_counted() {
    let mut made = Made::new();
    made.fixed = 107_000.0;
    made.grow_to(146_000, 16_000);
    for (prompt, output) in [(148_646, 1_353), (149_034, 965), (149_998, 1)] {
        made.user("go on");
        made.settle(prompt);
        made.cut(output);
    }
    let read = made.on(150_000).row(report(28_000, 400_000)).read();
    let explanation = verdict(&read, Class::FixedOverhead, &[]);
    assert_eq!(number(&explanation.findings[0], "fixed"), 107_000.0);
    assert_eq!(explanation.overflows.len(), 3);
}

#[test]
fn a_history_that_the_summariser_cannot_take_either() {
    let mut made = Made::new();
    // 627 messages, which the gauge showed as 108k of 200k: chars count for twice as much.
    made.chars_per_token = 2.0;
    while made.count < 600 {
        made.user(&words(500 + made.count));
        made.answer(300);
    }
    made.settle(108_000);
    made.answer(400);
    while made.count < 626 {
        made.user(&words(20_000 + made.count));
    }
    made.failed("prompt is too long: 362000 tokens > 200000 maximum");
    made.failed(
        "Auto-compaction failed: Summarization failed: prompt is too long: 340000 tokens > 200000 maximum",
    );
    made.failed("prompt is too long: 362000 tokens > 200000 maximum");
    let row = json!({ "totalTokens": 108_000, "compactionCount": 0 });
    let in_one = json!({ "agents": { "defaults": { "compaction": { "mode": "default" } } } });
    let read = made.on(200_000).row(row.clone()).config(in_one).read();
    let explanation = verdict(&read, Class::CompactionRefused, &[]);
    assert!((250_000.0..362_000.0).contains(&number(&explanation.findings[0], "input")));
    let entries: Vec<_> = explanation.findings[0].evidence.iter().flat_map(|it| it.entries.clone()).collect();
    assert!(entries.contains(&explanation.failure.as_ref().unwrap().then.context.leaf.unwrap()));
    // In chunks, as the safeguard does it, every part of it fits.
    let chunks = json!({ "agents": { "defaults": { "compaction": { "mode": "safeguard" } } } });
    let said = made.on(200_000).row(row).config(chunks).read().said();
    assert!(said.findings.iter().all(|finding| finding.class != Class::CompactionRefused));
}

#[test]
fn a_key_that_was_moved_to_a_fresh_session_without_a_word() {
    let mut made = Made::new();
    made.grow_to(185_000, 20_000);
    made.user("fix the build");
    made.step("exec", &[40_000]);
    made.failed("prompt is too long: 203000 tokens > 200000 maximum");
    let entries = made.count - 1;
    let mut fresh = Made::at(made.now + 20_000.0);
    fresh.user("hello?");
    fresh.answer(40);
    let read = made.on(200_000).without_row().beside(KEY, &fresh, json!({})).read();
    let moved = format!("Key {KEY} moved from session s to other-0 at ");
    let intact = format!(
        "without a compaction entry; the branch that was left ({entries} entries) is intact and can be forked"
    );
    let explanation = verdict(&read, Class::RuntimeFault, &[]);
    assert_eq!(number(&explanation.findings[0], "entries"), entries as f64);
    let by_row =
        made.on(200_000).without_row().beside(KEY, &fresh, json!({ "previousSessionId": "s" })).read();
    verdict(&by_row, Class::RuntimeFault, &[]);
    // Of two that began then, nobody can tell.
    let two = made.on(200_000).without_row().beside(KEY, &fresh, json!({})).beside(
        "agent:main:main",
        &fresh,
        json!({}),
    );
    let told = two.read().said();
    assert!(!line(&told).contains("moved from session"), "{}", line(&told));
}

#[test]
fn seventy_seven_of_a_hundred_and_sixty_four_summaries_are_empty() {
    let mut made = Made::new();
    let mut last = 0;
    for round in 0..164_usize {
        for _ in 0..3 {
            made.user(&words(300 + round % 11));
            last = made.answer(200);
        }
        let empty = "## Goal\n\n## Progress\n- (none)\n\n## Next Steps\n- (none)";
        let full = words(900);
        made.compaction(if round >= 87 { empty } else { &full }, last);
    }
    made.user("go on");
    made.answer(100);
    let explanation = verdict(&made.read(200_000), Class::CompactionHollow, &[]);
    assert_eq!(
        (number(&explanation.findings[0], "hollow"), number(&explanation.findings[0], "compactions")),
        (77.0, 164.0)
    );
}
