//! The gateway's recording of its runs (trajectory): found beside a transcript or in its database, indexed by line,
//! read by attempt.
//!
//! Every value may be replaced by a mark of what the recorder cut, so every value is optional.

mod attempt;
mod compiled;
mod find;
mod lines;
mod rows;

pub use attempt::{Attempt, Details, TokenUsage};
pub use compiled::{Compiled, CutContext, Held, RecordedList, RecordedTool};
pub use find::{Found, Place, find};
pub use lines::{Event, Recording};

use crate::js::{JsString, Value};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::source::Source;
use std::path::Path;

/// Sizes of the system prompt as the newest recorded run of a session reports them. `dir` is where the environment sends
/// recordings.
pub fn last_report(source: &Source, session: &str, dir: Option<&Path>) -> Option<SystemPromptReport> {
    let Found::Readable(place) = find(source, session, dir) else { return None };
    let recording = Recording::read_kind(&place, "trace.metadata").ok()?;
    let attempts = recording.attempts();
    let own = attempts.iter().rev().filter(|attempt| attempt.is_of(session));
    let report = own.into_iter().find_map(|attempt| recording.report(attempt))?;
    Some(SystemPromptReport { source: ReportSource::Recorded, ..report })
}

/// The reason in the mark behind the first items of an array.
pub const ARRAY_CUT: &str = "trajectory-array-size-limit";

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
