//! The text of extractive summaries.

use proptest::prelude::*;

use super::*;
use crate::gateway::ruleset::PiRelease;
use crate::js::{self, JsString, Value};
use crate::policy::compact::SummaryPurpose;
use crate::units::{Chars, Tokens};

fn summary(messages: &[Value], form: SummaryForm, previous: Option<&str>, max_tokens: Tokens) -> String {
    let previous = previous.map(JsString::from);
    let request = SummaryRequest {
        purpose: SummaryPurpose::History,
        form,
        is_merge: false,
        pi: PiRelease::OLDEST,
        messages,
        previous_summary: previous.as_ref(),
        focus: None,
        max_tokens,
    };
    ExtractiveSummarizer.summarise(&request, &CancelToken::new()).unwrap()
}

fn messages(json: &str) -> Vec<Value> {
    js::parse(&format!("[{json}]")).unwrap().as_array().unwrap().to_vec()
}

const STORY: &str = r#"
{"role":"user","content":"The nightly build is red. Find out why and fix it. Never push to main.","timestamp":1700000000000},
{"role":"assistant","content":[{"type":"text","text":"I'll look at the log."},{"type":"toolCall","id":"1","name":"exec","arguments":{"command":"make test"}}]},
{"role":"toolResult","toolCallId":"1","toolName":"exec","isError":true,"content":[{"type":"text","text":"linker error:\n undefined symbol frob"}]},
{"role":"assistant","content":[{"type":"toolCall","id":"2","name":"read","arguments":{"path":"src/frob.c"}},{"type":"toolCall","id":"3","name":"edit","arguments":{"path":"Makefile"}}]},
{"role":"toolResult","toolCallId":"2","toolName":"read","content":[{"type":"text","text":"..."}]},
{"role":"toolResult","toolCallId":"3","toolName":"edit","content":[{"type":"text","text":"ok"}]},
{"role":"assistant","content":[{"type":"toolCall","id":"4","name":"exec","arguments":{"command":"make deploy"}}]},
{"role":"toolResult","toolCallId":"4","toolName":"exec","isError":true,"content":[{"type":"text","text":"permission denied"}]},
{"role":"assistant","content":[{"type":"text","text":"The cause was a missing object file; commit 3fa9c1d removed it. I decided to restore it.\nNext: ask for the deploy key."}]},
{"role":"user","content":"Good. And what about /srv/cache?","timestamp":1700000100000}"#;

#[test]
fn the_summary_lists_requests_actions_failures_and_open_work() {
    let text = summary(&messages(STORY), SummaryForm::Checkpoint, None, Tokens(16_000.0));
    let expected = "\
## Goal
- The nightly build is red. Find out why and fix it. Never push to main.
- then: Good. And what about /srv/cache?

## Constraints & Preferences
- \"Never push to main.\"

## Progress
### Done
- [x] changed Makefile
- [x] read src/frob.c
- [x] exec: 2 calls, 2 failed: make test; make deploy

### In Progress
- [ ] not answered yet: Good. And what about /srv/cache?

### Blocked
- exec `make test` failed: linker error: undefined symbol frob
- exec `make deploy` failed: permission denied

## Key Decisions
- The cause was a missing object file; commit 3fa9c1d removed it.
- I decided to restore it.

## Next Steps
1. answer: Good. And what about /srv/cache?
2. Next: ask for the deploy key.

## Critical Context
- last answer: The cause was a missing object file; commit 3fa9c1d removed it. I decided to restore it. Next: ask for the deploy key.
- named: 3fa9c1d, /srv/cache
- Extractive summary: quoted from 10 messages and 4 tool calls, 2023-11-14T22:13:20.000Z to 2023-11-14T22:15:00.000Z; no model was used.";
    assert_eq!(text, expected);
}

