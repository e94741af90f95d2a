//! JSON of `clawscope context SESSION --recorded`.

use schemars::JsonSchema;
use serde::Serialize;

use super::recorded_verdict::describe_verdict;
use super::session_output::{SessionJson, session_json};
use crate::export::json::JsonOutput;
use crate::report::recorded_context::{RecordedContext, RecordedRun, RecordingComparison, RunOutcome};
use crate::session::LoadedSession;

/// The gateway's recording of a run compared with the context rebuilt from the transcript.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecordedJson {
    session: SessionJson,
    verdict: String,
    /// The verdict as a sentence.
    message: String,
    /// The recording that cannot be read.
    elsewhere: Option<String>,
    run: Option<RunJson>,
    /// The comparison; null if the run has nothing to compare.
    context: Option<RecordingComparison>,
}

impl JsonOutput for RecordedJson {}

#[derive(Serialize, JsonSchema)]
struct RunJson {
    /// The number of the run, from 1 for the newest.
    number: usize,
    /// Number of runs.
    of: usize,
    id: String,
    /// The time of its first event.
    started: String,
    /// The file of the recording.
    place: String,
    provider: Option<String>,
    model: Option<String>,
    /// The release that recorded it.
    gateway: Option<String>,
    trigger: Option<String>,
    status: Option<String>,
    /// Whether the prompt was submitted.
    submitted: bool,
}

pub(super) fn report_json(session: &LoadedSession, recorded: &RecordedContext) -> RecordedJson {
    let elsewhere = match recorded {
        RecordedContext::Unreadable(path) => Some(path.to_string_lossy().into_owned()),
        _ => None,
    };
    let run = if let RecordedContext::Run(run) = recorded { Some(run) } else { None };
    let context = run.and_then(|run| match &run.outcome {
        RunOutcome::Compared(comparison) => Some((**comparison).clone()),
        _ => None,
    });
    RecordedJson {
        session: session_json(&session.item),
        verdict: verdict_name(recorded),
        message: describe_verdict(recorded).replace('\u{a0}', " "),
        elsewhere,
        run: run.map(|run| run_json(run)),
        context,
    }
}

fn verdict_name(recorded: &RecordedContext) -> String {
    let word = match recorded {
        RecordedContext::NoRecording => "missing",
        RecordedContext::Unreadable(_) => "elsewhere",
        RecordedContext::NoRun => "no run",
        RecordedContext::Run(run) => match &run.outcome {
            RunOutcome::NotCompiled => "not compiled",
            RunOutcome::LineTruncated(_) => "cut whole",
            RunOutcome::NoMessageList => "no messages recorded",
            RunOutcome::NoLeaf(_) => "leaf missing",
            RunOutcome::Compared(comparison) => return comparison.verdict(),
        },
    };
    word.to_owned()
}

fn run_json(run: &RecordedRun) -> RunJson {
    RunJson {
        number: run.number,
        of: run.run_count,
        id: run.attempt.run_id.clone(),
        started: run.started.clone(),
        place: run.location.to_string(),
        provider: run.attempt.provider.clone(),
        model: run.attempt.model.clone(),
        gateway: run.details.gateway_version.clone(),
        trigger: run.details.trigger.clone(),
        status: run.details.status.clone(),
        submitted: run.details.is_submitted,
    }
}
