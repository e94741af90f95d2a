//! Compares the gateway's recording of a run's first messages with the context rebuilt from the transcript (trajectory
//! 5, 9).
//!
//! The gateway records before it trims a call, so the recording is not the prompt that the provider received.

mod comparison;
mod recording_match;
#[cfg(test)]
mod repairs_tests;
#[cfg(test)]
mod tests;

pub use comparison::{AppliedRepair, Difference, DifferingMessage, RecordingComparison};
pub use recording_match::RecordingCut;

use schemars::JsonSchema;
use serde::Serialize;

use self::recording_match::RebuiltMessage;
use crate::context::{bodies, build_context};
use crate::format::{format_count, format_number};
use crate::gateway::ruleset::Version;
use crate::js::Value;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::trajectory::{
    AttemptDetails, CompiledContext, CutContext, Recording, RecordingLookup, RunAttempt, find_recording,
};
use crate::transcript::Leaf;

/// The result for one run of a session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecordedContext {
    pub verdict: String,
    /// The verdict as a sentence.
    pub message: String,
    /// The recording that cannot be read.
    pub elsewhere: Option<String>,
    pub run: Option<RecordedRun>,
    /// The comparison; null if the run has nothing to compare.
    pub context: Option<RecordingComparison>,
}

/// A recorded run of the gateway.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecordedRun {
    /// The number of the run, from 1 for the newest.
    pub number: usize,
    /// Number of runs.
    pub of: usize,
    pub id: String,
    /// The time of its first event.
    pub started: String,
    /// The file of the recording.
    pub place: String,
    pub provider: Option<String>,
    pub model: Option<String>,
    /// The release that recorded it.
    pub gateway: Option<String>,
    pub trigger: Option<String>,
    pub status: Option<String>,
    /// Whether the prompt was submitted.
    pub submitted: bool,
}

/// The reason that a recorded run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The recording has fewer runs.
    #[error("--run {requested}: the recording has {available} runs of this session; 1 is the newest")]
    NoSuchRun { requested: usize, available: usize },
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

impl RecordedContext {
    fn new(verdict: &str, message: String) -> Self {
        Self { verdict: verdict.to_owned(), message, elsewhere: None, run: None, context: None }
    }
}

/// Compares a recorded run of a session with the transcript; run 1 is the newest.
///
/// # Errors
/// When `number` exceeds the number of runs, or a file cannot be read.
pub fn read_run(loaded: &LoadedSession, number: usize) -> Result<RecordedContext, RunError> {
    let session = loaded.index.header.as_ref().map(|header| header.id.as_str()).unwrap_or_default();
    let place = match find_recording(&loaded.source, session, loaded.config.trajectory_dir.as_deref()) {
        RecordingLookup::Missing => {
            return Ok(RecordedContext::new("missing", "No recording of this session was found.".to_owned()));
        }
        RecordingLookup::Elsewhere(path) => {
            let message = format!("The recording is elsewhere: {}", path.display());
            let elsewhere = Some(path.to_string_lossy().into_owned());
            return Ok(RecordedContext { elsewhere, ..RecordedContext::new("elsewhere", message) });
        }
        RecordingLookup::Found(place) => place,
    };
    let recording = Recording::read(&place).map_err(|error| RunError::Recording(place.to_string(), error))?;
    let mut attempts = recording.attempts();
    attempts.retain(|attempt| attempt.belongs_to(session));
    let of = attempts.len();
    if of == 0 {
        let message = "The recording contains no run of this session.".to_owned();
        return Ok(RecordedContext::new("no run", message));
    }
    let at = number.checked_sub(1).and_then(|back| of.checked_sub(back + 1));
    let attempt = at.ok_or(RunError::NoSuchRun { requested: number, available: of })?;
    let attempt = attempts.swap_remove(attempt);
    let details = recording.read_details(&attempt);
    let started = attempt.event_indices.first().and_then(|at| recording.events.get(*at));
    let started = started.map(|event| event.time.clone()).unwrap_or_default();
    let run = compare_run(loaded, &details)?;
    let own = RecordedRun::new((number, of), attempt, details, started, place.to_string());
    Ok(RecordedContext { run: Some(own), ..run })
}