#[test]
fn an_earlier_summary_is_carried_on_and_does_not_grow_for_ever() {
    let mut text = summary(&messages(STORY), SummaryForm::Checkpoint, None, Tokens(16_000.0));
    let mut lengths = Vec::new();
    for turn in 0..26_u8 {
        let message = format!(
            r#"{{"role":"user","content":"Request {} for the day, {}"}}"#,
            char::from(b'a' + turn),
            "x".repeat(100)
        );
        text = summary(&messages(&message), SummaryForm::Checkpoint, Some(&text), Tokens(16_000.0));
        lengths.push(text.len());
    }
    assert!(text.contains("Request z") && text.contains("Never push to main."), "{text}");
    assert_eq!(text.matches(SIGNATURE).count(), 1);
    assert!(lengths[25] <= lengths[15] + 200, "{lengths:?}");
}

#[test]
fn a_turn_prefix_has_a_separate_form() {
    let text = summary(&messages(STORY), SummaryForm::TurnPrefix, None, Tokens(10_000.0));
    assert!(text.starts_with("## Original Request\n- The nightly build is red."), "{text}");
    assert!(
        text.contains("## Early Progress\n- changed Makefile")
            && text.contains("## Context for Suffix\n- exec"),
        "{text}"
    );
    assert!(text.ends_with("no model was used."));
}

#[test]
fn the_same_request_with_other_numbers_is_reported_once_and_a_question_is_open() {
    let beat = |at: u8| {
        format!(
            r#"{{"role":"user","content":"Heartbeat at 0{at}:00"}},{{"role":"assistant","content":[{{"type":"text","text":"All well."}}]}},"#
        )
    };
    let requested = r#"{"role":"user","content":"deploy"},{"role":"assistant","content":[{"type":"text","text":"Both work. Which one first?"}]}"#;
    let json = (1..6).map(beat).collect::<String>() + requested;
    let text = summary(&messages(&json), SummaryForm::Checkpoint, None, Tokens(16_000.0));
    assert!(text.starts_with("## Goal\n- Heartbeat at 05:00 (5 times)\n- then: deploy\n"), "{text}");
    assert!(text.contains("1. the person was asked: Which one first?"), "{text}");
}

#[test]
fn an_empty_history_and_a_cancel_are_handled() {
    let text = summary(&[], SummaryForm::Checkpoint, Some("## Goal\nShip it"), Tokens(16_000.0));
    assert!(text.starts_with("## Goal\n- Ship it"), "{text}");
    let cancel = CancelToken::new();
    cancel.cancel();
    let request = SummaryRequest {
        purpose: SummaryPurpose::History,
        form: SummaryForm::Checkpoint,
        is_merge: false,
        pi: PiRelease::OLDEST,
        messages: &[],
        previous_summary: None,
        focus: None,
        max_tokens: Tokens(1.0),
    };
    assert_eq!(ExtractiveSummarizer.summarise(&request, &cancel), Err(CallError::Cancelled));
}

/// Messages with malformed and regular members.
fn odd_messages() -> impl Strategy<Value = Vec<Value>> {
    let content = prop_oneof![
        Just("5".to_owned()),
        Just("null".to_owned()),
        "[a-z .?!/]{0,80}".prop_map(|text| format!("\"{text}\"")),
        "[a-z。 ]{0,300}".prop_map(|text| format!(
            r#"[{{"type":"text","text":" ## {text}"}},null,{{"type":"toolCall"}}]"#
        )),
    ];
    let role = prop_oneof![Just("user"), Just("assistant"), Just("toolResult"), Just("custom"), Just("x")];
    let message = (role, content, any::<bool>()).prop_map(|(role, content, failed)| {
        js::parse(&format!(r#"{{"role":"{role}","isError":{failed},"toolCallId":"a","content":{content}}}"#))
            .unwrap()
    });
    proptest::collection::vec(message, 0..40)
}

proptest! {
    #[test]
    fn a_summary_of_any_messages_fits_its_limit_and_is_deterministic(
        messages in odd_messages(), tokens in 0.0..3000.0_f64, previous in "[ -~\n]{0,400}",
    ) {
        let text = summary(&messages, SummaryForm::Checkpoint, Some(&previous), Tokens(tokens));
        prop_assert!(words::units(&text) <= Chars(tokens.max(MIN_TOKENS) * 4.0), "{}", text);
        prop_assert!(text.starts_with("## Goal\n"));
        prop_assert_eq!(summary(&messages, SummaryForm::Checkpoint, Some(&previous), Tokens(tokens)), text);
    }
}
