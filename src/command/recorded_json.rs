//! JSON of `clawscope context SESSION --recorded`.

use schemars::JsonSchema;
use serde::Serialize;

use super::recorded_verdict::describe_verdict;
use super::session_output::{SessionJson, session_json};
use crate::export::json::JsonOutput;
use crate::report::recorded_context::{
    Difference, DifferenceCause, DifferingMessage, RecordedContext, RecordedRun, RecordingComparison,
    RunOutcome,
};
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
    context: Option<ComparisonJson>,
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

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ComparisonJson {
    /// Messages of the recording.
    recorded: usize,
    /// Messages that the run began with.
    at_start: u64,
    /// Messages rebuilt from the transcript.
    rebuilt: usize,
    /// Rebuilt messages after the repairs.
    repaired: usize,
    repairs: Vec<RepairJson>,
    /// Whether the gateway sent the list without its usual repairs.
    unrepaired: bool,
    /// The unanswered user message that the prompt repeats.
    merged_orphan: Option<String>,
    /// Values that the recording shortens.
    cuts: Vec<CutJson>,
    /// Paths of values that the recording redacts.
    redacted: Vec<String>,
    /// The first difference.
    difference: Option<DifferenceJson>,
}

#[derive(Serialize, JsonSchema)]
struct RepairJson {
    name: &'static str,
    count: usize,
}

#[derive(Serialize, JsonSchema)]
struct CutJson {
    path: String,
    reason: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DifferenceJson {
    /// Index of the message in the list.
    position: usize,
    recorded: Option<SideJson>,
    rebuilt: Option<SideJson>,
    /// Paths that differ.
    paths: Vec<String>,
    /// Positions without a rebuilt message.
    only_recorded: Vec<usize>,
    /// Entries without a recorded message.
    only_rebuilt: Vec<String>,
    cause: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct SideJson {
    entry: Option<String>,
    role: String,
    chars: usize,
}

pub(super) fn report_json(session: &LoadedSession, recorded: &RecordedContext) -> RecordedJson {
    let elsewhere = match recorded {
        RecordedContext::Unreadable(path) => Some(path.to_string_lossy().into_owned()),
        _ => None,
    };
    let run = if let RecordedContext::Run(run) = recorded { Some(run) } else { None };
    let context = run.and_then(|run| match &run.outcome {
        RunOutcome::Compared(comparison) => Some(comparison_json(session, run, comparison)),
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

fn comparison_json(
    session: &LoadedSession,
    run: &RecordedRun,
    comparison: &RecordingComparison,
) -> ComparisonJson {
    let cuts = comparison.cuts.iter();
    ComparisonJson {
        recorded: comparison.recorded,
        at_start: comparison.at_start,
        rebuilt: comparison.rebuilt,
        repaired: comparison.repaired,
        repairs: comparison
            .repairs
            .iter()
            .map(|repair| RepairJson { name: repair.name, count: repair.count })
            .collect(),
        unrepaired: comparison.unrepaired,
        merged_orphan: run.merged_orphan.map(|entry| session.index.display_id(entry)),
        cuts: cuts.map(|cut| CutJson { path: cut.path.clone(), reason: cut.reason.clone() }).collect(),
        redacted: comparison.redacted.clone(),
        difference: comparison
            .difference
            .as_ref()
            .map(|difference| difference_json(session, run, difference)),
    }
}

fn difference_json(session: &LoadedSession, run: &RecordedRun, difference: &Difference) -> DifferenceJson {
    let side = |side: &DifferingMessage| SideJson {
        entry: side.entry.map(|entry| session.index.display_id(entry)),
        role: side.role.clone(),
        chars: side.chars.whole() as usize,
    };
    DifferenceJson {
        position: difference.position,
        recorded: difference.recorded.as_ref().map(side),
        rebuilt: difference.rebuilt.as_ref().map(side),
        paths: difference.paths.clone(),
        only_recorded: difference.only_recorded.clone(),
        only_rebuilt: difference.only_rebuilt.iter().map(|entry| session.index.display_id(*entry)).collect(),
        cause: run.cause.map(DifferenceCause::as_str),
    }
}
