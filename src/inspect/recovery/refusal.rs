//! The call that was refused: its words, where they stand, and the numbers in them (compaction 8.8).

use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::overflow::Sign;
use crate::policy::recovery::ErrorSource;
use crate::store::entry::{Role, StopReason};

/// A refused call.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Where it stands; none for a call that is only thought of.
    pub entry: Option<EntryIx>,
    /// Who says so.
    pub source: ErrorSource,
    /// What was said.
    pub text: String,
    /// When, ms since the epoch; NaN where nothing tells.
    pub at: f64,
    /// Tokens of the prompt, where the words or the usage tell.
    pub tokens: Option<u64>,
    /// Tokens that fit, where the words tell.
    pub limit: Option<u64>,
}

impl Refusal {
    /// What the provider usually says, for a call that has not been made.
    pub(super) fn of_next_call(inspection: &Inspection) -> Self {
        let text = match inspection.provider.to_ascii_lowercase().as_str() {
            "openai" | "openai-codex" => "Your input exceeds the context window of this model".to_owned(),
            "google" | "google-vertex" | "google-gemini-cli" => {
                "The input token count exceeds the maximum number of tokens allowed".to_owned()
            }
            _ => "prompt is too long".to_owned(),
        };
        Self { entry: None, source: ErrorSource::Assistant, text, at: f64::NAN, tokens: None, limit: None }
    }
}

/// The refusal that an entry records; none where it records no overflow.
pub(super) fn at(inspection: &Inspection, ix: EntryIx) -> Option<Refusal> {
    inspection.overflow_at(ix).filter(|overflow| overflow.sign != Sign::CutShort).map(|overflow| Refusal {
        entry: Some(ix),
        source: match overflow.sign {
            Sign::Silent => ErrorSource::Silent,
            _ if overflow.noted => ErrorSource::Prompt,
            _ => ErrorSource::Assistant,
        },
        text: overflow.text.clone(),
        at: overflow.at,
        tokens: overflow.requested,
        limit: overflow.limit.filter(|_| overflow.sign.is_refusal()),
    })
}

/// The first refusal of the last recovery, and how many others stand before it. Refusals belong together while no
/// answer stands between them.
pub(super) fn last(inspection: &Inspection) -> (Option<Refusal>, usize) {
    let index = &inspection.index;
    let refused: Vec<EntryIx> =
        inspection.overflows.iter().filter(|it| it.sign != Sign::CutShort).map(|it| it.entry).collect();
    let answers = |at: usize| {
        let entry = &index.entries[at];
        entry.is_call() && is_answer(entry.message.map(|size| (size.role, size.stop)))
    };
    let Some(mut first) = refused.len().checked_sub(1) else { return (None, 0) };
    while first > 0 && !(refused[first - 1].at() + 1..refused[first].at()).any(answers) {
        first -= 1;
    }
    (at(inspection, refused[first]), first)
}

/// An answer of the model that did not fail.
pub(super) fn is_answer(said: Option<(Role, StopReason)>) -> bool {
    matches!(said, Some((Role::Assistant, stop)) if !matches!(stop, StopReason::Error | StopReason::Aborted))
}
