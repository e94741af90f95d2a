//! The reports that real people made, as sessions with the same numbers, and sessions that look like one and are none.

use proptest::prelude::*;

use crate::explain::made::{Made, at, report, set_rows, words};
use crate::explain::{Class, Confidence, Explanation, explain};
use crate::gateway::ruleset::Ruleset;
use crate::inspect::Inspection;

fn said(read: &Inspection) -> Explanation {
    explain(read, crate::explain::made::START_MS).expect("it reads")
}

fn line(explanation: &Explanation) -> String {
    explanation.findings[0].line.replace(crate::inspect::words::GROUP, ",")
}

fn verdict(explanation: &Explanation) -> (Class, Confidence) {
    (explanation.findings[0].class, explanation.findings[0].confidence)
}

/// Asserts class, confidence and parts of the line.
fn told(read: &Inspection, expected: (Class, Confidence), parts: &[&str]) -> Explanation {
    let explanation = said(read);
    let line = line(&explanation);
    assert_eq!(verdict(&explanation), expected, "{line}");
    for part in parts {
        assert!(line.contains(part), "{part:?} in {line:?}");
    }
    explanation
}

fn number(explanation: &Explanation, name: &str) -> f64 {
    let numbers = &explanation.findings[0].numbers;
    numbers.iter().find(|(own, _)| *own == name).expect(name).1
}

#[test]
fn three_parallel_results_inside_the_protected_tail() {
    let mut made = Made::new();
    made.grow_to(140_000, 20_000);
    made.user("get everything");
    made.settle(154_535);
    let results = made.step("exec", &[38_662, 155_016, 136_693]);
    made.failed("prompt is too long: 390607 tokens > 200000 maximum");
    let parts = [
        "OVERFLOW by 190,607: 3 parallel results (330,371 chars) in one turn at 1.40 chars/token; ",
        "all inside the protected tail, so no contextPruning setting applies; ",
        "only a per-result cap <= ~21.2k chars keeps this turn under 200,000 (<= ~11.9k with the reserve of 20,000)",
    ];
    let explanation = told(&made.read(200_000.0), (Class::ParallelResults, Confidence::Sure), &parts);
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
    let parts = [
        "OVERFLOW by 120,246: one process result added ~183.7k tokens (57% of the prompt)",
        "protected tail",
    ];
    let explanation = told(&made.read(200_000.0), (Class::SingleResult, Confidence::Sure), &parts);
    let pruning = |advice: &&crate::explain::Advice| advice.words().contains("contextPruning");
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
    let read = made.read(272_000.0);
    let parts = [
        "7 compactions worked and were refilled by the same tool loop; no gap >= ttl 1h ever let pruning run",
    ];
    let explanation = told(&read, (Class::ToolLoopTreadmill, Confidence::Sure), &parts);
    assert!(!explanation.overflowed() && !explanation.no_setting_helps());
}

#[test]
fn a_loop_that_outgrows_the_window_within_one_run_and_a_shorter_ttl_that_would_have_pruned_it() {
    let mut made = Made::new();
    made.grow_to(110_000, 20_000);
    made.user("now everything");
    made.wait(40.0);
    while made.prompt() < 200_000 {
        made.step("exec", &[40_000]);
    }
    let over = made.prompt() - 200_000;
    made.failed(&format!("prompt is too long: {} tokens > 200000 maximum", made.prompt()));
    let read = made.read(200_000.0);
    let parts = ["OVERFLOW by ", "tool results are", "no gap >= ttl 1h"];
    let explanation = told(&read, (Class::ToolLoopTreadmill, Confidence::Sure), &parts);
    assert_eq!(number(&explanation, "over"), over as f64);
    let helps: Vec<String> =
        explanation.advice.iter().filter(|advice| advice.helps).map(crate::explain::Advice::words).collect();
    assert!(!explanation.no_setting_helps(), "{:#?}", explanation.advice);
    assert!(
        helps.iter().any(|words| words.contains("historyLimit") || words.contains("reserveTokens")),
        "{helps:?}"
    );
}

