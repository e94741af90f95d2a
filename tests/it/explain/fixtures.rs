//! Further reports: one number of each.

use clawscope::report::explain::FindingClass;
use serde_json::json;

use super::made::{Made, words};
use super::{finding, number, verdict};

/// The first release that knows the slot wrote the file.
fn engine(name: &str) -> serde_json::Value {
    json!({
        "meta": { "lastTouchedVersion": "2026.3.7" },
        "plugins": { "slots": { "contextEngine": name } }
    })
}

#[test]
fn the_gateways_check_counts_twice_as_much_as_the_provider() {
    let mut made = Made::new();
    made.chars_per_token = 4.0;
    made.grow_to(62_000, 20_000);
    made.user("go on");
    made.step("exec", &[40_000]);
    made.threw("Context overflow: estimated context size exceeds safe threshold before the prompt (precheck). requested: 171000 tokens, limit is 160000");
    let explanation = verdict(&made.read(200_000), FindingClass::EstimatorError, &[]);
    assert!((2.0..2.8).contains(&number(&explanation.findings[0], "overcount")));
}

#[test]
fn exhausted_without_a_prompt_near_the_window() {
    let mut made = Made::new();
    made.grow_to(43_000, 8_000);
    made.user("go on");
    made.settle(45_211);
    made.answer(100);
    made.user("and?");
    made.threw("Context overflow: prompt too large for the model");
    let explanation = verdict(&made.read(81_920), FindingClass::EstimatorError, &[]);
    assert_eq!(number(&explanation.findings[0], "peak"), 45_211.0);
}

#[test]
fn a_few_hundred_tokens_too_many_are_still_too_many() {
    let mut made = Made::new();
    made.grow_to(150_000, 20_000);
    made.user("go on");
    for _ in 0..32 {
        made.step("exec", &[900]);
    }
    made.failed("prompt is too long: 160498 tokens > 160000 maximum");
    let explanation = made.read(160_000).said();
    assert_eq!(
        explanation.failure.as_ref().map(clawscope::report::explain::Failure::excess_tokens),
        Some(498)
    );
    assert!(explanation.advice.iter().any(|advice| advice.fits_all), "so little is soon freed");
}

#[test]
fn a_plugin_that_declines_to_compact_owns_the_context() {
    let mut made = Made::new();
    made.grow_to(190_000, 20_000);
    made.user("go on");
    made.failed("prompt is too long: 200164 tokens > 200000 maximum");
    let read = made.on(200_000).config(engine("lossless-claw")).read();
    let explanation = verdict(&read, FindingClass::EngineOwned, &[]);
    assert!(!explanation.advice.is_empty());
    assert!(
        explanation.advice.iter().all(|it| !it.description().contains("compaction.")),
        "its own compaction is not asked"
    );
    // The gateway's own engine is not a plugin.
    let own = made.on(200_000).config(engine("legacy")).read().said();
    assert!(own.findings.iter().all(|finding| finding.class != FindingClass::EngineOwned));
}

#[test]
fn a_plugin_that_says_it_assembled_less_than_was_sent() {
    let mut made = Made::new();
    made.grow_to(16_000, 2_000);
    made.user("go on");
    made.failed("This model's maximum context length is 131072 tokens. However, you requested 133000 tokens");
    let read = made.on(131_072).config(engine("some-engine")).read();
    let explanation = verdict(&read, FindingClass::EngineOwned, &["some-engine"]);
    assert!(explanation.failure.as_ref().is_some_and(|failure| failure.gateway_estimate() < 20_000));
}

#[test]
fn bytes_divided_by_four_are_not_tokens() {
    let mut made = Made::new();
    made.grow_to(60_000, 20_000);
    let bytes = made.text().len() as f64;
    let made_up = (bytes / 4.0).max(2_500_000.0);
    let read = made.on(200_000).row(json!({ "totalTokens": made_up })).read();
    let explanation = verdict(&read, FindingClass::Healthy, &[]);
    assert!(finding(&explanation, FindingClass::CounterInflated).headline().contains("2,500,000"));
}

