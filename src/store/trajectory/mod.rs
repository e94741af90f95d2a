//! The gateway's recording of its runs (trajectory): found beside a transcript or in its database, indexed by line,
//! read by attempt.
//!
//! Every value may be replaced by a mark of what the recorder cut, so every value is optional.

mod attempt;
mod compiled;
mod find;
mod recording;
mod rows;

pub use attempt::{AttemptDetails, RunAttempt, TokenUsage};
pub use compiled::{CompiledContext, ContextSnapshot, CutContext, RecordedList, RecordedTool};
pub use find::{RecordingLocation, RecordingLookup, find_recording};
pub use recording::{RecordedEvent, Recording};

use crate::js::{JsString, Value};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::source::Source;
use std::path::Path;

/// Sizes of the system prompt as the newest recorded run of a session reports them. `dir` is where the environment sends
/// recordings.
pub fn last_prompt_report(source: &Source, session: &str, dir: Option<&Path>) -> Option<SystemPromptReport> {
    let RecordingLookup::Found(place) = find_recording(source, session, dir) else { return None };
    let recording = Recording::read_kind(&place, "trace.metadata").ok()?;
    let attempts = recording.attempts();
    let own = attempts.iter().rev().filter(|attempt| attempt.belongs_to(session));
    let report = own.into_iter().find_map(|attempt| recording.prompt_report(attempt))?;
    Some(SystemPromptReport { source: ReportSource::Recorded, ..report })
}

/// The reason in the mark behind the first items of an array.
pub const ARRAY_CUT: &str = "trajectory-array-size-limit";

/// Why the recorder left a value out; none where it is no mark.
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
