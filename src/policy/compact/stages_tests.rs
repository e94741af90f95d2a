//! Tests for the stages and fallbacks of the rules.

use super::*;
use crate::js;
use crate::policy::compact::stages::{CancelReason, NoSummary, SummaryMode};
use crate::policy::compact::testing::{job, summarise, users};
use crate::units::Tokens;

/// Answers `s1`, `s2`, …, fails at the listed calls, and records the requests.
#[derive(Default)]
struct Script {
    /// Numbers of the calls that fail, from 1.
    failing: Vec<usize>,
    ends_at: Option<usize>,
    requests: Vec<Request>,
}

#[derive(Debug, PartialEq)]
struct Request {
    messages: usize,
    previous: Option<String>,
    focus: String,
    merges: bool,
}

impl SummaryModel for Script {
    fn answer(&mut self, request: &SummaryRequest<'_>) -> Result<JsString, AnswerFailure> {
        self.requests.push(Request {
            messages: request.messages.len(),
            previous: request.previous_summary.map(JsString::to_string_lossy),
            focus: request.focus.map(JsString::to_string_lossy).unwrap_or_default(),
            merges: request.is_merge,
        });
        let call = self.requests.len();
        match call {
            _ if self.ends_at == Some(call) => Err(AnswerFailure::Aborted),
            _ if self.failing.contains(&call) => Err(AnswerFailure::Failed("no".to_owned())),
            _ => Ok(format!("s{call}").into()),
        }
    }
}

impl Script {
    fn failing(calls: impl IntoIterator<Item = usize>) -> Self {
        Self { failing: calls.into_iter().collect(), ..Self::default() }
    }

    /// Returns the number of messages and the previous summary of each call.
    fn requests(&self) -> Vec<(usize, Option<&str>)> {
        self.requests.iter().map(|requested| (requested.messages, requested.previous.as_deref())).collect()
    }
}

/// Returns the history summary of messages in a window of 200,000 with `previous`.
fn staged(messages: &[Value], previous: Option<&str>, script: &mut Script) -> Result<String, NoSummary> {
    let mut job = job(messages.to_vec());
    job.texts.previous_summary = previous.map(Value::from);
    summarise(&job, script).map(|written| written.parts.history.to_string_lossy())
}

#[test]
fn few_or_small_messages_take_one_call_with_the_previous_summary() {
    let mut script = Script::default();
    assert_eq!(staged(&users(5, 400), Some("before"), &mut script).as_deref(), Ok("s1"));
    assert_eq!(script.requests(), [(5, Some("before"))]);
    // 3 messages of 30,000 tokens exceed the maximum but are too few to split: one call each.
    let mut script = Script::default();
    assert_eq!(staged(&users(3, 120_000), Some("before"), &mut script).as_deref(), Ok("s3"));
    assert_eq!(script.requests(), [(1, Some("before")), (1, Some("s1")), (1, Some("s2"))]);
}

#[test]
fn halves_are_summarised_without_the_previous_summary_and_merged_with_it() {
    let mut script = Script::default();
    assert_eq!(staged(&users(80, 4000), Some("before"), &mut script).as_deref(), Ok("s3"));
    assert_eq!(script.requests(), [(40, None), (40, None), (2, Some("before"))]);
    assert!(script.requests[2].merges && script.requests[2].focus.contains(MERGE_PROMPT));
    assert!(!script.requests[0].merges && !script.requests[0].focus.contains(MERGE_PROMPT));
}

#[test]
fn a_failed_call_is_repeated_without_the_oversized_messages_which_leave_a_note() {
    // 90,000 tokens with the margin are more than half the window.
    let mut messages = users(2, 400);
    messages.extend(users(1, 360_000));
    let mut script = Script::failing([2]);
    let expected = "s3\n\n[Large user (~90K tokens) omitted from summary]";
    assert_eq!(staged(&messages, Some("before"), &mut script).as_deref(), Ok(expected));
    assert_eq!(script.requests(), [(2, Some("before")), (1, Some("s1")), (2, Some("before"))]);
}

#[test]
fn a_failed_call_without_oversized_messages_is_retried_once_then_replaced_by_a_note() {
    let mut script = Script::failing([1, 2]);
    let expected = "Context contained 3 messages (0 oversized). Summary unavailable due to size limits.";
    assert_eq!(staged(&users(3, 400), Some("before"), &mut script).as_deref(), Ok(expected));
    assert_eq!(script.requests(), [(3, Some("before")), (3, Some("before"))]);
    // All messages are oversized, so no second call is made.
    let mut script = Script::failing([1]);
    let expected = "Context contained 2 messages (2 oversized). Summary unavailable due to size limits.";
    assert_eq!(staged(&users(2, 400_000), None, &mut script).as_deref(), Ok(expected));
    assert_eq!(script.requests.len(), 1);
}

