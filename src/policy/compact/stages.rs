//! Makes a summary call by call, as the gateway does (compaction 3.20, 5.11–5.16). A [`SummaryModel`] answers the
//! calls: a real model, or an assumption that predicts their number and size.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::tokens::chars4::CHARS_PER_TOKEN;
use crate::gateway::ruleset::PiRelease;
use crate::js::{self, JsException, JsString, Object, Value};
use crate::policy::compact::chunks::{
    DEFAULT_PARTS, is_oversized, normalized_parts, split_by_max, split_by_share, total_tokens,
};
use crate::policy::compact::files::FileLists;
use crate::policy::compact::prepare::CompactionTexts;
use crate::policy::compact::request::{
    Identifiers, MERGE_PROMPT, SummaryForm, SummaryPurpose, SummaryRequest, compose_focus,
};
use crate::store::measure::pi_chars;
use crate::units::{Moment, Tokens};

/// Histories with fewer messages are never split into stages (compaction 5.11).
const MIN_MESSAGES_TO_SPLIT: usize = 4;
/// Share of the reserve that a summary may take (compaction 3.17).
const SUMMARY_SHARE: f64 = 0.8;
/// Share of the reserve that a turn prefix may take in mode `default` (compaction 3.18).
const PREFIX_SHARE: f64 = 0.5;

/// Answers the calls of a summary.
pub trait SummaryModel {
    fn answer(&mut self, request: &SummaryRequest<'_>) -> Result<JsString, AnswerFailure>;

    /// Reports that messages were left out; `notes` replace them in the summary (compaction 5.14, second level).
    fn report_omitted(&mut self, notes: &[JsString]) {
        let _ = notes;
    }

    /// Reports that two attempts failed and `text` would replace the summary (compaction 5.14, third level). The
    /// gateway continues with it; an implementation that does not want that returns [`Aborted`].
    fn accept_fallback(&mut self, text: &JsString, why: &str) -> Result<(), Aborted> {
        let _ = (text, why);
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerFailure {
    /// The call failed after all its retries; the fallbacks continue.
    Failed(String),
    /// No further call is wanted.
    Aborted,
}

/// The [`SummaryModel`] wants no further calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageError {
    Aborted,
    /// A message cannot be estimated (compaction 1.8).
    Threw,
}

impl From<JsException> for StageError {
    fn from(_: JsException) -> Self {
        Self::Threw
    }
}

impl From<Aborted> for StageError {
    fn from(_: Aborted) -> Self {
        Self::Aborted
    }
}

/// Returns the most tokens of a summary under a reserve (compaction 3.17).
pub fn max_summary_tokens(reserve_tokens: Tokens) -> Tokens {
    Tokens((SUMMARY_SHARE * reserve_tokens.get()).floor())
}

/// Returns the most tokens of a turn prefix in mode `default` (compaction 3.18).
pub fn max_prefix_tokens(reserve_tokens: Tokens) -> Tokens {
    Tokens((PREFIX_SHARE * reserve_tokens.get()).floor())
}

/// Estimates the tokens of each message (compaction 1.15).
pub(super) fn estimate_each(messages: &[Value]) -> Result<Vec<Tokens>, JsException> {
    messages.iter().map(|message| Ok(pi_chars(message)?.to_tokens(CHARS_PER_TOKEN).ceil())).collect()
}

/// Settings for summarising one part: the history, a dropped part or a turn prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) purpose: SummaryPurpose,
    /// The window in tokens.
    pub(super) window: Tokens,
    /// Most message tokens of one call (compaction 5.9).
    pub(super) max_chunk_tokens: Tokens,
    /// Limit of an answer, in tokens.
    pub(super) max_tokens: Tokens,
    pub(super) identifiers: &'a Identifiers,
    pub(super) instructions: Option<&'a JsString>,
    pub(super) previous_summary: Option<&'a JsString>,
    pub(super) is_merge: bool,
}

impl Stage<'_> {
    /// Summarises messages, in two stages if they are too many for one call (compaction 5.11).
    pub(super) fn summarise(
        &self,
        messages: &[Value],
        answers: &mut dyn SummaryModel,
    ) -> Result<JsString, StageError> {
        if messages.is_empty() {
            return Ok(self.empty_summary());
        }
        let tokens = estimate_each(messages)?;
        let one_call = messages.len() < MIN_MESSAGES_TO_SPLIT
            || normalized_parts(DEFAULT_PARTS, messages.len()) <= 1
            || total_tokens(&tokens) <= self.max_chunk_tokens;
        let parts = if one_call { Vec::new() } else { split_by_share(&tokens, DEFAULT_PARTS) };
        if parts.len() <= 1 {
            return self.summarise_with_fallback(messages, answers);
        }
        let alone = Stage { previous_summary: None, ..*self };
        let partial = parts.into_iter().map(|part| alone.summarise_with_fallback(&messages[part], answers));
        let partial: Vec<Value> =
            partial.map(|text| Ok(user_message(text?))).collect::<Result<_, StageError>>()?;
        let custom = merge_instructions(self.instructions);
        Stage { instructions: Some(&custom), is_merge: true, ..*self }
            .summarise_with_fallback(&partial, answers)
    }

