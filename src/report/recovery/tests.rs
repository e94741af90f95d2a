//! Recoveries of small transcripts: which overflow counts, and which events belong to it.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::gateway::compaction::{CompactionMode, CompactionSettings};
use crate::policy::recovery::{CompactionCaller, Ending, Recovery, RecoveryStep};
use crate::session::testing::{entry_ix, loaded_session, message, result, transcript, user};
use crate::units::Tokens;

const TOO_LONG: &str = "prompt is too long: 213462 tokens > 200000 maximum";

fn error(text: &str) -> String {
    message(&format!(
        r#"{{"role":"assistant","content":[],"stopReason":"error","errorMessage":"{text}","timestamp":1}}"#
    ))
}

fn answer(text: &str) -> String {
    message(&format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stopReason":"stop"}}"#
    ))
}

fn compaction(kept: &str) -> String {
    format!(r#"{{"type":"compaction","summary":"s","firstKeptEntryId":"{kept}","tokensBefore":9000}}"#)
}

fn view(entries: &[String]) -> RecoveryView {
    load_recovery(&loaded_session(&transcript(entries), 200_000.0)).expect("memory is readable")
}

fn recorded(view: &RecoveryView) -> Vec<&'static str> {
    view.events.iter().map(RecoveryEvent::as_str).collect()
}

#[test]
fn the_last_overflow_is_shown_with_its_retries() {
    let view = view(&[
        user("one"),
        error(TOO_LONG),
        user("two"),
        answer("fine"),
        user("three"),
        error("prompt is too long: 214000 tokens > 200000 maximum"),
        error("prompt is too long: 214001 tokens > 200000 maximum"),
        compaction("e4"),
        answer("done"),
    ]);
    assert_eq!((view.refusal.entry, view.earlier_overflows), (Some(entry_ix(5)), 1));
    assert_eq!(view.refusal.tokens, Some(214_000));
    assert_eq!(recorded(&view), ["refused", "refused", "compacted", "answered"]);
}

#[test]
fn every_overflow_of_the_list_is_in_this_recovery_or_an_earlier_one() {
    let later = "prompt is too long: 214000 tokens > 200000 maximum";
    let entries = [user("one"), error(TOO_LONG), user("two"), answer("fine"), user("three"), error(later)];
    let session = loaded_session(&transcript(&entries), 200_000.0);
    let view = load_recovery(&session).expect("memory is readable");
    assert_eq!((session.overflows.len(), view.earlier_overflows), (2, 1));
    // Cut prompts were answered, so that the next call's recovery is imagined; they count all the same.
    let cut = |tokens: u64| {
        message(&format!(
            r#"{{"role":"assistant","provider":"ollama","model":"m","content":[{{"type":"text","text":"x"}}],"stopReason":"stop","usage":{{"input":{tokens},"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":{tokens}}}}}"#
        ))
    };
    let long = "x".repeat(40_000);
    let entries: Vec<String> = (0..6).flat_map(|_| [user(&long), cut(4_096)]).collect();
    let session = loaded_session(&transcript(&entries), 32_000.0);
    let view = load_recovery(&session).expect("memory is readable");
    assert!(!view.is_recorded() && !session.overflows.is_empty());
    assert_eq!(view.earlier_overflows, session.overflows.len());
}

#[test]
fn recorded_events_are_next_to_their_expected_steps() {
    let words = "x".repeat(90_000);
    let view = view(&[
        user(&words),
        answer(&words),
        user(&words),
        answer("and"),
        user("now"),
        error(TOO_LONG),
        compaction("e2"),
        answer("done"),
    ]);
    let seen: Vec<(&str, Option<&str>)> =
        view.rows.iter().map(|row| (row.label.as_str(), row.observed.as_deref())).collect();
    let expected = [
        ("Attempt 1", None),
        ("the prompt is refused", Some("13:05 refused at 213,462")),
        ("compacted in the run: 2 summarised", Some("13:06 compacted, 9,000 before")),
        ("the prompt fits", Some("13:07 answered")),
        ("the run goes on", None),
    ];
    assert_eq!(seen, expected);
    assert_eq!(view.rows[2].entry, Some(entry_ix(6)));
}

#[test]
fn a_reply_that_the_gateway_wrote_is_no_answer() {
    let reply = |api: &str| {
        message(&format!(
            r#"{{"role":"assistant","api":"{api}","provider":"p","model":"m","content":[{{"type":"text","text":"old"}}],"stopReason":"stop","usage":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0}}}}"#
        ))
    };
    let after = |api: &str| view(&[user("go on"), error(TOO_LONG), reply(api)]);
    assert_eq!(recorded(&after("cli")), ["refused"]);
    assert_eq!(recorded(&after("openai-completions")), ["refused", "answered"]);
}

#[test]
fn without_an_overflow_the_next_call_is_predicted() {
    let view = view(&[user("one"), answer("fine"), user("two")]);
    assert!(!view.is_recorded() && view.events.is_empty());
    assert_eq!(view.refusal.text, "prompt is too long");
    assert!(!view.rows.is_empty() && view.rows.iter().all(|row| row.observed.is_none()));
}

#[test]
fn another_error_is_not_recorded_as_an_overflow() {
    assert!(!view(&[user("one"), error("overloaded_error")]).is_recorded());
}