#[test]
fn the_summariser_can_abort_at_any_call() {
    let mut script = Script { ends_at: Some(2), ..Script::default() };
    assert_eq!(staged(&users(80, 4000), None, &mut script), Err(NoSummary::Aborted));
    assert_eq!(script.requests.len(), 2);
}

#[test]
fn the_beginning_of_a_split_turn_is_summarised_separately() {
    let mut job = job(users(2, 400));
    job.texts.turn_prefix = users(3, 400);
    job.texts.previous_summary = Some(Value::from("before"));
    job.instructions = Some("zebras".into());
    let mut script = Script::default();
    let written = summarise(&job, &mut script).expect("a summary");
    assert_eq!(written.parts.text(), "s1\n\n---\n\n**Turn Context (split turn):**\n\ns2");
    assert_eq!(script.requests(), [(2, Some("before")), (3, None)]);
    assert!(script.requests[0].focus.ends_with("Additional focus:\nzebras"));
    assert!(!script.requests[1].focus.contains("zebras"));
}

#[test]
fn a_safeguard_without_anything_real_cancels_even_with_a_turn_prefix() {
    let custom = js::parse(r#"{"role":"custom","content":"x"}"#).expect("test JSON");
    let mut job = job(vec![custom]);
    job.texts.turn_prefix = users(3, 400);
    let cancelled = Err(NoSummary::Cancelled(CancelReason::NoRealMessage));
    assert_eq!(summarise(&job, &mut Script::default()), cancelled);
    job.texts.history = vec![js::parse(r#"{"role":"assistant"}"#).expect("test JSON")];
    assert_eq!(summarise(&job, &mut Script::default()), Err(NoSummary::Cancelled(CancelReason::Malformed)));
}

#[test]
fn the_oldest_half_is_dropped_when_new_content_exceeds_its_share() {
    // 150,000 tokens of history, budget 100,000; new content of 120,000 passes, 120,001 does not.
    let mut job = job(users(10, 60_000));
    job.texts.previous_summary = Some(Value::from("before"));
    job.tokens_before = Tokens(150_000.0 + 120_000.0);
    let mut script = Script::default();
    assert_eq!(summarise(&job, &mut script).expect("a summary").dropped, None);
    job.tokens_before += Tokens(1.0);
    let mut script = Script::default();
    let dropped = summarise(&job, &mut script).expect("a summary").dropped.expect("dropped");
    assert_eq!((dropped.chunks, dropped.messages, dropped.tokens), (1, 5, Tokens(75_000.0)));
    // The kept half continues from the summary of the dropped half.
    let last_of_dropped =
        script.requests.iter().rposition(|requested| requested.previous.as_deref() == Some("before"));
    let after = last_of_dropped.expect("the dropped half") + 1;
    assert!(
        script.requests[after..].iter().any(|requested| requested.previous == Some(format!("s{after}"))),
        "{:?}",
        script.requests
    );
}

#[test]
fn the_runtime_makes_one_call_and_a_second_for_a_split_turn() {
    let mut job = job(users(80, 4000));
    job.mode = SummaryMode::Default;
    let mut script = Script::default();
    assert_eq!(summarise(&job, &mut script).expect("a summary").parts.text(), "s1");
    assert_eq!(script.requests(), [(80, None)]);
    job.texts.history.clear();
    job.texts.previous_summary = Some(Value::from("before"));
    // The runtime calls the model even without messages, if there is no turn prefix.
    let mut script = Script::default();
    assert_eq!(summarise(&job, &mut script).expect("a summary").parts.text(), "s1");
    assert_eq!(script.requests(), [(0, Some("before"))]);
    job.texts.turn_prefix = users(1, 4);
    let expected = "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\ns1";
    assert_eq!(summarise(&job, &mut Script::default()).expect("a summary").parts.text(), expected);
    assert_eq!(summarise(&job, &mut Script::failing([1])), Err(NoSummary::Failed("no".to_owned())));
}

#[test]
fn answers_may_take_a_share_of_the_reserve() {
    assert_eq!(
        (max_summary_tokens(Tokens(20_000.0)), max_prefix_tokens(Tokens(20_000.0))),
        (Tokens(16_000.0), Tokens(10_000.0))
    );
    assert_eq!(max_summary_tokens(Tokens(1.0)), Tokens::ZERO);
}
