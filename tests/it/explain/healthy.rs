//! Sessions that look like an overflow but are not: a false alarm is as bad as a missed one.

use clawscope::gateway::ruleset::Ruleset;
use clawscope::report::explain::{Explanation, FindingClass};
use proptest::prelude::*;
use serde_json::json;

use super::line;
use super::made::{Made, words};
use super::on_store::Read;

/// Asserts that nothing is wrong with a session.
#[track_caller]
fn well(read: &Read) {
    let explanation = read.said();
    assert_eq!(explanation.findings[0].class, FindingClass::Healthy, "{}", line(&explanation));
    fits(&explanation);
    assert!(explanation.advice.is_empty(), "{:?}", explanation.advice);
}

/// Asserts that no call is reported as an overflow.
#[track_caller]
fn fits(explanation: &Explanation) {
    assert!(!explanation.has_overflowed() && !explanation.no_setting_helps(), "{:?}", explanation.overflows);
    assert!(!line(explanation).starts_with("Overflowed"), "{}", line(explanation));
}

fn chat() -> Made {
    let mut made = Made::new();
    made.user("hello");
    made.answer(40);
    made
}

#[test]
fn a_session_without_a_message_and_one_of_two() {
    well(&Made::new().read(200_000));
    well(&chat().read(200_000));
}

#[test]
fn a_reply_cut_at_its_output_limit() {
    for tokens in [1_024, 4_096, 8_192] {
        let mut made = chat();
        made.cut(tokens);
        well(&made.read(200_000));
    }
}

#[test]
fn failures_that_mention_tokens_limits_and_sizes_without_an_overflow() {
    for text in [
        "429 Request too large for gpt-5 on tokens per minute (TPM): Limit 30000, Requested 40000",
        "429 rate_limit_error: This request would exceed your organization's rate limit of 400,000 input tokens per minute",
        "overloaded_error: Overloaded",
        "529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        "Model context window too small (8000 tokens). Minimum is 16000.",
        "400 Your request was rejected as a result of our safety system. The prompt may contain text that is not allowed by our content policy.",
        "Output blocked by content filtering policy",
        "You exceeded your current quota, please check your plan and billing details.",
        "401 authentication_error: invalid x-api-key",
        "messages.7.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        "fetch failed",
    ] {
        let mut failed = chat();
        failed.user("and now?");
        failed.failed(text);
        let mut threw = chat();
        threw.user("and now?");
        threw.threw(text);
        for made in [failed, threw] {
            let explanation = made.read(200_000).said();
            let verdict = &explanation.findings[0];
            assert!(!explanation.has_overflowed(), "{text}: {}", verdict.headline());
            assert!(
                [FindingClass::Refused, FindingClass::Failing].contains(&verdict.class),
                "a session is not healthy whose newest answer failed: {}",
                verdict.headline()
            );
        }
    }
}

#[test]
fn a_window_that_is_nearly_full() {
    let mut made = Made::new();
    while made.prompt() < 172_000 {
        let chars = 9_000 + made.count * 11;
        made.user(&words(chars));
        made.answer(3_000);
    }
    well(&made.read(200_000));
}

#[test]
fn a_compaction_that_worked() {
    let mut made = Made::new();
    made.grow_to(181_000, 20_000);
    let kept = made.count - 8;
    made.compaction(&words(5_000), kept);
    made.grow_to(70_000, 10_000);
    well(&made.read(200_000));
}

#[test]
fn one_large_result_that_fits() {
    let mut made = chat();
    made.step("exec", &[230_000]);
    made.answer(300);
    well(&made.read(200_000));
}

#[test]
fn a_few_images() {
    let mut made = chat();
    made.user_with_images(4, 1_500.0);
    made.answer(300);
    well(&made.read(200_000));
}

#[test]
fn a_job_that_ran_a_dozen_times() {
    let mut made = Made::new();
    for _ in 0..12 {
        made.user("[cron] Check the mail and tell me what is new.");
        made.answer(300);
    }
    well(&made.read(200_000));
}

#[test]
fn a_little_chinese() {
    let mut made = Made::new();
    made.chars_per_token = 1.4;
    for _ in 0..6 {
        made.user("把这周各组的纪要整理成一份周报");
        made.answer(300);
    }
    well(&made.read(200_000));
}

