//! The summary that a planned compaction is written with. It was made before, by whoever makes summaries.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::js::{JsString, Object, Value};
use crate::plan::Plan;
use crate::policy::compact::FileLists;
use crate::store::scan::measure_message;

/// A summary that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionSummary {
    /// Its whole text, with file lists and whatever else is appended to it.
    pub text: JsString,
    /// The file lists, for the next compaction to go on from.
    pub details: Option<FileLists>,
    /// Stored as made by an extension: the next compaction does not take over its file lists (compaction 3.13).
    pub from_hook: bool,
}

impl CompactionSummary {
    /// Its estimated tokens (chars/4, rounded up; compaction 1.7).
    pub fn tokens(&self) -> u64 {
        let message =
            Object::from([("role", Value::from("compactionSummary")), ("summary", self.text.clone().into())]);
        estimate_or_zero(&measure_message(&Value::Object(message)).size)
    }
}

impl Plan {
    /// A number of tokens in which the assumed summary counts, with the one that was made in its place.
    pub fn tokens_with_summary(&self, summary: Option<&CompactionSummary>, tokens: u64) -> u64 {
        match summary.filter(|_| self.compaction.is_some()) {
            Some(made) => tokens.saturating_sub(self.settings.summary_tokens) + made.tokens(),
            None => tokens,
        }
    }
}
