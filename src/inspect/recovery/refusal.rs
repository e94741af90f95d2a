//! The call that was refused: its words, where they stand, and the numbers in them (compaction 8.8).

use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::facts::time;
use crate::js::{self, Value};
use crate::policy::overflow::{Numbers, gateway, is_overflow_as, numbers};
use crate::policy::recovery::ErrorSource;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Reading, Role, StopReason};

/// The type of a custom entry that tells of a prompt that threw.
const PROMPT_ERROR: &str = "openclaw:prompt-error";
/// Overflows that are looked at before the last one.
const MOST: usize = 200;

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

    /// An error as words, with the numbers in them.
    pub(super) fn said(entry: EntryIx, source: ErrorSource, text: String, at: f64) -> Self {
        let Numbers { requested, limit, .. } = numbers(&text);
        Self { entry: Some(entry), source, text, at, tokens: requested, limit }
    }
}

/// The refusal that an entry is; none where it is no overflow.
///
/// # Errors
/// When its body cannot be read again.
pub fn at(inspection: &Inspection, ix: EntryIx) -> Result<Option<Refusal>, BodyError> {
    let index = &inspection.index;
    let entry = index.entry(ix);
    let read = || body::entry(&inspection.source, index, ix);
    let (source, text, at) = match (entry.kind, entry.message) {
        (EntryKind::Message, Some(size))
            if size.role == Role::Assistant && size.stop == StopReason::Error =>
        {
            let value = read()?;
            let message = value.get("message").unwrap_or(&Value::Null);
            let error = message.get("errorMessage").filter(|error| js::truthy(Some(error)));
            (ErrorSource::Assistant, error.map(|error| js::to_text(Some(error))), time(entry, message))
        }
        (EntryKind::Message, Some(size)) if size.stop == StopReason::Stop => {
            let taken = size.usage.map(|usage| usage.input + usage.cache_read);
            let over = taken.filter(|taken| *taken > inspection.upkeep.runtime_window);
            return Ok(over.map(|taken| Refusal {
                entry: Some(ix),
                source: ErrorSource::Silent,
                text: String::new(),
                at: entry.time,
                tokens: Some(taken as u64),
                limit: None,
            }));
        }
        (EntryKind::Custom, _)
            if index.words.value(entry.word).is_some_and(|word| word.str_is(PROMPT_ERROR)) =>
        {
            let value = read()?;
            let error = value.get("data").and_then(|data| data.get("error"));
            (ErrorSource::Prompt, error.map(|error| js::to_text(Some(error))), entry.time)
        }
        _ => return Ok(None),
    };
    let text = text.map(|text| text.trim().to_string_lossy()).unwrap_or_default();
    let likely = index.reading == Reading::Entries && gateway::is_likely_overflow(&text);
    let counts = is_overflow_as(index.reading, &text) || likely;
    Ok(counts.then(|| Refusal::said(ix, source, text, at)))
}

/// The first refusal of the last recovery, and how many others stand before it. Refusals belong together while no
/// answer stands between them.
pub(super) fn last(inspection: &Inspection) -> Result<(Option<Refusal>, usize), BodyError> {
    let mut first: Option<Refusal> = None;
    let (mut answered, mut earlier) = (false, 0);
    for (ix, entry) in inspection.index.iter().rev() {
        if let Some(refusal) = at(inspection, ix)? {
            match first {
                Some(_) if answered => earlier += 1,
                _ => first = Some(refusal),
            }
        } else if first.is_some() {
            answered |= is_answer(entry.message.map(|size| (size.role, size.stop)));
        }
        if earlier == MOST {
            break;
        }
    }
    Ok((first, earlier))
}

/// An answer of the model that did not fail.
pub(super) fn is_answer(said: Option<(Role, StopReason)>) -> bool {
    matches!(said, Some((Role::Assistant, stop)) if !matches!(stop, StopReason::Error | StopReason::Aborted))
}
