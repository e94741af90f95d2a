//! The gateway's recordings of its runs (trajectory): finds them next to a transcript or in its database, indexes them
//! by line, reads them by attempt. The recorder may replace any value with a mark, so every value here is optional.

mod attempt;
mod compiled;
mod find;
mod location;
mod recording;
mod rows;

pub use attempt::{AttemptDetails, RunAttempt, TokenUsage};
pub use compiled::{CompiledContext, ContextSnapshot, CutContext, RecordedList, RecordedTool};
pub use find::{RecordingLookup, find_recording};
pub use location::RecordingLocation;
pub use recording::{RecordedEvent, Recording};

use crate::js::{JsString, Value};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::source::Source;
use std::path::Path;

/// Returns the system prompt sizes from a session's newest recorded run that has them. `dir` is the recordings folder
/// that the environment names.
pub fn last_prompt_report(source: &Source, session: &str, dir: Option<&Path>) -> Option<SystemPromptReport> {
    let RecordingLookup::Found(place) = find_recording(source, session, dir) else { return None };
    let recording = Recording::read_kind(&place, "trace.metadata").ok()?;
    let attempts = recording.attempts();
    let own = attempts.iter().rev().filter(|attempt| attempt.belongs_to(session));
    let report = own.into_iter().find_map(|attempt| recording.prompt_report(attempt))?;
    Some(SystemPromptReport { source: ReportSource::Recorded, ..report })
}

/// Reason in the mark that ends a cut array.
pub const ARRAY_CUT: &str = "trajectory-array-size-limit";

/// Returns the reason in the recorder's mark; `None` when the value is not a mark.
pub fn cut_reason(value: &Value) -> Option<String> {
    let is_mark = value.get("truncated") == Some(&Value::Bool(true));
    let reason = owned_text(value.get("reason")).filter(|_| is_mark)?;
    reason.starts_with("trajectory-").then_some(reason)
}

fn owned_text(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(JsString::to_string_lossy)
}

fn whole_number(value: Option<&Value>) -> Option<u64> {
    value?.as_f64().filter(|number| *number >= 0.0 && number.is_finite()).map(|number| number as u64)
}

#[cfg(test)]
mod tests;
