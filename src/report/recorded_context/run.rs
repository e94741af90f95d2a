//! Reads a run of a session's recording and rebuilds the context with which it began.

use super::comparison::RecordingComparison;
use super::rebuilt::RebuiltMessage;
use super::{RecordedContext, RunOutcome};
use crate::context::{bodies, build_context};
use crate::gateway::ruleset::Version;
use crate::js::Value;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::trajectory::{
    AttemptDetails, CompiledContext, Recording, RecordingLocation, RecordingLookup, RunAttempt,
    find_recording,
};
use crate::transcript::Leaf;

/// A recorded run of the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// The location of the recording.
    pub location: RecordingLocation,
    /// The number from 1, the newest run.
    pub number: usize,
    /// Runs of this session in the recording.
    pub run_count: usize,
    pub attempt: RunAttempt,
    /// The start time as written.
    pub started: String,
    pub details: AttemptDetails,
    /// The recorded messages, or why they are missing.
    pub outcome: RunOutcome,
}

/// The reason that a recorded run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The recording has fewer runs.
    #[error("--run {requested}: the recording has {available} runs of this session; 1 is the newest")]
    NoSuchRun {
        /// The requested number.
        requested: usize,
        /// The number of runs.
        available: usize,
    },
    /// The recording cannot be read.
    #[error("{0}: {1}")]
    Recording(String, std::io::Error),
    /// The transcript cannot be read.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The runtime throws when it builds this context.
    #[error("the runtime cannot build a context at the recorded leaf {0}")]
    Throws(String),
}

/// Compares a recorded run of a session with the transcript; run 1 is the newest.
///
/// # Errors
/// When `number` exceeds the number of runs, or a file cannot be read.
pub fn read_run(loaded: &LoadedSession, number: usize) -> Result<RecordedContext, RunError> {
    let session = loaded.index.header.as_ref().map(|header| header.id.as_str()).unwrap_or_default();
    let place = match find_recording(&loaded.source, session, loaded.config.trajectory_dir.as_deref()) {
        RecordingLookup::Missing => return Ok(RecordedContext::NoRecording),
        RecordingLookup::Elsewhere(path) => return Ok(RecordedContext::Unreadable(path)),
        RecordingLookup::Found(place) => place,
    };
    let recording = Recording::read(&place).map_err(|error| RunError::Recording(place.to_string(), error))?;
    let attempts = recording.attempts().into_iter().filter(|attempt| attempt.belongs_to(session));
    let attempts: Vec<RunAttempt> = attempts.collect();
    if attempts.is_empty() {
        return Ok(RecordedContext::NoRun);
    }
    let of = attempts.len();
    let at = number.checked_sub(1).and_then(|back| of.checked_sub(back + 1));
    let attempt = at.and_then(|at| attempts.into_iter().nth(at));
    let attempt = attempt.ok_or(RunError::NoSuchRun { requested: number, available: of })?;
    let details = recording.read_details(&attempt);
    let started = attempt.event_indices.first().and_then(|at| recording.events.get(*at));
    let started = started.map(|event| event.time.clone()).unwrap_or_default();
    let outcome = compare_run(loaded, &details)?;
    let run = RecordedRun { location: place, number, run_count: of, attempt, started, details, outcome };
    Ok(RecordedContext::Run(Box::new(run)))
}

fn compare_run(session: &LoadedSession, details: &AttemptDetails) -> Result<RunOutcome, RunError> {
    let snapshot = match &details.compiled {
        CompiledContext::Missing => return Ok(RunOutcome::NotCompiled),
        CompiledContext::Cut(cut) => return Ok(RunOutcome::LineTruncated(cut.clone())),
        CompiledContext::Present(snapshot) => snapshot,
    };
    let Some(list) = &snapshot.messages else { return Ok(RunOutcome::NoMessageList) };
    let leaf = match &snapshot.leaf_id {
        Some(id) if session.tree.find_by_text(&session.index, id).is_none() => {
            return Ok(RunOutcome::NoLeaf(id.clone()));
        }
        Some(id) => Leaf::Id(id.clone()),
        None => Leaf::Before,
    };
    let rebuilt = rebuild_context(session, &leaf)?;
    let release = details.gateway_version.as_deref().and_then(|text| text.parse::<Version>().ok());
    let release = release.and_then(|version| version.gateway());
    let has_engine = has_context_engine(details.config.as_ref());
    Ok(RunOutcome::Compared(Box::new(RecordingComparison::new(list, &rebuilt, release, has_engine))))
}

/// Rebuilds the context at a leaf, message by message.
fn rebuild_context(session: &LoadedSession, leaf: &Leaf) -> Result<Vec<RebuiltMessage>, RunError> {
    let LoadedSession { index, tree, source, .. } = session;
    let name = || if let Leaf::Id(id) = leaf { id.clone() } else { String::new() };
    let context = build_context(index, tree, leaf).map_err(|_| RunError::Throws(name()))?;
    let messages = bodies::read_messages(source, index, &context)?;
    let entries = context.messages.iter().map(|message| Some(index.display_id(message.entry)));
    Ok(entries.zip(messages).map(|(entry, message)| RebuiltMessage::new(entry, message)).collect())
}

/// Whether the recorded configuration delegates the list to a plugin.
fn has_context_engine(config: Option<&Value>) -> bool {
    let slots = config.and_then(|config| config.get("plugins")?.get("slots"));
    let engine = slots.and_then(|slots| slots.get("contextEngine")?.as_str());
    engine.is_some_and(|engine| !engine.is_blank() && !engine.eq_str("legacy"))
}
