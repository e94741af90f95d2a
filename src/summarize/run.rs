//! Makes a summary: runs the stages of the rules and lets a summarizer answer each call, with retries, progress and
//! cancellation.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::js::JsString;
use crate::policy::compact::retry::{MAX_CALL_ATTEMPTS, wait_ms};
use crate::policy::compact::{
    self, Aborted, AnswerFailure, CancelReason as Cancelled, NoSummary, StoredSummary, SummaryModel,
    SummaryPurpose, SummaryRequest, SummarySpec,
};
use crate::summarize::{CallError, Summarizer, SummarizerKind};
use crate::units::{Millis, Tokens};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct CallTokens {
    /// Estimated, as every token of a summary's calls.
    #[serde(rename = "inputTokens")]
    pub input: u64,
    /// Tokens of the answer.
    #[serde(rename = "outputTokens")]
    pub output: u64,
}

/// Progress of a summary, before each attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SummaryProgress {
    /// Number of the call, from 1.
    pub call: usize,
    /// Number of calls if each succeeds; never less than `call`.
    pub total_calls: usize,
    pub purpose: SummaryPurpose,
    /// Estimated tokens of the input.
    pub tokens: u64,
    /// Number of the attempt, from 1 to 3.
    pub attempt: u32,
    /// Wait before this attempt; 0 for the first.
    pub wait_ms: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SummaryCallRecord {
    pub purpose: SummaryPurpose,
    /// Whether it merges partial summaries.
    pub merges: bool,
    pub messages: usize,
    pub attempts: u32,
    #[serde(flatten)]
    pub estimated: CallTokens,
}

/// A finished summary, stored nowhere yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its parts and details.
    pub written: StoredSummary,
    /// The text as a compaction stores it.
    pub text: JsString,
    pub kind: SummarizerKind,
    /// All calls, including those repeated for a fallback.
    pub calls: Vec<SummaryCallRecord>,
    /// Notes on messages that were too large and are in no summary (compaction 5.14).
    pub omission_notes: Vec<JsString>,
}

/// A reason that there is no summary. No file was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("cancelled; nothing changed")]
    Cancelled,
    /// The gateway itself would cancel the compaction and keep the history.
    #[error("{} ({})", .0.description(), .0.rule())]
    NotCompacted(Cancelled),
    /// The summarizer has no answer.
    #[error("{why}")]
    Failed {
        why: String,
        /// The text that the gateway would store instead of the history (compaction 5.14); `None` if it would not
        /// compact.
        gateway_stores: Option<JsString>,
    },
}

/// Makes a summary. Calls `progress` before every attempt. A final failure is an error, and so is the gateway's text of
/// last resort: no history is worth less than that text.
pub fn run(
    job: &SummarySpec,
    summarizer: &dyn Summarizer,
    cancel: &CancelToken,
    progress: &mut dyn FnMut(SummaryProgress),
) -> Result<Summary, SummaryError> {
    let window = if summarizer.accepts_any_length() { f64::INFINITY } else { job.window.get() };
    let assumed = compact::assumed_summary_tokens(&[], job.reserve_tokens);
    let of = compact::predict_calls_within(job, Tokens(window), assumed)
        .map_or(0, |reported| reported.calls.len());
    let mut run = SummaryRun {
        summarizer,
        cancel,
        progress,
        total_calls: of,
        calls: Vec::new(),
        omission_notes: Vec::new(),
        refused_prompt: None,
        error: None,
    };
    match compact::summarise_within(job, Tokens(window), &mut run) {
        Ok(written) => Ok(Summary {
            text: written.parts.text(),
            written,
            kind: summarizer.kind(),
            calls: run.calls,
            omission_notes: run.omission_notes,
        }),
        Err(NoSummary::Cancelled(reason)) => Err(SummaryError::NotCompacted(reason)),
        Err(NoSummary::Failed(why)) => Err(SummaryError::Failed { why, gateway_stores: None }),
        Err(NoSummary::Aborted) => Err(run.error.unwrap_or(SummaryError::Cancelled)),
    }
}

struct SummaryRun<'a> {
    summarizer: &'a dyn Summarizer,
    cancel: &'a CancelToken,
    progress: &'a mut dyn FnMut(SummaryProgress),
    total_calls: usize,
    calls: Vec<SummaryCallRecord>,
    omission_notes: Vec<JsString>,
    /// A refused prompt and the reason: the same prompt is not sent again.
    refused_prompt: Option<(JsString, String)>,
    /// The error that ended the summary.
    error: Option<SummaryError>,
}