#[test]
fn advice_names_only_keys_that_the_version_reads() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    made.user("now everything");
    made.wait(50.0);
    made.step("exec", &[60_000]);
    made.failed("prompt is too long: 207000 tokens > 200000 maximum");
    let mut read = made.read(200_000.0);
    assert!(said(&read).advice.iter().any(|advice| advice.words().contains("contextPruning.ttl 1h → ")));
    for ruleset in Ruleset::ALL {
        read.ruleset.ruleset = ruleset;
        read.configured.ruleset = ruleset;
        set_rows(&mut read);
        let fixed: Vec<String> = read
            .settings
            .iter()
            .filter(|row| row.row.control.fixed().is_some())
            .map(crate::policy::settings::StepSetting::key)
            .collect();
        for advice in said(&read).advice {
            for change in &advice.changes {
                assert!(!fixed.contains(&change.key), "{}: {}", ruleset.id(), change.key);
            }
        }
    }
}

#[test]
fn an_overflow_that_nothing_follows_is_a_fault_of_the_runtime() {
    let mut made = Made::new();
    made.grow_to(190_000, 20_000);
    made.user("go on");
    let first = made.failed("prompt is too long: 203000 tokens > 200000 maximum");
    made.wait(10.2);
    made.user("hello?");
    made.failed("prompt is too long: 203100 tokens > 200000 maximum");
    let parts =
        ["nothing was done about it for 11m", "runtime fault, not settings; session file intact at leaf"];
    let explanation = told(&made.read(200_000.0), (Class::RuntimeFault, Confidence::Sure), &parts);
    assert!(explanation.findings[0].evidence.iter().any(|evidence| evidence.entries == [at(first)]));
}

#[test]
fn a_counter_that_predates_the_last_entries_lies_low() {
    let mut made = Made::new();
    made.grow_to(100_000, 20_000);
    made.user("count");
    made.settle(115_068);
    made.step("exec", &[2_000]);
    let counted = made.count;
    for _ in 0..20 {
        made.user(&words(20_000));
    }
    let mut read = made.read(200_000.0);
    read.upkeep.row.total_tokens = Some(115_068.0);
    let parts = ["Stored counter says 115,068 (58%) but the path holds ~", "it predates the last 21 entries"];
    told(&read, (Class::CounterStaleLow, Confidence::Sure), &parts);
    assert!(counted + 20 == read.index.entries.len());
    read.upkeep.row.fresh = Some(false);
    assert_ne!(said(&read).findings[0].class, Class::CounterStaleLow, "it says itself that it is stale");
}

#[test]
fn a_cumulative_counter_is_no_overflow() {
    let mut made = Made::new();
    made.grow_to(90_000, 20_000);
    let mut read = made.read(800_000.0);
    read.upkeep.row.total_tokens = Some(1_821_240.0);
    read.upkeep.row.input = Some(497_720.0);
    read.upkeep.row.cache_read = Some(1_323_520.0);
    let parts = [
        "Not an overflow: stored total 1,821,240 = input 497,720 + cumulative cacheRead 1,323,520; the live path is about",
    ];
    let explanation = told(&read, (Class::CounterInflated, Confidence::Sure), &parts);
    assert!(!explanation.overflowed());
}

#[test]
fn a_reserve_that_eats_the_window_must_go_down() {
    let mut made = Made::new();
    made.fixed = 20_000.0;
    made.user("hello");
    made.answer(200);
    made.user("again");
    made.failed("prompt is too long: 33000 tokens > 32768 maximum");
    let mut read = made.read(32_768.0);
    read.configured.compaction.reserve_tokens = 24_000.0;
    report(&mut read, 40_000, 40_000);
    let parts = [
        "Impossible budget: fixed overhead ~20.0k > 8,768 usable; the reserve must go down (<= 8,192), not up",
    ];
    let explanation = told(&read, (Class::ImpossibleBudget, Confidence::Sure), &parts);
    let first = &explanation.advice[0];
    assert!(first.helps && first.words().contains("compaction.reserveTokensFloor"), "{}", first.words());
    assert!(
        first.commands[0].ends_with("agents.defaults.compaction.reserveTokens 8192"),
        "{:?}",
        first.commands
    );
}

