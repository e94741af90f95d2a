//! Attempts, fallbacks and cancellation, with a scripted summarizer.

use std::sync::Mutex;

use super::*;
use crate::policy::compact::testing::{job, users};
use crate::policy::compact::{SummaryMode, predict_calls};
use crate::units::{Millis, Tokens};

/// Answers from a list, then with a fixed text.
#[derive(Debug, Default)]
struct ScriptedSummarizer {
    answers: Mutex<Vec<Result<String, CallError>>>,
    cancels: bool,
}

impl ScriptedSummarizer {
    fn new(answers: impl IntoIterator<Item = CallError>) -> Self {
        let mut answers: Vec<_> = answers.into_iter().map(Err).collect();
        answers.reverse();
        Self { answers: Mutex::new(answers), cancels: false }
    }
}

impl Summarizer for ScriptedSummarizer {
    fn kind(&self) -> SummarizerKind {
        SummarizerKind::Command
    }

    fn summarise(&self, _: &SummaryRequest<'_>, cancel: &CancelToken) -> Result<String, CallError> {
        if self.cancels {
            cancel.cancel();
        }
        self.answers.lock().unwrap().pop().unwrap_or_else(|| Ok("text".to_owned()))
    }
}

/// Number of the call, number of calls, number of the attempt.
type Attempt = (usize, usize, u32);

/// Runs a summary; returns its result and every attempt.
fn made(job: &SummarySpec, reported: &ScriptedSummarizer) -> (Result<Summary, SummaryError>, Vec<Attempt>) {
    let mut seen = Vec::new();
    let result = run(job, reported, &CancelToken::new(), &mut |progress| {
        assert_eq!(progress.wait_ms == Millis::ZERO, progress.attempt == 1);
        seen.push((progress.call, progress.total_calls, progress.attempt));
    });
    (result, seen)
}

#[test]
fn the_calls_made_equal_the_predicted_calls() {
    let job = job(users(80, 4000));
    let (summary, seen) = made(&job, &ScriptedSummarizer::default());
    let (summary, reported) = (summary.unwrap(), predict_calls(&job, Tokens(1.0)).unwrap());
    assert_eq!(seen, [(1, 3, 1), (2, 3, 1), (3, 3, 1)]);
    assert_eq!(summary.text, "text");
    let shape = |call: &SummaryCallRecord| (call.messages, call.merges, call.attempts);
    assert_eq!(
        summary.calls.iter().map(shape).collect::<Vec<_>>(),
        [(40, false, 1), (40, false, 1), (2, true, 1)]
    );
    assert_eq!(summary.calls[0].estimated.input, reported.calls[0].input_tokens);
}

#[test]
fn a_call_is_tried_three_times_and_then_left_to_the_fallbacks() {
    let passing = || CallError::Transient("busy".to_owned());
    let (summary, seen) = made(&job(users(2, 400)), &ScriptedSummarizer::new([passing(), passing()]));
    assert_eq!((summary.unwrap().calls[0].attempts, seen), (3, vec![(1, 1, 1), (1, 1, 2), (1, 1, 3)]));
    // Three more attempts with nothing omitted: a dead provider costs six (compaction 5.14).
    let (dead, seen) = made(&job(users(2, 400)), &ScriptedSummarizer::new((0..6).map(|_| passing())));
    assert_eq!(seen.len(), 6);
    let Err(SummaryError::Failed { why, gateway_stores: Some(text) }) = dead else { panic!("{dead:?}") };
    assert_eq!(why, "busy (3 attempts)");
    assert!(text.to_string_lossy().starts_with("Context contained 2 messages (0 oversized)."));
}

#[test]
fn a_refused_request_is_only_repeated_if_it_is_smaller() {
    let refused = || CallError::Refused("too long".to_owned());
    let (none, seen) = made(&job(users(2, 400)), &ScriptedSummarizer::new([refused()]));
    assert!(matches!(none, Err(SummaryError::Failed { gateway_stores: Some(_), .. })), "{none:?}");
    assert_eq!(seen.len(), 1);
    let mut messages = users(1, 360_000);
    messages.extend(users(2, 400));
    let (partial, _) = made(&job(messages), &ScriptedSummarizer::new([refused()]));
    let partial = partial.unwrap();
    assert_eq!(partial.omission_notes.len(), 1);
    assert!(partial.text.to_string_lossy().ends_with("omitted from summary]"));
}

#[test]
fn a_permanent_error_ends_the_summary_at_once() {
    let (none, seen) =
        made(&job(users(80, 4000)), &ScriptedSummarizer::new([CallError::Permanent("no key".to_owned())]));
    assert_eq!(none, Err(SummaryError::Failed { why: "no key".to_owned(), gateway_stores: None }));
    assert_eq!(seen.len(), 1);
}

#[test]
fn cancel_ends_before_during_and_between_calls() {
    let cancel = CancelToken::new();
    cancel.cancel();
    assert_eq!(
        run(&job(users(2, 4)), &ScriptedSummarizer::default(), &cancel, &mut |_| {}),
        Err(SummaryError::Cancelled)
    );
    let during = ScriptedSummarizer {
        cancels: true,
        ..ScriptedSummarizer::new([CallError::Transient("busy".to_owned())])
    };
    assert_eq!(made(&job(users(2, 4)), &during).0, Err(SummaryError::Cancelled));
    // An answer after the cancellation is dropped, and no further call is made.
    let late = ScriptedSummarizer { cancels: true, ..ScriptedSummarizer::default() };
    let (none, seen) = made(&job(users(80, 4000)), &late);
    assert_eq!((none, seen.len()), (Err(SummaryError::Cancelled), 1));
}

#[test]
fn failures_of_gateway_and_runtime_are_reported_with_their_reasons() {
    let (none, _) = made(&job(Vec::new()), &ScriptedSummarizer::default());
    assert!(none.unwrap_err().to_string().ends_with("(compaction 5.1)"));
    let by_runtime = SummarySpec { mode: SummaryMode::Default, ..job(users(2, 4)) };
    let (none, _) = made(&by_runtime, &ScriptedSummarizer::new([CallError::Refused("too long".to_owned())]));
    assert_eq!(none, Err(SummaryError::Failed { why: "too long".to_owned(), gateway_stores: None }));
}