impl RecordedRun {
    fn new(
        (number, of): (usize, usize),
        attempt: RunAttempt,
        details: AttemptDetails,
        started: String,
        place: String,
    ) -> Self {
        Self {
            number,
            of,
            id: attempt.run_id,
            started,
            place,
            provider: attempt.provider,
            model: attempt.model,
            gateway: details.gateway_version,
            trigger: details.trigger,
            status: details.status,
            submitted: details.is_submitted,
        }
    }
}

fn compare_run(session: &LoadedSession, details: &AttemptDetails) -> Result<RecordedContext, RunError> {
    let without = |verdict: &str, message: &str| Ok(RecordedContext::new(verdict, message.to_owned()));
    let snapshot = match &details.compiled {
        CompiledContext::Missing => {
            return without("not compiled", "The run ended before its context was built.");
        }
        CompiledContext::Cut(cut) => return without("cut whole", &describe_cut(cut)),
        CompiledContext::Present(snapshot) => snapshot,
    };
    let Some(list) = &snapshot.messages else {
        let message = "This run recorded no messages: they were dropped, or its harness records none.";
        return without("no messages recorded", message);
    };
    let leaf = match &snapshot.leaf_id {
        Some(id) if session.tree.find_by_text(&session.index, id).is_none() => {
            let message =
                format!("Different: the transcript has no entry {id}; the branch was rewritten since.");
            return without("leaf missing", &message);
        }
        Some(id) => Leaf::Id(id.clone()),
        None => Leaf::Before,
    };
    let rebuilt = rebuild_context(session, &leaf)?;
    let release = details.gateway_version.as_deref().and_then(|text| text.parse::<Version>().ok());
    let release = release.and_then(|version| version.gateway());
    let engine = has_context_engine(details.config.as_ref());
    let compared = RecordingComparison::new(list, &rebuilt, release, engine);
    let found = RecordedContext::new(&compared.verdict(), compared.describe());
    Ok(RecordedContext { context: Some(compared), ..found })
}

fn describe_cut(cut: &CutContext) -> String {
    let size = cut.bytes.map(|bytes| format!(": its line had {} bytes", format_number(bytes)));
    let limit = cut.limit.map(|limit| format!(" and the limit is {}", format_number(limit)));
    let rest = cut.recovered_messages.as_ref().map(|list| {
        format!(". The prompt that was sent began with {}", format_count(list.total, "message", "messages"))
    });
    let parts = [size, limit, rest].into_iter().flatten().collect::<String>();
    format!("The recorder dropped the whole context{parts}.")
}

/// Rebuilds the context at a leaf, message by message.
fn rebuild_context(session: &LoadedSession, leaf: &Leaf) -> Result<Vec<RebuiltMessage>, RunError> {
    let LoadedSession { index, tree, source, .. } = session;
    let name = || if let Leaf::Id(id) = leaf { id.clone() } else { String::new() };
    let context = build_context(index, tree, leaf).map_err(|_| RunError::Throws(name()))?;
    let messages = bodies::read_messages(source, index, &context)?;
    let entries = context.messages.iter().map(|message| index.display_id(message.entry));
    Ok(entries.zip(messages).map(|(entry, message)| RebuiltMessage { entry, message }).collect())
}

/// Whether the recorded configuration delegates the list to a plugin.
fn has_context_engine(config: Option<&Value>) -> bool {
    let slots = config.and_then(|config| config.get("plugins")?.get("slots"));
    let engine = slots.and_then(|slots| slots.get("contextEngine")?.as_str());
    engine.is_some_and(|engine| !engine.is_blank() && !engine.eq_str("legacy"))
}