#[test]
fn another_model_with_room() {
    let mut made = Made::new();
    made.grow_to(60_000, 9_000);
    made.model = ("openai", "gpt-5.2");
    made.grow_to(80_000, 9_000);
    let other = json!({ "models": { "providers": { "openai": { "models": [{ "id": "gpt-5.2", "contextWindow": 200_000 }] } } } });
    well(&made.on(200_000).config(other).read());
}

#[test]
fn a_counter_that_is_right_and_one_that_is_cumulative() {
    let mut made = Made::new();
    made.grow_to(60_000, 9_000);
    well(&made.on(200_000).row(json!({ "totalTokens": made.prompt() })).read());
    // It is reported, and it is not an overflow.
    let row = json!({ "totalTokens": 1_200_000, "inputTokens": 200_000, "cacheRead": 1_000_000 });
    let explanation = made.on(200_000).row(row).read().said();
    assert_eq!(explanation.findings[0].class, FindingClass::Healthy);
    assert!(explanation.findings.iter().any(|finding| finding.class == FindingClass::CounterInflated));
    fits(&explanation);
    // A counter marked as stale is ignored.
    well(&made.on(200_000).row(json!({ "totalTokens": 150_000, "totalTokensFresh": false })).read());
}

#[test]
fn words_about_an_overflow_in_a_result_a_question_and_an_answer() {
    let error = "prompt is too long: 213462 tokens > 200000 maximum; context_length_exceeded";
    let mut result = chat();
    result.user("what does the log say?");
    result.step_with("exec", error);
    result.answer(300);
    well(&result.read(200_000));
    let mut question = chat();
    question.user(&format!("why do I get: {error}"));
    question.answer(300);
    well(&question.read(200_000));
}

#[test]
fn a_run_that_someone_stopped() {
    let mut made = chat();
    made.user("go on");
    made.aborted();
    well(&made.read(200_000));
    made.user("again");
    made.answer(200);
    well(&made.read(200_000));
}

#[test]
fn an_overflow_on_an_abandoned_branch_is_named_as_such() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    made.user("go on");
    made.failed("prompt is too long: 200300 tokens > 200000 maximum");
    let kept = made.count - 10;
    made.compaction(&words(4_000), kept);
    made.answer(300);
    let explanation = made.read(200_000).said();
    assert!(explanation.has_overflowed(), "it did overflow once");
    assert_eq!(explanation.overflows.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Tests any session that stays well below its window and has typical counts.
    #[test]
    fn a_session_with_room_is_healthy(
        turns in prop::collection::vec((1_usize..3_000, prop::collection::vec(1_usize..12_000, 0..4), 1_usize..3_000, 0.0_f64..200.0), 0..14),
        chars_per_token in 3.2_f64..4.8,
        ruleset in prop::sample::select(vec!["2026.2.19", "2026.3.2", "2026.9.6"]),
    ) {
        let mut made = Made::new();
        made.chars_per_token = chars_per_token;
        for (requested, results, answer, gap) in turns {
            if made.prompt() > 80_000 {
                break;
            }
            made.user(&words(requested));
            for chars in results {
                made.step("exec", &[chars]);
            }
            made.answer(answer);
            made.touch();
            made.wait(gap);
        }
        let read = made.on(200_000).config(json!({ "meta": { "lastTouchedVersion": ruleset } })).read();
        let explanation = read.said();
        prop_assert_eq!(explanation.findings[0].class, FindingClass::Healthy, "{}", line(&explanation));
    }
}

#[test]
fn advice_names_only_keys_that_the_version_reads() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    made.user("now everything");
    made.wait(50.0);
    made.step("exec", &[60_000]);
    made.failed("prompt is too long: 207000 tokens > 200000 maximum");
    assert!(
        made.read(200_000)
            .said()
            .advice
            .iter()
            .any(|it| it.description().contains("contextPruning.ttl 1h → "))
    );
    for (version, ruleset) in [
        ("2026.2.19", Ruleset::V2026_2_17),
        ("2026.3.2", Ruleset::V2026_3_2),
        ("2026.9.6", Ruleset::V2026_9_6),
    ] {
        let read = made.on(200_000).config(json!({ "meta": { "lastTouchedVersion": version } })).read();
        assert_eq!(read.ruleset.id, ruleset);
        let fixed: Vec<&str> = read
            .setting_rows
            .iter()
            .filter(|row| row.setting.control.fixed_reason().is_some())
            .map(clawscope::policy::settings::PolicySetting::key)
            .collect();
        for advice in read.said().advice {
            for change in &advice.changes {
                assert!(!fixed.contains(&change.key()), "{}: {}", ruleset.id(), change.key());
            }
        }
    }
}
