//! The reports that real people made, as sessions with the same numbers, each with its store row and configuration.

use clawscope::report::explain::{Advice, FindingClass};
use serde_json::json;

use super::made::{Made, at, words};
use super::on_store::{KEY, report};
use super::{finding, number, verdict};

#[test]
fn three_parallel_results_inside_the_protected_tail() {
    let mut made = Made::new();
    made.grow_to(140_000, 20_000);
    made.user("get everything");
    made.settle(154_535);
    let results = made.step("exec", &[38_662, 155_016, 136_693]);
    made.failed("prompt is too long: 390607 tokens > 200000 maximum");
    let parts = ["3 parallel results added ~244k; the limit is 200,000"];
    let explanation = verdict(&made.read(200_000), FindingClass::ParallelResults, &parts);
    let entries = &explanation.mechanism.as_ref().unwrap().entries;
    assert!(results.iter().all(|result| entries.contains(&at(*result))));
    assert_eq!(explanation.overflows[0].requested, Some(390_607));
}

#[test]
fn one_process_poll_of_raw_terminal_bytes() {
    let mut made = Made::new();
    made.grow_to(120_000, 20_000);
    made.user("poll it");
    made.settle(136_552);
    made.step("process", &[300_000]);
    made.failed("prompt is too long: 320246 tokens > 200000 maximum");
    let parts = ["one process result takes ~193k and the fixed parts ~9.0k; the limit is 200,000"];
    let explanation = verdict(&made.read(200_000), FindingClass::SingleResult, &parts);
    let pruning = |advice: &&Advice| advice.description().contains("contextPruning");
    assert!(
        explanation.advice.iter().filter(pruning).all(|advice| !advice.fits_all),
        "it is the newest turn"
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
    let explanation =
        verdict(&read, FindingClass::CompactionTreadmill, &["hit the trigger again within 2 turns"]);
    assert!(!explanation.has_overflowed() && !explanation.no_setting_helps());
}

#[test]
fn an_overflow_without_a_recovery_names_cause_and_fault() {
    let mut made = Made::new();
    made.grow_to(150_000, 2_000);
    while made.count < 1_052 {
        made.step("exec", &[300]);
    }
    made.grow_to(190_000, 20_000);
    made.user("go on");
    let first = made.failed("prompt is too long: 203000 tokens > 200000 maximum");
    // The trace waited 612,731 ms, of which the builder's own clock takes half a minute.
    made.wait(612.731 / 60.0 - 0.5);
    made.user("hello?");
    made.failed("prompt is too long: 203100 tokens > 200000 maximum");
    let explanation = made.on(200_000).row(json!({ "compactionCount": 0 })).read().said();
    let fault = finding(&explanation, FindingClass::RuntimeFault);
    assert!(fault.headline().contains("did nothing about the refusal for 10m"), "{}", fault.headline());
    assert!((612_731.0..645_000.0).contains(&number(fault, "idleMs")));
    assert!(fault.evidence().iter().any(|evidence| evidence.entries == [at(first)]));
}

#[test]
fn a_counter_older_than_the_last_entries_is_too_low() {
    let mut made = Made::new();
    made.grow_to(100_000, 700);
    while made.count < 1_026 {
        made.step("exec", &[40]);
    }
    made.user("count");
    made.settle(115_068);
    made.step("exec", &[2_000]);
    // More than the guard can make room for, which shortens only results.
    for _ in 0..40 {
        made.user(&words(20_000));
    }
    let stored = |fresh: bool| {
        let row = json!({ "totalTokens": 115_068, "totalTokensFresh": fresh, "compactionCount": 0 });
        let safeguard = json!({ "agents": { "defaults": { "compaction": { "mode": "safeguard" } } } });
        made.on(200_000).row(row).config(safeguard).read()
    };
    let explanation = verdict(&stored(true), FindingClass::AtRisk, &["no compaction comes first"]);
    assert_eq!(number(finding(&explanation, FindingClass::CounterStaleLow), "stored"), 115_068.0);
    let stale = stored(false).said();
    assert!(
        stale.findings.iter().all(|it| it.class != FindingClass::CounterStaleLow),
        "it says itself that it is stale"
    );
}

#[test]
fn a_cumulative_counter_is_not_an_overflow() {
    let mut made = Made::new();
    made.grow_to(90_000, 20_000);
    let row = json!({ "totalTokens": 1_821_240, "inputTokens": 497_720, "cacheRead": 1_323_520 });
    let explanation = verdict(&made.on(800_000).row(row).read(), FindingClass::Healthy, &["Fits: "]);
    assert!(!explanation.has_overflowed() && explanation.advice.is_empty());
    let counter = finding(&explanation, FindingClass::CounterInflated);
    assert_eq!(number(counter, "stored"), 1_821_240.0);
    assert!(
        counter.evidence().iter().any(|it| it.text == "it is the sum of input 497,720 + cacheRead 1,323,520")
    );
}

#[test]
fn a_reserve_that_fills_the_window_must_be_lowered() {
    let mut made = Made::new();
    made.fixed = 20_000.0;
    made.user("hello");
    made.answer(200);
    let floor = json!({ "agents": { "defaults": { "compaction": { "reserveTokensFloor": 24_000 } } } });
    let read = made.on(32_768).config(floor).row(report(40_000, 40_000)).read();
    let parts = ["System prompt, tools and files take ~20k, above the trigger 8,768: lower the reserve"];
    let explanation = verdict(&read, FindingClass::ImpossibleBudget, &parts);
    let numbers = ["fixed", "trigger"].map(|name| number(&explanation.findings[0], name));
    assert_eq!(numbers, [20_000.0, 8_768.0]);
}

#[test]
fn a_trigger_that_no_prompt_ever_reaches() {
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
    let explanation = verdict(&made.read(262_144), FindingClass::WrongWindow, &[]);
    let window = finding(&explanation, FindingClass::WrongWindow);
    assert_eq!((number(window, "believed"), number(window, "served")), (262_144.0, 76_149.0));
    // The window is unknown, but answered prompts fit.
    assert!(!explanation.advice.is_empty());
    assert!(explanation.advice.iter().all(|advice| advice.limit <= 76_149), "{:?}", explanation.advice);
}

#[test]
fn chinese_that_counts_three_times_as_much_is_a_note_while_it_fits() {
    let mut made = Made::new();
    made.chars_per_token = 4.0 / 2.9;
    for _ in 0..12 {
        made.user(&"把这周各组的纪要整理成一份周报".repeat(100));
        made.answer(40);
    }
    let explanation = verdict(&made.read(60_000), FindingClass::Healthy, &[]);
    let estimator = finding(&explanation, FindingClass::EstimatorError);
    assert!((2.6..3.2).contains(&number(estimator, "ratio")));
    assert!(estimator.evidence().iter().any(|it| it.text.starts_with("keepRecentTokens 20,000 keeps ~5")));
}

#[test]
fn pruning_with_every_gate_closed() {
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
    let explanation = verdict(&made.read(200_000), FindingClass::PruningInert, &[]);
    assert_eq!(explanation.findings[0].rule, "pruning 3.6");
    assert!(!explanation.advice.is_empty());
    assert!(explanation.advice.iter().all(|advice| !advice.description().contains("contextPruning")));
}

#[test]
fn a_summary_that_is_an_empty_form() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    let kept = made.user("and now");
    made.compaction("## Goal\n\n## Progress\n- (none)\n\n## Next Steps\n- (none)", kept);
    made.answer(300);
    verdict(&made.read(200_000), FindingClass::CompactionHollow, &[]);
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
    let off = json!({ "agents": { "defaults": { "contextPruning": { "mode": "off" } } } });
    let read = made.on(150_000).config(off).row(report(28_000, 400_000)).read();
    let explanation =
        verdict(&read, FindingClass::FixedOverhead, &["system prompt, tools and files take ~107k of 14"]);
    assert_eq!(explanation.overflows.len(), 3);
}