#[test]
fn a_prompt_that_threw_is_in_an_entry_of_the_gateway() {
    let custom =
        r#"{"type":"custom","customType":"openclaw:prompt-error","data":{"error":"413 Payload too large"}}"#;
    let view = view(&[user("one"), custom.to_owned()]);
    assert_eq!((view.refusal.source, view.refusal.entry), (ErrorSource::Prompt, Some(entry_ix(1))));
}

#[test]
fn an_answer_to_a_prompt_above_an_assumed_window_is_no_overflow() {
    let silent = message(
        r#"{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","content":[],"stopReason":"stop","usage":{"input":150000,"output":1,"cacheRead":60000,"cacheWrite":0}}"#,
    );
    let view = view(&[user("one"), silent]);
    assert_eq!((view.refusal.source, view.refusal.tokens), (ErrorSource::Assistant, None));
}

#[test]
fn a_branch_written_again_is_distinguished_from_an_answer() {
    let copy = result("c1", "exec", "cut", "");
    let old = message(r#"{"role":"assistant","content":[],"stopReason":"stop","timestamp":0}"#);
    let view = view(&[
        user("one"),
        result("c1", "exec", &"x".repeat(300_000), ""),
        error("request_too_large"),
        copy,
        old,
        answer("done"),
    ]);
    assert_eq!(recorded(&view), ["refused", "rewritten", "answered"]);
    assert_eq!(view.events.last().and_then(RecoveryEvent::entry), Some(entry_ix(5)));
}

/// Generates entries of all kinds that a recovery can meet, sized for a window of 1000 tokens.
fn any_entry() -> impl Strategy<Value = String> {
    let said = prop_oneof![
        Just(TOO_LONG),
        Just("request_too_large"),
        Just("too many tokens"),
        Just("413 Payload too large"),
        Just("Summarization failed: prompt is too long"),
        Just("500 internal error"),
    ];
    prop_oneof![
        3 => (0_usize..900).prop_map(|chars| user(&"u".repeat(chars))),
        4 => (0_usize..900).prop_map(|chars| answer(&"a".repeat(chars))),
        3 => (0_usize..9000, 0_u8..4).prop_map(|(chars, id)| result(&format!("c{id}"), "exec", &"r".repeat(chars), "")),
        2 => said.prop_map(error),
        1 => (0_usize..12).prop_map(|kept| compaction(&format!("e{kept}"))),
        1 => Just(r#"{"type":"custom","customType":"openclaw:prompt-error","data":{"error":"prompt is too long"}}"#.to_owned()),
        1 => Just(r#"{"type":"branch_summary","fromId":"e0","summary":""}"#.to_owned()),
        1 => Just(r#"{"type":"label","targetId":"e0","label":"x"}"#.to_owned()),
        1 => Just(message(r#"{"role":"user","content":null}"#)),
    ]
}

/// Counts the gateway loop's compactions and retries, and its cuts of results.
fn efforts(recovery: &Recovery) -> (usize, usize) {
    let steps = || recovery.attempts.iter().flat_map(|attempt| &attempt.steps);
    let tries = steps().filter(|step| {
        matches!(
            step,
            RecoveryStep::RunAgain | RecoveryStep::Compaction { caller: CompactionCaller::AfterRun, .. }
        )
    });
    (tries.count(), steps().filter(|step| matches!(step, RecoveryStep::Truncation { .. })).count())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_recovery_ends_within_its_limits_and_shows_all_that_is_recorded(
        entries in vec(any_entry(), 0..24),
        safeguard: bool,
        gateway: bool,
    ) {
        let mut session = loaded_session(&transcript(&entries), 1000.0);
        session.limits.runtime_window = Tokens(1000.0);
        session.limits.is_gateway_run = gateway;
        session.limits.compaction_mode =
            if safeguard { CompactionMode::Safeguard } else { CompactionMode::Default };
        session.configured_settings.compaction =
            CompactionSettings { enabled: true, reserve_tokens: Tokens(100.0), keep_recent_tokens: Tokens(100.0), chat_room: None };
        let view = load_recovery(&session).expect("memory is readable");
        let (tries, cuts) = efforts(&view.expected);
        prop_assert!(tries <= 3 && cuts <= 1, "{:?}", view.expected);
        prop_assert!(view.expected.attempts.len() <= 5);
        let last = view.expected.attempts.last().and_then(|attempt| attempt.steps.last());
        let answered = matches!(last, Some(RecoveryStep::Answered { .. }));
        prop_assert_eq!(answered, view.expected.ending == Ending::Answered);
        // Each event is in one row; an ending may say that no event followed.
        let shown = view.rows.iter().filter(|row| row.observed.is_some() && row.kind != RowKind::Ending);
        prop_assert_eq!(shown.count(), view.events.len());
        let steps: usize = view.expected.attempts.iter().map(|attempt| attempt.steps.len()).sum();
        prop_assert!(view.rows.len() > steps + view.expected.attempts.len());
    }
}

#[test]
fn a_prompt_too_small_to_be_refused_is_not_reported_as_a_refusal() {
    let view = view(&[]);
    let row = view.rows.iter().find(|row| row.kind == RowKind::Step).expect("a step");
    assert_eq!(row.mark, RowMark::Neutral, "{row:?}");
    assert!(!row.explanation.contains("too long"), "{row:?}");
}
