//! Whole explanations of small sessions: every finding, guard, count and change with all its fields.

mod said;

use std::fmt::Write as _;

use crate::report::explain::{Explanation, explain};
use crate::report::stored_tests::{COMPACTION, Tale, config};
use crate::session::LoadedSession;
use said::Said;

const PRUNING: &str = r#","contextPruning":{"mode":"cache-ttl","ttl":"1h"}"#;

/// Everything that an explanation says, a line for each part.
fn described(session: &LoadedSession) -> String {
    let explanation = explain(session).expect("it reads");
    let Explanation {
        state: _,
        fits_since_commit: _,
        overflows,
        course,
        failure,
        mechanism,
        parts,
        guards,
        counts,
        mismeasured,
        aftermath,
        findings,
        advice,
        recorded,
        tried_count,
        asked: _,
        is_exhausted,
    } = &explanation;
    let mut lines = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Debug| {
        let _ = writeln!(lines, "  {name} {value:?}");
    };
    for overflow in overflows {
        line("overflow", overflow);
    }
    line(
        "course",
        &(course.total, course.believed_window, course.served_limit, course.trigger, course.largest_accepted),
    );
    for call in course.calls.iter().rev().take(4) {
        line("call", call);
    }
    if let Some(it) = failure {
        let weights = it.weights.iter().map(|weight| weight.round()).collect::<Vec<_>>();
        line(
            "failure",
            &(it.overflow.entry, it.believed_window, it.last_counted, it.first_new, it.prompt_tokens),
        );
        line("failure", &(it.is_measured, it.limit, it.fixed_tokens, it.is_next_call, weights));
    }
    line("mechanism", mechanism);
    for part in parts.iter().take(5) {
        line("part", part);
    }
    for guard in guards {
        line("guard", &Said(guard));
    }
    for count in counts {
        line("count", &Said(count));
    }
    line("found", &(mismeasured.len(), aftermath.len()));
    for finding in findings {
        line(finding.class.as_str(), &Said(finding));
    }
    for advice in advice {
        line("advice", &Said(advice));
    }
    line("recorded", recorded);
    line("tried", &(tried_count, is_exhausted, explanation.advice_headline()));
    lines
}

fn describe(name: &str, tale: &Tale, config: &str, row: &str) -> String {
    let (folder, session) = tale.read(config, row);
    let text = described(&session).replace(&folder.path().display().to_string(), "STORE");
    format!("{name}\n{text}\n")
}

fn grown(turns: usize, chars: usize) -> Tale {
    (0..turns).fold(Tale::new(900), |tale, _| tale.turn(chars))
}

