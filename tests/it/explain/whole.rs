//! Advice about the whole session.

use clawscope::report::explain::Advice;
use serde_json::json;

use super::made::Made;

/// A session that overflowed twice: once in the middle, where a compaction followed, and at its end.
fn twice() -> Made {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    made.user("everything at once");
    made.step("exec", &[90_000, 90_000, 90_000]);
    made.failed(&format!("prompt is too long: {} tokens > 200000 maximum", made.prompt()));
    let kept = made.count - 12;
    made.compaction(&super::made::words(4_000), kept);
    made.answer(200);
    made.grow_to(160_000, 20_000);
    made.user("and now");
    made.wait(40.0);
    while made.prompt() < 201_000 {
        made.step("exec", &[30_000]);
    }
    made.failed(&format!("prompt is too long: {} tokens > 200000 maximum", made.prompt()));
    made
}

#[test]
fn a_change_that_fits_the_call_but_not_another_does_not_help() {
    let explanation = twice().read(200_000).said();
    assert_eq!(explanation.overflows.len(), 2);
    let recorded = explanation.recorded.expect("it was replayed");
    assert_eq!((recorded.overflows, recorded.failing_call_overflows), (2, true));
    for advice in explanation.advice.iter().filter(|it| it.fits && it.whole.overflows > 0) {
        assert!(!advice.fits_all && advice.outcome.description().contains("other call"), "{advice:?}");
    }
    let fitting: Vec<&Advice> = explanation.advice.iter().filter(|it| it.fits_all).collect();
    assert!(!fitting.is_empty() && fitting.iter().all(|it| it.overflows() == 0));
}

#[test]
fn every_change_has_totals_over_all_calls() {
    let mut made = Made::new();
    made.grow_to(110_000, 20_000);
    made.user("now everything");
    made.wait(40.0);
    while made.prompt() < 200_000 {
        made.step("exec", &[40_000]);
    }
    let last = made.prompt();
    made.failed(&format!("prompt is too long: {last} tokens > 200000 maximum"));
    let explanation = made.read(200_000).said();
    let recorded = explanation.recorded.expect("it was replayed");
    assert_eq!(
        (recorded.peak_tokens, recorded.overflows, recorded.failing_call_tokens),
        (last, 1, Some(last))
    );
    // Opus: 5 dollars a million for uncached tokens, which is all of them, and 25 for each answer.
    let (prompts, outputs) = made.counted();
    let cost = (prompts as f64 * 5.0 + outputs as f64 * 25.0) / 1e6;
    assert!((recorded.cost.unwrap() - cost).abs() < 0.005, "{recorded:?} {cost}");
    let helps: Vec<&Advice> = explanation.advice.iter().filter(|it| it.fits_all).collect();
    assert!(!helps.is_empty());
    for advice in &explanation.advice {
        let whole = advice.whole;
        assert!(whole.peak_tokens > 0 && whole.cost.is_some());
        assert_eq!(advice.fits_all, advice.overflows() == 0, "{advice:?}");
    }
}

#[test]
fn a_cut_reply_needs_room_for_a_complete_one() {
    let mut made = Made::new();
    made.grow_to(60_000, 20_000);
    for (prompt, output) in [(64_300, 1_236), (65_000, 536), (65_535, 1)] {
        made.user("go on");
        made.settle(prompt);
        made.cut(output);
    }
    let explanation = made.read(200_000).said();
    let fitting: Vec<&Advice> = explanation.advice.iter().filter(|it| it.fits_all).collect();
    assert!(!fitting.is_empty() && fitting.iter().all(|it| it.tokens_after + 2_048 <= it.limit));
}

#[test]
fn every_count_of_the_failing_prompt_is_listed() {
    let mut made = Made::new();
    made.grow_to(125_000, 20_000);
    made.user("go on");
    made.failed("This model's maximum context length is 131072 tokens. However, you requested 133900 tokens");
    let row = json!({ "totalTokens": 99_000 });
    let explanation = made.on(200_000).row(row).read().said();
    let counts: Vec<(&str, u64, bool)> = explanation
        .counts
        .iter()
        .map(|count| (count.counter.as_str(), count.tokens, count.is_measured))
        .collect();
    let who: Vec<&str> = counts.iter().map(|count| count.0).collect();
    assert_eq!(who, ["provider", "runtime", "stored counter", "chars/4", "calibrated"]);
    assert_eq!((counts[0].1, counts[0].2, counts[2].1), (133_900, true, 99_000));
    assert!(!counts[3].2 && !counts[4].2, "estimates are no counts");
}