    /// Tries all messages, then without the oversized ones, then returns a fixed text (compaction 5.14).
    fn summarise_with_fallback(
        &self,
        messages: &[Value],
        answers: &mut dyn SummaryModel,
    ) -> Result<JsString, StageError> {
        let mut why = match self.summarise_in_chunks(messages, answers) {
            Ok(text) => return Ok(text),
            Err(AnswerFailure::Aborted) => return Err(StageError::Aborted),
            Err(AnswerFailure::Failed(why)) => why,
        };
        let (mut small, mut notes) = (Vec::new(), Vec::new());
        for (message, tokens) in messages.iter().zip(estimate_each(messages)?) {
            if is_oversized(tokens, self.window) {
                notes.push(omission_note(message, tokens));
            } else {
                small.push(message.clone());
            }
        }
        if !small.is_empty() {
            match self.summarise_in_chunks(&small, answers) {
                Ok(text) => {
                    answers.report_omitted(&notes);
                    return Ok(append_notes(text, &notes));
                }
                Err(AnswerFailure::Aborted) => return Err(StageError::Aborted),
                Err(AnswerFailure::Failed(again)) => why = again,
            }
        }
        let text = JsString::from(format!(
            "Context contained {} messages ({} oversized). Summary unavailable due to size limits.",
            messages.len(),
            notes.len()
        ));
        answers.accept_fallback(&text, &why)?;
        Ok(text)
    }

    /// Calls once per chunk; each call updates the summary before it (compaction 5.13).
    fn summarise_in_chunks(
        &self,
        messages: &[Value],
        answers: &mut dyn SummaryModel,
    ) -> Result<JsString, AnswerFailure> {
        let threw = |_| AnswerFailure::Failed("the runtime cannot read the shape of a message".to_owned());
        let tokens = estimate_each(messages).map_err(threw)?;
        let focus = compose_focus(self.identifiers, self.instructions);
        let mut summary: Option<JsString> = None;
        for chunk in split_by_max(&tokens, self.max_chunk_tokens) {
            let request = SummaryRequest {
                purpose: self.purpose,
                form: SummaryForm::Checkpoint,
                is_merge: self.is_merge,
                pi: PiRelease::OLDEST,
                messages: &messages[chunk],
                previous_summary: summary.as_ref().or(self.previous_summary),
                focus: focus.as_ref(),
                max_tokens: self.max_tokens,
            };
            summary = Some(answers.answer(&request)?);
        }
        Ok(summary.unwrap_or_else(|| self.empty_summary()))
    }

    fn empty_summary(&self) -> JsString {
        self.previous_summary.cloned().unwrap_or_else(|| NO_HISTORY.into())
    }
}

fn user_message(text: JsString) -> Value {
    Value::Object(Object::from([("role", Value::from("user")), ("content", Value::String(text))]))
}

/// Returns the merge instruction followed by the custom ones (compaction 5.11).
fn merge_instructions(custom: Option<&JsString>) -> JsString {
    let mut text = JsString::from(MERGE_PROMPT);
    if let Some(custom) = custom.map(JsString::trim).filter(|custom| !custom.is_empty()) {
        text.push_str("\n\n");
        text.push(&custom);
    }
    text
}

/// Returns the note that replaces a message too large for a call (compaction 5.14).
fn omission_note(message: &Value, tokens: Tokens) -> JsString {
    let role = message.get("role").filter(|role| !role.is_null());
    let mut note = JsString::from("[Large ");
    note.push(&role.map_or_else(|| "message".into(), |role| js::to_text(Some(role))));
    // `Math.round` rounds half up.
    let thousands = (tokens / 1000.0 + Tokens(0.5)).floor();
    note.push_str(&format!(" (~{}K tokens) omitted from summary]", js::number_text(thousands.get())));
    note
}

fn append_notes(mut text: JsString, notes: &[JsString]) -> JsString {
    for (at, note) in notes.iter().enumerate() {
        text.push_str(if at == 0 { "\n\n" } else { "\n" });
        text.push(note);
    }
    text
}

/// Heading before the summary of a split turn's beginning.
pub const TURN_CONTEXT: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";
/// Summary of an empty history (compaction 3.20, 5.11).
pub const NO_HISTORY: &str = "No prior history.";

