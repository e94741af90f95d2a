//! The gateway's recordings of its runs (trajectory): finds them next to a transcript or in its database, indexes them
//! by line, reads them by attempt. The recorder may replace any value with a mark, so every value here is optional.

mod attempt;
mod find;
mod recording;

pub use attempt::{
    AttemptDetails, CompiledContext, ContextSnapshot, CutContext, RecordedList, RecordedTool, RunAttempt,
};
pub use find::{RecordingLookup, find_recording};
pub use recording::{RecordedEvent, Recording, RecordingLocation};

use crate::js::{JsString, Value, date_value};
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::source::Source;
use crate::units::Moment;
use std::path::Path;

/// Returns the system prompt sizes from a session's newest recorded run that has them. `dir` is the recordings folder
/// that the environment names.
pub fn last_prompt_report(source: &Source, session: &str, dir: Option<&Path>) -> Option<SystemPromptReport> {
    let recording = read_kind(source, session, dir, "trace.metadata")?;
    let attempts = recording.attempts();
    let own = attempts.iter().rev().filter(|attempt| attempt.belongs_to(session));
    let report = own.into_iter().find_map(|attempt| recording.prompt_report(attempt))?;
    Some(SystemPromptReport { source: ReportSource::Recorded, ..report })
}

/// Returns the run id and the end of each recorded attempt whose model call failed, oldest first: no answer of it is
/// stored since 2026.8.1 (trajectory 3.6). `None` without a recording. A call that timed out or was aborted is left out.
pub fn failed_attempts(source: &Source, session: &str, dir: Option<&Path>) -> Option<Vec<FailedAttempt>> {
    let recording = read_kind(source, session, dir, "trace.artifacts")?;
    let failed = recording.events.iter().filter_map(|event| {
        let data = recording.data(event)?;
        let is = |key: &str, word: &str| data.get(key).is_some_and(|value| value.str_is(word));
        let is_set = |key: &str| data.get(key) == Some(&Value::Bool(true));
        let stopped = is_set("aborted") || is_set("timedOut") || is_set("idleTimedOut");
        let ended_ms = date_value(Some(&Value::from(event.time.as_str())));
        (is("finalStatus", "error") && is("stopReason", "error") && !stopped)
            .then(|| FailedAttempt { run_id: event.run_id.clone(), ended_ms })
    });
    Some(failed.collect())
}

/// Reads the events of one kind in a session's recording.
fn read_kind(source: &Source, session: &str, dir: Option<&Path>, kind: &str) -> Option<Recording> {
    let RecordingLookup::Found(place) = find_recording(source, session, dir) else { return None };
    Recording::read_kind(&place, kind).ok()
}

/// A recorded attempt without an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedAttempt {
    pub run_id: String,
    /// NaN if unknown.
    pub ended_ms: Moment,
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