impl SummaryModel for SummaryRun<'_> {
    fn answer(&mut self, request: &SummaryRequest<'_>) -> Result<JsString, AnswerFailure> {
        if let Some((prompt, why)) = &self.refused_prompt
            && request.prompt().is_ok_and(|own| own == *prompt)
        {
            return Err(AnswerFailure::Failed(why.clone()));
        }
        self.calls.push(SummaryCallRecord {
            purpose: request.purpose,
            merges: request.is_merge,
            messages: request.messages.len(),
            estimated: CallTokens { input: request.input_tokens().unwrap_or(0), output: 0 },
            attempts: 0,
        });
        let mut wait = Millis::ZERO;
        loop {
            match self.attempt(request, wait) {
                // An answer after the cancellation is dropped.
                Ok(_) if self.cancel.is_cancelled() => return Err(self.abort(SummaryError::Cancelled)),
                Ok(answer) => return Ok(self.accept(answer)),
                Err(error) => wait = self.next_wait(request, error)?,
            }
        }
    }

    fn report_omitted(&mut self, notes: &[JsString]) {
        self.omission_notes.extend_from_slice(notes);
    }

    fn accept_fallback(&mut self, text: &JsString, why: &str) -> Result<(), Aborted> {
        self.error = Some(SummaryError::Failed { why: why.to_owned(), gateway_stores: Some(text.clone()) });
        Err(Aborted)
    }
}

impl SummaryRun<'_> {
    /// Makes one attempt after `wait_ms`.
    fn attempt(&mut self, request: &SummaryRequest<'_>, wait_ms: Millis) -> Result<String, CallError> {
        let number = self.calls.len();
        let Some(call) = self.calls.last_mut() else { return Err(CallError::Cancelled) };
        call.attempts += 1;
        (self.progress)(SummaryProgress {
            call: number,
            total_calls: self.total_calls.max(number),
            purpose: request.purpose,
            tokens: call.estimated.input,
            attempt: call.attempts,
            wait_ms,
        });
        if self.cancel.wait(Duration::from_millis(wait_ms.whole())) {
            return Err(CallError::Cancelled);
        }
        self.summarizer.summarise(request, self.cancel)
    }

    fn accept(&mut self, answer: String) -> JsString {
        let text = JsString::from(answer);
        if let Some(call) = self.calls.last_mut() {
            call.estimated.output = (text.len() as u64).div_ceil(4);
        }
        text
    }

    /// Returns the wait before the next attempt, or the error that ends the call (compaction 5.15).
    fn next_wait(&mut self, request: &SummaryRequest<'_>, error: CallError) -> Result<Millis, AnswerFailure> {
        let attempts = self.calls.last().map_or(MAX_CALL_ATTEMPTS, |call| call.attempts);
        match error {
            _ if self.cancel.is_cancelled() => Err(self.abort(SummaryError::Cancelled)),
            CallError::Cancelled => Err(self.abort(SummaryError::Cancelled)),
            CallError::Permanent(why) => Err(self.abort(SummaryError::Failed { why, gateway_stores: None })),
            CallError::Refused(why) => {
                self.refused_prompt = request.prompt().ok().map(|prompt| (prompt, why.clone()));
                Err(AnswerFailure::Failed(why))
            }
            CallError::Transient(what) if attempts >= MAX_CALL_ATTEMPTS => {
                Err(AnswerFailure::Failed(format!("{what} ({MAX_CALL_ATTEMPTS} attempts)")))
            }
            CallError::Transient(_) => Ok(wait_ms(attempts, jitter())),
        }
    }

    fn abort(&mut self, error: SummaryError) -> AnswerFailure {
        self.error = Some(error);
        AnswerFailure::Aborted
    }
}

/// Returns a random number from -1 to 1. Only waits depend on it.
fn jitter() -> f64 {
    let random = RandomState::new().hash_one(0_u8);
    random as f64 / u64::MAX as f64 * 2.0 - 1.0
}

/// Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<(Mutex<bool>, Condvar)>);

impl CancelToken {
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels all work under this token, for good.
    pub fn cancel(&self) {
        let (cancelled, wake) = &*self.0;
        *cancelled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        wake.notify_all();
    }

    pub fn is_cancelled(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time`, or until it is cancelled; returns whether it is.
    pub fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let (cancelled, wake) = &*self.0;
        let mut state = cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        while !*state {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *state
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;

#[cfg(test)]
mod cancel_tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_another_thread_cancels() {
        let cancel = CancelToken::new();
        assert!(!cancel.wait(Duration::from_millis(1)) && !cancel.is_cancelled());
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.cancel());
        assert!(cancel.wait(Duration::from_mins(1)));
        thread.join().unwrap();
        assert!(cancel.is_cancelled());
    }
}