/// The parts of a summary. Each section begins with its own separator and is empty when it has no content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryParts {
    pub history: JsString,
    /// Summary of the beginning of a split turn.
    pub turn_prefix: Option<JsString>,
    /// Tool failures (compaction 5.4); only the safeguard writes them.
    pub failures: JsString,
    /// File lists (compaction 3.15).
    pub files: JsString,
    /// Workspace rules (compaction 5.18); only the safeguard writes them.
    pub rules: JsString,
}

impl SummaryParts {
    /// Returns the text to store. Its length has no limit (compaction 5.19).
    pub fn text(&self) -> JsString {
        let mut text = self.history.clone();
        if let Some(prefix) = &self.turn_prefix {
            text.push_str(TURN_CONTEXT);
            text.push(prefix);
        }
        for section in [&self.failures, &self.files, &self.rules] {
            text.push(section);
        }
        text
    }
}

#[cfg(test)]
#[path = "stages_tests.rs"]
mod tests;

/// The program that summarises (compaction 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryMode {
    /// The runtime: one call, another for the beginning of a split turn (compaction 3.20).
    Default,
    /// The gateway: in stages, with fallbacks and fixed sections (compaction 5).
    Safeguard,
}

impl SummaryMode {
    /// The value of `agents.defaults.compaction.mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Safeguard => "safeguard",
        }
    }
}

/// The inputs of a summary.
#[derive(Debug, Clone)]
pub struct SummarySpec {
    pub texts: CompactionTexts,
    pub mode: SummaryMode,
    /// The window that calls must fit, in tokens (compaction 5.6).
    pub window: Tokens,
    /// Share of the window that a history may take before its oldest parts are dropped, usually 0.1 to 0.9 (compaction
    /// 5.6).
    pub history_share: f64,
    /// Tokens of the window that stay free; they limit the length of answers (compaction 3.17, 5.16).
    pub reserve_tokens: Tokens,
    /// Tokens of the context before the compaction (compaction 3.9); NaN for malformed usage.
    pub tokens_before: Tokens,
    pub identifiers: Identifiers,
    /// Custom instructions, as in `/compact`.
    pub instructions: Option<JsString>,
    /// The workspace rules as a section (compaction 5.18); empty without any.
    pub rules_section: JsString,
    /// Time of invented tool results.
    pub now_ms: Moment,
}

/// A summary as it would be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSummary {
    pub parts: SummaryParts,
    /// The file lists stored with it (compaction 3.21).
    pub details: FileLists,
    /// The part of the history that was dropped first, if any (compaction 5.8).
    pub dropped: Option<DroppedHistory>,
}

/// The oldest parts of a history that exceeded its share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DroppedHistory {
    /// Number of parts.
    pub chunks: usize,
    /// Messages in the parts plus removed orphans.
    pub messages: usize,
    /// Estimated tokens of the parts.
    pub tokens: Tokens,
    /// Percentage of the window that the new content takes.
    #[serde(skip)]
    pub new_content_percent: f64,
}

/// The reasons why the gateway cancels and keeps the history. Its two other reasons (compaction 5.5: no model, no key)
/// concern its own calls; here they are errors of the summarizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// No message of a user, an assistant or a tool is to be summarised (compaction 5.1).
    NoRealMessage,
    /// A message cannot be estimated (compaction 5.20, 1.8).
    Malformed,
}

impl CancelReason {
    pub const fn description(self) -> &'static str {
        match self {
            Self::NoRealMessage => {
                "nothing to summarise: no user, assistant or tool message comes before the kept part"
            }
            Self::Malformed => "the runtime cannot estimate the shape of a message",
        }
    }

    /// The rule behind the reason.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::NoRealMessage => "compaction 5.1",
            Self::Malformed => "compaction 5.20",
        }
    }
}

/// The reasons why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSummary {
    /// The safeguard cancels the compaction; the history stays.
    Cancelled(CancelReason),
    /// The only call failed, and mode `default` has no fallback.
    Failed(String),
    /// The [`SummaryModel`] wanted no further calls.
    Aborted,
}

#[cfg(test)]
mod layout_tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_without_further_separators() {
        let parts = SummaryParts {
            history: "history".into(),
            turn_prefix: Some("prefix".into()),
            failures: "\n\nfailures".into(),
            files: "\n\nfiles".into(),
            rules: "\n\nrules".into(),
        };
        let expected =
            "history\n\n---\n\n**Turn Context (split turn):**\n\nprefix\n\nfailures\n\nfiles\n\nrules";
        assert_eq!(parts.text(), expected);
        assert_eq!(SummaryParts { history: "h".into(), ..SummaryParts::default() }.text(), "h");
    }
}