#[test]
fn refused_sessions_are_explained_field_by_field() {
    let plain = config(20_000, &[PRUNING, COMPACTION].concat());
    let unpruned = config(20_000, COMPACTION);
    let built_in = config(20_000, PRUNING);
    let tales = [
        ("many results", grown(4, 18_000).wait(90).user(40).refused(18_000), &plain),
        ("one large result", grown(2, 2_000).user(40).step("read", &[90_000]).refused(20_000), &plain),
        ("a large message", grown(2, 2_000).user(90_000).refused(20_000), &plain),
        (
            "parallel results",
            grown(1, 2_000).user(40).step("exec", &[30_000, 30_000, 20_000]).refused(20_000),
            &unpruned,
        ),
        ("a window that nobody serves", grown(3, 12_000).user(40).refused(9_000), &built_in),
    ];
    let described: Vec<String> = tales
        .iter()
        .map(|(name, tale, config)| {
            describe(name, tale, config, r#","totalTokens":4000,"totalTokensFresh":true"#)
        })
        .collect();
    insta::assert_snapshot!(described.join("\n"));
}

#[test]
fn refusals_of_other_kinds_are_explained_field_by_field() {
    let plain = config(20_000, &[PRUNING, COMPACTION].concat());
    let blind = (0..5).fold(Tale::new(900), |tale, _| tale.user(12_000).uncounted(2_000));
    let dense = Tale::new(900).counted_by(2);
    let dense = (0..6).fold(dense, |tale, _| tale.turn(6_000));
    let images = grown(1, 1_000).image(6_000).answer(40).image(6_000).answer(40).image(6_000);
    let switched = grown(3, 14_000).user(40).on_model("claude-haiku-4-5");
    let tales = [
        ("answers without usage", blind.user(12_000).refused(20_000)),
        ("dense text", dense.user(40).refused(20_000)),
        ("images", images.refused(20_000)),
        ("another model", switched.refused(10_000)),
        ("a request too large", images_in_bytes()),
    ];
    let described: Vec<String> = tales
        .iter()
        .map(|(name, tale)| {
            describe(name, tale, &plain, r#","inputTokens":100,"cacheRead":19900,"totalTokens":20000"#)
        })
        .collect();
    insta::assert_snapshot!(described.join("\n"));
}

fn images_in_bytes() -> Tale {
    let tale = grown(1, 1_000).image(600).image(600);
    tale.failed(r#"413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#)
}

#[test]
fn compactions_and_recoveries_are_explained_field_by_field() {
    let plain = config(20_000, COMPACTION);
    let summary =
        "## Goal\nbuild the linker and see that it works, as it did before the move to the new machine. "
            .repeat(4);
    let compacted = |tale: Tale, summary: &str, after: u64| {
        let kept = tale.count - 2;
        tale.compacted(summary, kept, after)
    };
    let once = |tale: Tale| compacted(tale.turn(36_000).turn(26_000), &summary, 4_000).turn(50_000);
    let treadmill =
        compacted((0..4).fold(Tale::new(900), |tale, _| once(tale)), &summary, 4_000).turn(60_000);
    let hollow = compacted(grown(3, 8_000), "## Goal\n- (none)", 1_500).turn(400);
    let idle = compacted(grown(3, 12_000), &summary.repeat(130), 9_000).turn(400);
    let refused = grown(4, 18_000).user(40).refused(18_000);
    let again = compacted(refused.clone(), &summary, 18_100).user(40).refused(18_000);
    let answered =
        compacted(refused.clone(), &summary, 17_000).turn(400).turn(4_000).user(40).refused(18_000);
    let late = refused.clone().failed("Compaction timed out after 180s").wait(30).user(40).answer(40);
    let summary_refused = refused
        .clone()
        .threw("Compaction failed: Summarization failed: prompt is too long: 30000 tokens > 20000 maximum");
    let tales = [
        ("again and again", treadmill),
        ("an empty summary", hollow),
        ("nothing freed", idle),
        ("refused again", again.clone()),
        ("too late", late),
        ("no summary", summary_refused),
        ("compacted again", compacted(again, &summary, 4_000)),
        ("answered and refused again", answered),
        ("left alone", refused.wait(30).user(40)),
    ];
    let described: Vec<String> = tales.iter().map(|(name, tale)| describe(name, tale, &plain, "")).collect();
    insta::assert_snapshot!(described.join("\n"));
}

#[test]
fn sessions_that_fit_have_an_outlook() {
    let tight = r#","compaction":{"reserveTokens":16000,"reserveTokensFloor":0}"#;
    let late = r#","compaction":{"reserveTokens":100,"reserveTokensFloor":0}"#;
    let small = (0..2).fold(Tale::new(5_000), |tale, _| tale.turn(400));
    let tales = [
        ("fits", grown(3, 2_000), config(20_000, &[PRUNING, COMPACTION].concat())),
        ("compacts next", grown(4, 16_500), config(20_000, COMPACTION)),
        ("nearly full", grown(4, 17_500), config(20_000, late)),
        ("no room", small.clone(), config(20_000, tight)),
        ("no room at all", small, config(20_000, "")),
        ("large fixed parts", Tale::new(5_000).turn(400), config(9_500, COMPACTION)),
        ("nothing yet", Tale::new(900).user(40), config(20_000, COMPACTION)),
    ];
    let report = r#","systemPromptReport":{"source":"run","generatedAt":1,"systemPrompt":{"chars":16000,"projectContextChars":0,"nonProjectContextChars":16000},"injectedWorkspaceFiles":[],"skills":{"promptChars":0,"entries":[]},"tools":{"listChars":0,"schemaChars":3000,"entries":[]}},"totalTokens":90000"#;
    let described: Vec<String> =
        tales.iter().map(|(name, tale, config)| describe(name, tale, config, report)).collect();
    insta::assert_snapshot!(described.join("\n"));
}

#[test]
fn causes_outside_the_messages_are_explained_field_by_field() {
    let denied = r#","contextPruning":{"mode":"cache-ttl","ttl":"5m","tools":{"deny":["exec","read"]}}"#;
    let limited = r#","contextPruning":{"mode":"cache-ttl","ttl":"5m","keepLastAssistants":1}"#;
    let plain = config(20_000, COMPACTION);
    let precheck = "Context overflow: estimated context size exceeds safe threshold before the prompt (precheck). requested: 21000 tokens, limit is 20000";
    let misses = |tale: Tale| (0..5).fold(tale, |tale, _| tale.wait(70).cached().turn(6_000));
    let read = |tale: Tale| (0..5).fold(tale.cached(), |tale, _| tale.turn(6_000));
    let tales = [
        (
            "tools that are not pruned",
            grown(4, 18_000).wait(9).user(40).refused(18_000),
            config(20_000, &[denied, COMPACTION].concat()),
        ),
        (
            "pruned too little",
            grown(5, 18_000).wait(9).user(40).refused(20_000),
            config(20_000, &[limited, COMPACTION].concat()),
        ),
        ("fixed parts", Tale::new(18_000).turn(4_000).user(4_000).refused(20_000), plain.clone()),
        ("the gateway's own check", grown(2, 6_000).user(40).threw(precheck), plain.clone()),
        (
            "the gateway's own check, twice",
            grown(2, 6_000).user(40).threw(precheck).turn(40).user(4_000).threw(precheck),
            plain.clone(),
        ),
        ("cache misses", misses(Tale::new(900)), plain.clone()),
        (
            "cache misses and an overflow",
            misses(Tale::new(9_000)).user(40_000).refused(20_000),
            plain.clone(),
        ),
        ("read from the cache", read(Tale::new(900)), plain),
    ];
    let report = r#","systemPromptReport":{"source":"run","generatedAt":1,"bootstrapMaxChars":20000,"bootstrapTotalMaxChars":150000,"systemPrompt":{"chars":16000,"projectContextChars":9000,"nonProjectContextChars":7000},"injectedWorkspaceFiles":[{"name":"AGENTS.md","path":"AGENTS.md","missing":false,"rawChars":9000,"injectedChars":9000,"truncated":false}],"skills":{"promptChars":0,"entries":[]},"tools":{"listChars":0,"schemaChars":3000,"entries":[]}}"#;
    let described: Vec<String> = tales
        .iter()
        .map(|(name, tale, config)| {
            describe(name, tale, config, if *name == "fixed parts" { report } else { "" })
        })
        .collect();
    insta::assert_snapshot!(described.join("\n"));
}