#[test]
fn two_dozen_messages_may_be_too_many() {
    let mut made = Made::new();
    made.user("look at everything");
    for _ in 0..11 {
        made.step("exec", &[9_000]);
    }
    made.step("read", &[700_000]);
    made.failed("prompt is too long: 211000 tokens > 200000 maximum");
    verdict(&made.read(200_000), FindingClass::SingleResult, &[]);
}

#[test]
fn a_heartbeat_that_pays_for_every_beat_before_it() {
    let mut made = Made::new();
    made.fixed = 30_000.0;
    while made.prompt() < 199_000 {
        made.user("Heartbeat: go through the boards named in HEARTBEAT.md and report what changed.");
        made.answer(6_000);
        made.wait(30.0);
    }
    made.user("Heartbeat: go through the boards named in HEARTBEAT.md and report what changed.");
    made.failed("prompt is too long: 201000 tokens > 200000 maximum");
    let off = json!({ "agents": { "defaults": { "contextPruning": { "mode": "off" } } } });
    verdict(
        &made.on(200_000).config(off).read(),
        FindingClass::RecurringSessionGrowth,
        &["the same job ran "],
    );
}

#[test]
fn eighteen_of_twenty_eight_summaries_time_out() {
    let mut made = Made::new();
    made.grow_to(60_000, 20_000);
    for round in 0..28 {
        if round % 28 < 10 {
            made.grow_to(100_000, 20_000);
            let kept = made.count - 4;
            made.compaction(&words(4_000), kept);
            made.answer(100);
        } else {
            made.failed("Compaction timed out after 60000 ms");
            made.wait(3.0);
        }
    }
    let explanation = verdict(&made.read(200_000), FindingClass::CompactionTimeout, &[]);
    assert_eq!(
        (number(&explanation.findings[0], "failed"), number(&explanation.findings[0], "written")),
        (18.0, 10.0)
    );
}

#[test]
fn an_overflow_that_only_the_gateway_noted() {
    let mut made = Made::new();
    made.grow_to(140_000, 20_000);
    made.user("poll it");
    made.settle(136_552);
    made.step("process", &[300_000]);
    made.threw("400 上下文长度超出限制：最大 200000，当前 320246");
    let explanation = verdict(&made.read(200_000), FindingClass::SingleResult, &[]);
    assert!(explanation.overflows[0].noted_by_gateway, "there is no failed answer, only the gateway's note");
}

#[test]
fn refusals_of_every_provider_are_counted_with_their_numbers() {
    for (text, requested, limit) in [
        ("prompt is too long: 213462 tokens > 200000 maximum", 213_462, 200_000),
        (
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
            1_196_265,
            1_048_575,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
            537_812,
            131_072,
        ),
        ("400 上下文长度超出限制：最大 131072，当前 150233", 150_233, 131_072),
        ("Your request exceeded model token limit: 262144 (requested: 275010)", 275_010, 262_144),
    ] {
        for by_gateway in [false, true] {
            let mut made = Made::new();
            made.grow_to(60_000, 9_000);
            made.user("go on");
            if by_gateway {
                made.threw(text)
            } else {
                made.failed(text)
            };
            let explanation = made.read(200_000).said();
            let overflow = explanation.overflows.first().unwrap_or_else(|| panic!("{text}"));
            assert_eq!((overflow.requested, overflow.limit), (Some(requested), Some(limit)), "{text}");
        }
    }
}

/// Each refusal says by how much the same prompt was too large, so a further one makes it no larger.
#[test]
fn refusals_that_follow_one_another_do_not_add_up() {
    let mut made = Made::new();
    made.grow_to(35_000, 2_700);
    for excess in [7_609, 7_632, 7_655, 7_701] {
        made.user("go on");
        made.failed(&format!("prompt too long; exceeded max context length by {excess} tokens"));
    }
    let explanation = made.read(131_072).said();
    let failure = explanation.failure.as_ref().expect("a refused call");
    let stated = failure.prompt_tokens - failure.limit;
    assert!((7_600..7_800).contains(&stated), "{} of {}", failure.prompt_tokens, failure.limit);
}