#[test]
fn a_window_that_the_provider_does_not_serve() {
    let mut made = Made::new();
    made.grow_to(125_000, 20_000);
    made.user("go on");
    made.failed("This model's maximum context length is 131072 tokens. However, you requested 133900 tokens");
    let parts = [
        "OVERFLOW by 2,828: known 200,000, served 131,072; compaction waits for 180,000, which is never reached",
    ];
    let explanation = told(&made.read(200_000.0), (Class::WrongWindow, Confidence::Sure), &parts);
    let first = &explanation.advice[0];
    assert!(first.helps && first.patch.contains("\"contextWindow\":131072"), "{:#?}", explanation.advice);
}

#[test]
fn a_trigger_that_no_prompt_ever_comes_near() {
    let mut made = Made::new();
    made.model = ("vllm", "qwen3.5");
    made.grow_to(70_000, 20_000);
    made.user("go on");
    made.settle(76_149);
    made.step("exec", &[900]);
    made.failed("Your input exceeds the context window of this model");
    let parts = [
        "Compaction cannot fire: trigger 242.1k is 3.2x the largest prompt ever sent (76,149); set the window",
    ];
    told(&made.read(262_144.0), (Class::WrongWindow, Confidence::Likely), &parts);
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
    let parts = ["Reply cut short: known 200,000, served 65,536"];
    let explanation = told(&made.read(200_000.0), (Class::WrongWindow, Confidence::Sure), &parts);
    assert_eq!(explanation.overflows.len(), 3);
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
    let mut read = made.read(150_000.0);
    report(&mut read, 28_000, 400_000);
    let parts = ["~107.0k of the 149,999 that fit are system prompt and tool schemas"];
    told(&read, (Class::FixedOverhead, Confidence::Sure), &parts);
}

#[test]
fn chinese_that_counts_three_times_as_much() {
    let mut made = Made::new();
    made.chars_per_token = 4.0 / 2.9;
    for _ in 0..12 {
        made.user(&"把这周各组的纪要整理成一份周报".repeat(100));
        made.answer(40);
    }
    let read = made.read(60_000.0);
    let parts = ["Estimator error 2.", "of the chars are CJK", "keepRecentTokens 20,000 really keeps ~5"];
    let explanation = told(&read, (Class::EstimatorError, Confidence::Sure), &parts);
    assert!((2.6..3.2).contains(&number(&explanation, "ratio")));
}

#[test]
fn pruning_that_no_gate_lets_run() {
    let mut made = Made::new();
    made.model = ("openai", "gpt-5.2");
    while made.prompt() < 190_000 {
        let number = made.count;
        made.user(&format!("part {number}"));
        made.step("exec", &[16_000]);
        made.answer(12_000);
        made.wait(90.0);
    }
    made.user(&words(50_000));
    made.failed("prompt is too long: 205000 tokens > 200000 maximum");
    let parts = [
        "contextPruning is configured but never ran: 0 cache-ttl markers, provider openai is not eligible; it would have freed ~",
    ];
    let explanation = told(&made.read(200_000.0), (Class::PruningInert, Confidence::Likely), &parts);
    assert_eq!(explanation.findings[0].rule, "pruning 3.6");
    assert!(explanation.advice.iter().all(|advice| !advice.words().contains("contextPruning")));
}

#[test]
fn pruning_that_is_always_too_early() {
    let mut made = Made::new();
    made.grow_to(150_000, 12_000);
    let parts = ["No gap >= ttl 1h in 46 turns: cache-ttl pruning cannot fire; longest idle gap = 3m; it would have freed ~100.3k"];
    told(&made.read(200_000.0), (Class::PruningInert, Confidence::Possible), &parts);
}

