//! The refused call: its error text, the source of that text, and the numbers in it (compaction 8.8).

use std::borrow::Cow;

use crate::ids::EntryIx;
use crate::policy::overflow::{Detection, Runtime, detect};
use crate::policy::recovery::ErrorSource;
use crate::redact::masked;
use crate::session::LoadedSession;
use crate::session::overflow::{Overflow, OverflowKind};
use crate::store::entry::{Role, StopReason};
use crate::units::Moment;

#[derive(Debug, Clone, PartialEq)]
pub struct RefusedCall {
    /// The entry that records it; `None` for a hypothetical call.
    pub entry: Option<EntryIx>,
    pub source: ErrorSource,
    pub text: String,
    /// The verdicts on that text of the detectors of the session's release.
    pub detection: Detection,
    /// The time; NaN if unknown.
    pub time_ms: Moment,
    /// Tokens of the prompt, if the error text or the usage has them.
    pub tokens: Option<u64>,
    /// Tokens that fit, if the error text has them.
    pub limit: Option<u64>,
    /// Tokens of `tokens` and `limit` that are reserved for the reply.
    pub reply_reserve: u64,
}

impl RefusedCall {
    /// Returns the tokens of the prompt alone and the tokens that it may have, where they are known.
    pub(super) fn prompt_size(&self) -> (Option<u64>, Option<u64>) {
        let without_reply = |tokens: u64| tokens.saturating_sub(self.reply_reserve);
        (self.tokens.map(without_reply), self.limit.map(without_reply))
    }

    /// Returns the error text without secrets.
    pub fn shown_text(&self) -> Cow<'_, str> {
        masked(&self.text)
    }

    /// Builds the provider's usual refusal for a call that has not been made.
    pub(super) fn for_next_call(session: &LoadedSession) -> Self {
        let text = usual_text(&session.provider).to_owned();
        Self {
            entry: None,
            source: ErrorSource::Assistant,
            detection: detect_under(session, &text, &session.provider),
            text,
            time_ms: Moment(f64::NAN),
            tokens: None,
            limit: None,
            reply_reserve: 0,
        }
    }
}

/// Returns the words of a provider's refusals.
fn usual_text(provider: &str) -> &'static str {
    match provider.to_ascii_lowercase().as_str() {
        "openai" | "openai-codex" => "Your input exceeds the context window of this model",
        "google" | "google-vertex" | "google-gemini-cli" => {
            "The input token count exceeds the maximum number of tokens allowed"
        }
        _ => "prompt is too long",
    }
}

/// Runs the detectors of the session's release.
fn detect_under(session: &LoadedSession, text: &str, provider: &str) -> Detection {
    detect(text, provider, Runtime::of_ruleset(session.ruleset.id, None))
}

fn called_provider(session: &LoadedSession, overflow: &Overflow) -> String {
    let provider = overflow.model.and_then(|(provider, _)| session.index.value_text(provider));
    provider.unwrap_or_else(|| session.provider.clone())
}

/// Whether the person got no answer: a reply that was cut, or one to a prompt that was cut, is an answer.
fn is_unanswered(overflow: &Overflow) -> bool {
    overflow.kind != OverflowKind::CutShort && !overflow.is_truncated()
}

/// Returns the refusal that an entry records; `None` if it records none.
pub(super) fn refused_call_at(session: &LoadedSession, ix: EntryIx) -> Option<RefusedCall> {
    let overflow = session.overflow_at(ix).filter(|overflow| is_unanswered(overflow))?;
    let provider = called_provider(session, overflow);
    // The compaction shows that the gateway recognised the words, whatever they were.
    let text = if overflow.is_compaction() { usual_text(&provider) } else { overflow.text.as_str() };
    Some(RefusedCall {
        entry: Some(ix),
        source: match overflow.kind {
            OverflowKind::Silent => ErrorSource::Silent,
            _ if overflow.noted_by_gateway => ErrorSource::Prompt,
            _ => ErrorSource::Assistant,
        },
        text: overflow.text.clone(),
        detection: detect_under(session, text, &provider),
        time_ms: overflow.time_ms,
        tokens: overflow.requested,
        limit: overflow.limit.filter(|_| overflow.kind.is_refusal()),
        reply_reserve: overflow.reply_reserve.unwrap_or(0),
    })
}

/// Returns the first refusal of the last recovery. Refusals without an answer in between belong to one recovery.
pub(super) fn last_refused_call(session: &LoadedSession) -> Option<RefusedCall> {
    let index = &session.index;
    let refused: Vec<EntryIx> =
        session.overflows.iter().filter(|it| is_unanswered(it)).map(|it| it.entry).collect();
    let answers = |at: usize| {
        let entry = &index.entries[at];
        entry.is_model_call() && is_answer(entry.message.map(|size| (size.role, size.stop_reason)))
    };
    let mut first = refused.len().checked_sub(1)?;
    while first > 0 && !(refused[first - 1].index() + 1..refused[first].index()).any(answers) {
        first -= 1;
    }
    refused_call_at(session, refused[first])
}

/// Whether a message is an answer of the model that did not fail.
pub(super) fn is_answer(message: Option<(Role, StopReason)>) -> bool {
    matches!(message, Some((Role::Assistant, stop)) if !matches!(stop, StopReason::Error | StopReason::Aborted))
}