#[test]
fn a_history_too_large_for_the_summariser_too() {
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
    let explanation = made.read(200_000).said();
    assert_eq!(explanation.overflows.len(), 2, "a summary that was refused is no call of the conversation");
    let refused = finding(&explanation, FindingClass::CompactionRefused);
    assert!(
        refused.headline().contains("the call that writes the summary is too large"),
        "{}",
        refused.headline()
    );
}

#[test]
fn a_key_silently_moved_to_a_fresh_session() {
    let mut made = Made::new();
    made.grow_to(185_000, 20_000);
    made.user("fix the build");
    made.step("exec", &[40_000]);
    made.failed("prompt is too long: 203000 tokens > 200000 maximum");
    let mut fresh = Made::at(made.now + 20_000.0);
    fresh.user("hello?");
    fresh.answer(40);
    let moved = format!("key {KEY} moved to session other-0 without a compaction");
    let explanation = made.on(200_000).without_row().beside(KEY, &fresh, json!({})).read().said();
    let fault = finding(&explanation, FindingClass::RuntimeFault);
    assert_eq!(
        (fault.headline().as_str(), number(fault, "entries")),
        (moved.as_str(), (made.count - 1) as f64)
    );
    // With two that began then, the choice is unknown.
    let two = made.on(200_000).without_row().beside(KEY, &fresh, json!({}));
    let two = two.beside("agent:main:main", &fresh, json!({})).read().said();
    assert_eq!(
        finding(&two, FindingClass::RuntimeFault).headline(),
        "no session key points here since the refusal"
    );
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
    let explanation = verdict(&made.read(200_000), FindingClass::CompactionHollow, &[]);
    assert_eq!(
        (number(&explanation.findings[0], "hollow"), number(&explanation.findings[0], "compactions")),
        (77.0, 164.0)
    );
}
