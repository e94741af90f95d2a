//! The other classes, each on the smallest session that shows it.

use clawscope::explain::{Advice, Class, Confidence};
use serde_json::json;

use crate::made::{Made, words};
use crate::{number, told};

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
    let read = made.read(200_000);
    let parts = ["OVERFLOW by ", "tool results are", "no gap >= ttl 1h"];
    let explanation = told(&read, (Class::ToolLoopTreadmill, Confidence::Sure), &parts);
    assert_eq!(number(&explanation, "over"), over as f64);
    let helps: Vec<String> =
        explanation.advice.iter().filter(|advice| advice.helps).map(Advice::words).collect();
    assert!(!explanation.no_setting_helps(), "{:#?}", explanation.advice);
    assert!(
        helps.iter().any(|words| words.contains("historyLimit") || words.contains("reserveTokens")),
        "{helps:?}"
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
    let explanation = told(&made.read(200_000), (Class::WrongWindow, Confidence::Sure), &parts);
    let first = &explanation.advice[0];
    assert!(first.helps && first.patch.contains("\"contextWindow\":131072"), "{:#?}", explanation.advice);
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
    let explanation = told(&made.read(200_000), (Class::WrongWindow, Confidence::Sure), &parts);
    assert_eq!(explanation.overflows.len(), 3);
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
    told(&made.read(200_000), (Class::CompactionNoOp, Confidence::Sure), &parts);
}

#[test]
fn a_second_compaction_right_behind_the_first() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    let kept = made.user(&words(760_000));
    made.compaction(&words(4_000), kept);
    made.failed("prompt is too long: 200164 tokens > 200000 maximum");
    let parts = ["OVERFLOW by 164: refused right behind compaction"];
    told(&made.read(200_000), (Class::CompactionRefused, Confidence::Sure), &parts);
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
    told(&made.read(200_000), (Class::CompactionTimeout, Confidence::Sure), &parts);
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
    told(&made.read(200_000), (Class::ImageBloat, Confidence::Sure), &parts);
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
        &made.read(128_000),
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
    let both = json!({ "models": { "providers": { "openrouter": { "models": [{ "id": "mistral-large", "contextWindow": 1_000_000 }] } } } });
    let read = made.on(1_000_000).config(both).read();
    let parts = ["OVERFLOW by 49,928: the call went to mistral-large (takes 131,072) after claude-opus-4-6"];
    let explanation = told(&read, (Class::ModelSwitch, Confidence::Sure), &parts);
    assert_eq!(
        (number(&explanation, "limit"), number(&explanation, "before") > 131_072.0),
        (131_072.0, true)
    );
    // The calls that the first model answered do fit, whatever the second one takes.
    assert!(explanation.advice.iter().all(|advice| advice.whole.is_none_or(|whole| whole.others == 0)));
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
    told(&made.read(200_000), (Class::Unexplained, Confidence::Possible), &parts);
}
