//! Recorded events of a recovery, in the order of the file (compaction 8.8).

use std::borrow::Cow;
use std::collections::HashSet;

use crate::commit::own_entries;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::overflow::{Detection, Runtime, detect};
use crate::policy::recovery::ErrorSource;
use crate::redact::masked;
use crate::session::LoadedSession;
use crate::session::message::facts::time_ms;
use crate::session::overflow::{Overflow, OverflowKind};
use crate::store::body::{self, BodyError};
use crate::store::entry::{Entry, EntryKind, Role, StopReason};
use crate::store::intern::IdIx;
use crate::units::Moment;

/// The maximum number of entries to scan after the refusal.
const MAX_ENTRIES: usize = 2_000;

/// One recorded event.
#[derive(Debug, Clone, PartialEq)]
pub enum RecoveryEvent {
    /// The provider refused a call.
    Refused(RefusedCall),
    /// A call failed for another reason.
    Failed {
        /// The answer that holds the error.
        entry: EntryIx,
    },
    /// A compaction was written.
    Compacted { entry: EntryIx },
    /// The user wrote, or the prompt was sent again.
    Prompted { entry: EntryIx },
    /// The branch was rewritten from an earlier entry, with tool results cut.
    Rewritten {
        /// The first copied result.
        entry: EntryIx,
    },
    /// The model answered.
    Answered { entry: EntryIx },
}

impl RecoveryEvent {
    /// Returns the entry of the event.
    pub fn entry(&self) -> Option<EntryIx> {
        match self {
            Self::Refused(refusal) => refusal.entry,
            Self::Failed { entry }
            | Self::Compacted { entry }
            | Self::Prompted { entry }
            | Self::Rewritten { entry }
            | Self::Answered { entry } => Some(*entry),
        }
    }

    /// The name in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Failed { .. } => "failed",
            Self::Compacted { .. } => "compacted",
            Self::Prompted { .. } => "prompted",
            Self::Rewritten { .. } => "rewritten",
            Self::Answered { .. } => "answered",
        }
    }
}

/// Reads the events from a refusal to the next answer or the end of the file. A branch that clawscope wrote ends it.
pub(super) fn read_events(
    session: &LoadedSession,
    refusal: &RefusedCall,
) -> Result<Vec<RecoveryEvent>, BodyError> {
    let index = &session.index;
    let Some(first) = refusal.entry else { return Ok(Vec::new()) };
    let mut recorded = vec![RecoveryEvent::Refused(refusal.clone())];
    recorded.extend(compaction_of(session, first));
    let mut rewriting = false;
    let own = own_entries(index, &session.tree);
    let answered = answered_before(session, first);
    for (ix, entry) in index.iter().skip(first.index() + 1).take(MAX_ENTRIES) {
        let role = entry
            .message
            .filter(|_| entry.kind == EntryKind::Message)
            .map(|size| (size.role, size.stop_reason));
        if own.contains(&ix) {
            break;
        }
        if let Some(refusal) = refused_call_at(session, ix) {
            if !rewriting || !is_copy(session, ix, refusal.time_ms)? {
                recorded.push(RecoveryEvent::Refused(refusal));
                recorded.extend(compaction_of(session, ix));
            }
            continue;
        }
        match role {
            _ if entry.kind == EntryKind::Compaction && !rewriting => {
                recorded.push(RecoveryEvent::Compacted { entry: ix });
            }
            Some((Role::User, _)) if !rewriting => recorded.push(RecoveryEvent::Prompted { entry: ix }),
            Some((Role::ToolResult, _))
                if !rewriting && answered_call_id(entry).is_some_and(|id| answered.contains(&id)) =>
            {
                rewriting = true;
                recorded.push(RecoveryEvent::Rewritten { entry: ix });
            }
            // The gateway wrote it; no call was made.
            Some(_) if entry.message.is_some_and(|size| size.is_synthetic) => {}
            message if is_answer(message) => {
                if rewriting && is_copy(session, ix, refusal.time_ms)? {
                    continue;
                }
                recorded.push(RecoveryEvent::Answered { entry: ix });
                break;
            }
            Some((Role::Assistant, _)) if !rewriting => recorded.push(RecoveryEvent::Failed { entry: ix }),
            _ => {}
        }
    }
    Ok(recorded)
}

/// Returns the compaction that is all that an entry records of a refusal.
fn compaction_of(session: &LoadedSession, entry: EntryIx) -> Option<RecoveryEvent> {
    let is_it = session.index.entry(entry).kind == EntryKind::Compaction;
    is_it.then_some(RecoveryEvent::Compacted { entry })
}

/// Returns the calls answered before the refusal: a later result of such a call is a copy.
fn answered_before(session: &LoadedSession, refused: EntryIx) -> HashSet<IdIx> {
    session.index.entries.iter().take(refused.index()).filter_map(answered_call_id).collect()
}

fn answered_call_id(entry: &Entry) -> Option<IdIx> {
    entry.message.and_then(|size| size.call_id)
}

/// Whether a message is older than the refusal: a copy keeps the original message's time.
fn is_copy(session: &LoadedSession, ix: EntryIx, refused_at: Moment) -> Result<bool, BodyError> {
    let message = body::read_message(&session.source, &session.index, ix)?.unwrap_or(Value::Null);
    Ok(time_ms(session.index.entry(ix), &message) <= refused_at)
}

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
fn refused_call_at(session: &LoadedSession, ix: EntryIx) -> Option<RefusedCall> {
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