#[test]
fn a_summary_that_is_an_empty_form() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    let kept = made.user("and now");
    made.compaction("## Goal\n\n## Progress\n- (none)\n\n## Next Steps\n- (none)", kept);
    made.answer(300);
    let parts =
        ["Compaction #1 kept no content", "from entry e0 on is gone from the context but still on disk"];
    told(&made.read(200_000.0), (Class::CompactionHollow, Confidence::Sure), &parts);
}

#[test]
fn a_compaction_that_frees_nothing() {
    let mut made = Made::new();
    made.user("hello");
    let kept = made.answer(100_000);
    made.user(&words(100_000));
    made.compaction(&words(900), kept);
    made.answer(300);
    let parts = ["Compaction #1 freed nothing: ~50,0"];
    told(&made.read(200_000.0), (Class::CompactionNoOp, Confidence::Sure), &parts);
}

#[test]
fn a_second_compaction_right_behind_the_first() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    let kept = made.user(&words(760_000));
    made.compaction(&words(4_000), kept);
    made.failed("prompt is too long: 200164 tokens > 200000 maximum");
    let parts = ["OVERFLOW by 164: refused right behind compaction"];
    told(&made.read(200_000.0), (Class::CompactionRefused, Confidence::Sure), &parts);
}

#[test]
fn summaries_that_come_too_late() {
    let mut made = Made::new();
    made.grow_to(170_000, 20_000);
    for _ in 0..3 {
        made.failed("Compaction timed out after 60000 ms");
        made.wait(1.0);
    }
    let parts = ["3 of 3 compactions failed because the summary came too late"];
    told(&made.read(200_000.0), (Class::CompactionTimeout, Confidence::Sure), &parts);
}

#[test]
fn seven_images_fill_the_window() {
    let mut made = Made::new();
    for number in 0..7 {
        made.user_with_images(1, 27_000.0);
        made.answer(100 + number);
    }
    made.user("and?");
    made.failed("prompt is too long: 201500 tokens > 200000 maximum");
    let parts = ["OVERFLOW by 1,500: 7 images added ~", "each where the estimate says ~1,200; full after ~"];
    told(&made.read(200_000.0), (Class::ImageBloat, Confidence::Sure), &parts);
}

#[test]
fn the_same_job_in_the_same_session() {
    let mut made = Made::new();
    made.fixed = 1_800.0;
    for _ in 0..289 {
        made.user("[cron] Check the mail and tell me what is new.");
        made.answer(950);
        made.wait(30.0);
    }
    let explanation = told(
        &made.read(128_000.0),
        (Class::RecurringSessionGrowth, Confidence::Sure),
        &["The same job ran 289 times in one session: 1,811 -> ", "more each run; full in about"],
    );
    assert_eq!(number(&explanation, "runs"), 289.0);
}

#[test]
fn a_fallback_model_with_a_smaller_window() {
    let mut made = Made::new();
    made.grow_to(180_000, 20_000);
    made.user("go on");
    made.model = ("openrouter", "mistral-large");
    made.failed("Prompt contains 181000 tokens, too large for model with 131072 maximum context length");
    let mut read = made.read(1_000_000.0);
    (read.provider, read.model) = ("anthropic".into(), "claude-opus-4-6".into());
    let parts = ["OVERFLOW by 49,928: the call went to mistral-large (takes 131,072) after claude-opus-4-6"];
    told(&read, (Class::ModelSwitch, Confidence::Sure), &parts);
}

#[test]
fn what_fits_no_pattern_is_said_so() {
    let mut made = Made::new();
    while made.prompt() < 195_000 {
        let number = made.count;
        made.user(&words(3_000 + number));
        made.answer(2_000);
    }
    made.user("go on");
    made.failed("prompt is too long: 200700 tokens > 200000 maximum");
    let parts = ["OVERFLOW by 700: 200,700 tokens in", "none of the known patterns fits"];
    told(&made.read(200_000.0), (Class::Unexplained, Confidence::Possible), &parts);
}

