//! The gateway's recording of its runs (trajectory): found beside a transcript, indexed by line, read by attempt.
//!
//! Every value may be replaced by a mark of what the recorder cut, so every value is optional.

mod attempt;
mod compiled;
mod find;
mod lines;

pub use attempt::{Attempt, Details, TokenUsage};
pub use compiled::{Compiled, CutContext, Held, RecordedTool};
pub use find::{Found, find};
pub use lines::{Event, Recording};

use crate::js::{JsString, Value};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use std::path::Path;

/// Sizes of the system prompt as the newest recorded run of a session reports them.
pub fn last_report(transcript: &Path, session: &str) -> Option<SystemPromptReport> {
    let Found::Readable(path) = find(transcript, session) else { return None };
    let recording = Recording::read_kind(&path, "trace.metadata").ok()?;
    let report = recording.attempts().iter().rev().find_map(|attempt| recording.report(attempt))?;
    Some(SystemPromptReport { source: ReportSource::Recorded, ..report })
}

/// Why the recorder left a value out; none where it is no mark.
pub fn cut_reason(value: &Value) -> Option<String> {
    let is_mark = value.get("truncated") == Some(&Value::Bool(true));
    let reason = text(value.get("reason")).filter(|_| is_mark)?;
    reason.starts_with("trajectory-").then_some(reason)
}

fn text(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(JsString::to_string_lossy)
}

fn whole(value: Option<&Value>) -> Option<u64> {
    value?.as_f64().filter(|number| *number >= 0.0 && number.is_finite()).map(|number| number as u64)
}

#[cfg(test)]
mod tests;
