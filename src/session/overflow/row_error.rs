//! The error of a run that left no failed answer: only the session's row names it.

use crate::ids::EntryIx;
use crate::js;
use crate::policy::overflow::{ErrorClass, StopDetails, Verdict, classify_error, judge};
use crate::session::overflow::CallFailures;
use crate::session::overflow::refused::CallError;
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::store::session_records::SessionRecord;

impl CallFailures {
    /// Adds the error that the row names, if the newest message of the path waits for an answer.
    #[must_use]
    pub(in crate::session) fn with_row_error(
        self,
        row: Option<&SessionRecord>,
        index: &Index,
        path: &[EntryIx],
    ) -> Self {
        let Some(error) = row.and_then(|row| row_error(row, index, path)) else { return self };
        let mut errors = self.errors.to_vec();
        errors.push(error);
        errors.sort_by_key(|error| error.entry);
        Self { errors: errors.into(), ..self }
    }
}

/// An overflow is not among these: its refusal is in the transcript, or in the row's budget.
fn row_error(row: &SessionRecord, index: &Index, path: &[EntryIx]) -> Option<CallError> {
    let newest = path.iter().rev().copied().find(|ix| {
        let entry = index.entry(*ix);
        entry.kind == EntryKind::Message || entry.kind == EntryKind::Compaction
    })?;
    if !matches!(index.entry(newest).role(), Some(Role::User | Role::ToolResult)) {
        return None;
    }
    let value = row.member("lastRunError").filter(|value| js::is_truthy(Some(value)))?;
    let value = value.get("message").unwrap_or(&value);
    let text = js::to_text(Some(value)).to_string_lossy();
    let details = StopDetails::from_text(&text);
    let judged = judge(&details);
    if text.trim().is_empty() || judged.verdict != Verdict::NoOverflow {
        return None;
    }
    let (class, numbers) = classify_error(&details, &judged);
    let class = if class == ErrorClass::Other { ErrorClass::Gateway } else { class };
    Some(CallError { entry: newest, class, numbers, model: None, text, noted_by_gateway: true })
}
