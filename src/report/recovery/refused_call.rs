//! The call that was refused: its words, where they stand, and the numbers in them (compaction 8.8).

use crate::ids::EntryIx;
use crate::policy::recovery::ErrorSource;
use crate::session::LoadedSession;
use crate::session::overflow::OverflowKind;
use crate::store::entry::{Role, StopReason};

/// A refused call.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedCall {
    /// Where it stands; none for a call that is only thought of.
    pub entry: Option<EntryIx>,
    /// Who says so.
    pub source: ErrorSource,
    /// What was said.
    pub text: String,
    /// When, ms since the epoch; NaN where nothing tells.
    pub time_ms: f64,
    /// Tokens of the prompt, where the words or the usage tell.
    pub tokens: Option<u64>,
    /// Tokens that fit, where the words tell.
    pub limit: Option<u64>,
}

impl RefusedCall {
    /// What the provider usually says, for a call that has not been made.
    pub(super) fn for_next_call(session: &LoadedSession) -> Self {
        let text = match session.provider.to_ascii_lowercase().as_str() {
            "openai" | "openai-codex" => "Your input exceeds the context window of this model".to_owned(),
            "google" | "google-vertex" | "google-gemini-cli" => {
                "The input token count exceeds the maximum number of tokens allowed".to_owned()
            }
            _ => "prompt is too long".to_owned(),
        };
        Self {
            entry: None,
            source: ErrorSource::Assistant,
            text,
            time_ms: f64::NAN,
            tokens: None,
            limit: None,
        }
    }
}

/// The refusal that an entry records; none where it records no overflow.
pub(super) fn refused_call_at(session: &LoadedSession, ix: EntryIx) -> Option<RefusedCall> {
    session.overflow_at(ix).filter(|overflow| overflow.kind != OverflowKind::CutShort).map(|overflow| {
        RefusedCall {
            entry: Some(ix),
            source: match overflow.kind {
                OverflowKind::Silent => ErrorSource::Silent,
                _ if overflow.noted_by_gateway => ErrorSource::Prompt,
                _ => ErrorSource::Assistant,
            },
            text: overflow.text.clone(),
            time_ms: overflow.time_ms,
            tokens: overflow.requested,
            limit: overflow.limit.filter(|_| overflow.kind.is_refusal()),
        }
    })
}

/// The first refusal of the last recovery, and how many others stand before it. Refusals belong together while no
/// answer stands between them.
pub(super) fn last_refused_call(session: &LoadedSession) -> (Option<RefusedCall>, usize) {
    let index = &session.index;
    let refused: Vec<EntryIx> =
        session.overflows.iter().filter(|it| it.kind != OverflowKind::CutShort).map(|it| it.entry).collect();
    let answers = |at: usize| {
        let entry = &index.entries[at];
        entry.is_model_call() && is_answer(entry.message.map(|size| (size.role, size.stop_reason)))
    };
    let Some(mut first) = refused.len().checked_sub(1) else { return (None, 0) };
    while first > 0 && !(refused[first - 1].index() + 1..refused[first].index()).any(answers) {
        first -= 1;
    }
    (refused_call_at(session, refused[first]), first)
}

/// An answer of the model that did not fail.
pub(super) fn is_answer(message: Option<(Role, StopReason)>) -> bool {
    matches!(message, Some((Role::Assistant, stop)) if !matches!(stop, StopReason::Error | StopReason::Aborted))
}
