//! The finished summary with which a planned compaction is written. A summarizer makes it beforehand.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::js::{JsString, Object, Value};
use crate::plan::Plan;
use crate::policy::compact::FileLists;
use crate::store::scan::measure_message;

#[derive(Debug, Clone, PartialEq)]
pub struct CompactionSummary {
    /// The complete text, including file lists and all other appended sections.
    pub text: JsString,
    /// The file lists, which the next compaction continues.
    pub details: Option<FileLists>,
    /// Stored as made by an extension, so the next compaction does not continue its file lists (compaction 3.13).
    pub from_hook: bool,
}

impl CompactionSummary {
    /// Returns the estimated tokens (chars/4, rounded up; compaction 1.7).
    pub fn tokens(&self) -> u64 {
        let message =
            Object::from([("role", Value::from("compactionSummary")), ("summary", self.text.clone().into())]);
        estimate_or_zero(&measure_message(&Value::Object(message)).size)
    }
}

impl Plan {
    /// Replaces the tokens of the assumed summary in `tokens` with those of the finished one.
    pub fn tokens_with_summary(&self, summary: Option<&CompactionSummary>, tokens: u64) -> u64 {
        match summary.filter(|_| self.compaction.is_some()) {
            Some(made) => tokens.saturating_sub(self.settings.summary_tokens) + made.tokens(),
            None => tokens,
        }
    }
}