/// Asserts that nothing is wrong with a session.
fn well(read: &Inspection) {
    let explanation = said(read);
    assert_eq!(explanation.findings[0].class, Class::Healthy, "{}", line(&explanation));
    assert!(!explanation.overflowed() && !explanation.no_setting_helps() && explanation.advice.is_empty());
}

#[test]
fn what_only_looks_like_an_overflow_is_none() {
    well(&Made::new().read(200_000.0));
    let mut chat = Made::new();
    chat.user("hello");
    chat.answer(40);
    well(&chat.read(200_000.0));

    let mut cut_by_its_own_limit = chat.clone();
    cut_by_its_own_limit.cut(1_024);
    well(&cut_by_its_own_limit.read(200_000.0));

    let mut rate_limited = chat.clone();
    rate_limited
        .failed("429 Request too large for gpt-5 on tokens per minute (TPM): Limit 30000, Requested 40000");
    rate_limited.failed("overloaded_error: Overloaded");
    rate_limited.failed("Model context window too small (8000 tokens). Minimum is 16000.");
    well(&rate_limited.read(200_000.0));

    let mut nearly_full = Made::new();
    while nearly_full.prompt() < 172_000 {
        let chars = 9_000 + nearly_full.count * 11;
        nearly_full.user(&words(chars));
        nearly_full.answer(3_000);
    }
    well(&nearly_full.read(200_000.0));

    let mut compacted = Made::new();
    compacted.grow_to(181_000, 20_000);
    let kept = compacted.count - 8;
    compacted.compaction(&words(5_000), kept);
    compacted.grow_to(70_000, 10_000);
    well(&compacted.read(200_000.0));

    let mut large_result = chat.clone();
    large_result.step("exec", &[230_000]);
    large_result.answer(300);
    well(&large_result.read(200_000.0));

    let mut images = chat.clone();
    images.user_with_images(4, 1_500.0);
    images.answer(300);
    well(&images.read(200_000.0));

    let mut job = Made::new();
    for _ in 0..12 {
        job.user("[cron] Check the mail and tell me what is new.");
        job.answer(300);
    }
    well(&job.read(200_000.0));

    let mut little_chinese = Made::new();
    little_chinese.chars_per_token = 1.4;
    for _ in 0..6 {
        little_chinese.user("把这周各组的纪要整理成一份周报");
        little_chinese.answer(300);
    }
    well(&little_chinese.read(200_000.0));

    let mut other_model = Made::new();
    other_model.grow_to(60_000, 9_000);
    other_model.model = ("openai", "gpt-5.2");
    other_model.grow_to(80_000, 9_000);
    well(&other_model.read(200_000.0));

    let mut counted = Made::new();
    counted.grow_to(60_000, 9_000);
    let mut read = counted.read(200_000.0);
    read.upkeep.row.total_tokens = Some(counted.prompt() as f64);
    well(&read);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens in a session that stays well below its window and is counted as texts usually are.
    #[test]
    fn a_session_with_room_is_healthy(
        turns in prop::collection::vec((1_usize..3_000, prop::collection::vec(1_usize..12_000, 0..4), 1_usize..3_000, 0.0_f64..200.0), 0..14),
        chars_per_token in 3.2_f64..4.8,
        ruleset in prop::sample::select(Ruleset::ALL.to_vec()),
    ) {
        let mut made = Made::new();
        made.chars_per_token = chars_per_token;
        for (asked, results, answer, gap) in turns {
            if made.prompt() > 80_000 {
                break;
            }
            made.user(&words(asked));
            for chars in results {
                made.step("exec", &[chars]);
            }
            made.answer(answer);
            made.touch();
            made.wait(gap);
        }
        let mut read = made.read(200_000.0);
        read.ruleset.ruleset = ruleset;
        let explanation = said(&read);
        prop_assert_eq!(explanation.findings[0].class, Class::Healthy, "{}", line(&explanation));
    }
}
