//! Reads a run of a session's recording and rebuilds the context that it began with.

use super::comparison::Comparison;
use super::rebuilt::Rebuilt;
use super::{Cause, Outcome, RecordedContext};
use crate::context::{bodies, build};
use crate::gateway::ruleset::Version;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::js::{JsString, Value};
use crate::store::body::BodyError;
use crate::store::entry::Role;
use crate::store::trajectory::{Attempt, Compiled, Details, Found, Held, Place, Recording, find};
use crate::transcript::Leaf;

/// A run of the gateway as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// Where the recording is.
    pub place: Place,
    /// From 1: the newest.
    pub number: usize,
    /// Runs of this session in the recording.
    pub of: usize,
    /// The attempt.
    pub attempt: Attempt,
    /// When it began, as written.
    pub started: String,
    /// What it recorded.
    pub details: Details,
    /// What its messages say.
    pub outcome: Outcome,
    /// The likely cause of a difference.
    pub cause: Option<Cause>,
    /// An older user message below the leaf is part of the recorded prompt: the gateway merged it in (R8).
    pub merged_orphan: Option<EntryIx>,
}

/// Why a recorded run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There are fewer runs.
    #[error("--run {asked}: the recording holds {of} runs of this session; 1 is the newest")]
    Number {
        /// The number asked for.
        asked: usize,
        /// Runs there are.
        of: usize,
    },
    /// The recording cannot be read.
    #[error("{0}: {1}")]
    Recording(String, std::io::Error),
    /// The transcript cannot be read.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The runtime cannot build a context there.
    #[error("the runtime cannot build a context at the recorded leaf {0}")]
    Throws(String),
}

/// Compares a recorded run of a session, 1 being the newest, with the transcript.
///
/// # Errors
/// A number above that of the runs, and files that cannot be read.
pub fn read(inspection: &Inspection, number: usize) -> Result<RecordedContext, RunError> {
    let session = inspection.index.header.as_ref().map(|header| header.id.as_str()).unwrap_or_default();
    let place = match find(&inspection.source, session, inspection.config.trajectory_dir.as_deref()) {
        Found::Missing => return Ok(RecordedContext::NoRecording),
        Found::Elsewhere(path) => return Ok(RecordedContext::Elsewhere(path)),
        Found::Readable(place) => place,
    };
    let recording = Recording::read(&place).map_err(|error| RunError::Recording(place.to_string(), error))?;
    let attempts = recording.attempts().into_iter().filter(|attempt| attempt.is_of(session));
    let attempts: Vec<Attempt> = attempts.collect();
    if attempts.is_empty() {
        return Ok(RecordedContext::NoRun);
    }
    let of = attempts.len();
    let at = number.checked_sub(1).and_then(|back| of.checked_sub(back + 1));
    let attempt = at.and_then(|at| attempts.into_iter().nth(at));
    let attempt = attempt.ok_or(RunError::Number { asked: number, of })?;
    let details = recording.details(&attempt);
    let started = attempt.events.first().and_then(|at| recording.events.get(*at));
    let started = started.map(|event| event.time.clone()).unwrap_or_default();
    let (outcome, merged_orphan) = outcome(inspection, &details)?;
    let cause = match &outcome {
        Outcome::Compared(all) => all
            .difference
            .as_ref()
            .map(|own| Cause::of(own, all, has_context_engine(details.config.as_ref()))),
        _ => None,
    };
    let run = RecordedRun { place, number, of, attempt, started, details, outcome, cause, merged_orphan };
    Ok(RecordedContext::Run(Box::new(run)))
}

fn outcome(inspection: &Inspection, details: &Details) -> Result<(Outcome, Option<EntryIx>), RunError> {
    let held = match &details.compiled {
        Compiled::Missing => return Ok((Outcome::NotCompiled, None)),
        Compiled::Cut(cut) => return Ok((Outcome::CutWhole(cut.clone()), None)),
        Compiled::Held(held) => held,
    };
    let Some(list) = &held.list else { return Ok((Outcome::NoList, None)) };
    let leaf = held.leaf.clone().map_or(Leaf::Before, Leaf::Id);
    let at = held.leaf.as_ref().map(|id| (id, inspection.tree.find_text(&inspection.index, id)));
    if let Some((id, None)) = at {
        return Ok((Outcome::NoLeaf(id.clone()), None));
    }
    let at = at.and_then(|(_, at)| at);
    let rebuilt = rebuilt(inspection, &leaf)?;
    let release = details.gateway.as_deref().and_then(|text| text.parse::<Version>().ok());
    let comparison = Comparison::new(list, &rebuilt, release.and_then(|version| version.gateway()));
    Ok((Outcome::Compared(comparison), merged_orphan(inspection, at, held)?))
}

/// The context at a leaf, message by message.
fn rebuilt(inspection: &Inspection, leaf: &Leaf) -> Result<Vec<Rebuilt>, RunError> {
    let Inspection { index, tree, source, .. } = inspection;
    let name = || if let Leaf::Id(id) = leaf { id.clone() } else { String::new() };
    let context = build(index, tree, leaf).map_err(|_| RunError::Throws(name()))?;
    let messages = bodies::messages(source, index, &context)?;
    let entries = context.messages.iter().map(|message| Some(message.entry));
    Ok(entries.zip(messages).map(|(entry, message)| Rebuilt::new(entry, message)).collect())
}

/// The user message below the leaf that the prompt of the run repeats, where a later one is the run's own.
fn merged_orphan(
    inspection: &Inspection,
    leaf: Option<EntryIx>,
    held: &Held,
) -> Result<Option<EntryIx>, RunError> {
    let Inspection { index, tree, source, .. } = inspection;
    let (Some(leaf), Some(prompt)) = (leaf, &held.prompt) else { return Ok(None) };
    let is_user = |ix: &EntryIx| index.entry(*ix).message.is_some_and(|size| size.role == Role::User);
    let users: Vec<EntryIx> = tree.children(leaf).iter().copied().filter(is_user).collect();
    let older = users.split_last().map(|(_, older)| older).unwrap_or_default();
    for ix in older {
        let entry = crate::store::body::entry(source, index, *ix)?;
        let message = Rebuilt::new(None, entry.get("message").cloned().unwrap_or(Value::Null));
        let text = message.text().map(JsString::to_string_lossy).unwrap_or_default();
        if !text.trim().is_empty() && prompt.contains(text.trim()) {
            return Ok(Some(*ix));
        }
    }
    Ok(None)
}

/// Whether the recorded configuration hands the list to a plugin.
fn has_context_engine(config: Option<&Value>) -> bool {
    let slots = config.and_then(|config| config.get("plugins")?.get("slots"));
    let engine = slots.and_then(|slots| slots.get("contextEngine")?.as_str());
    engine.is_some_and(|engine| !engine.is_blank() && !engine.eq_str("legacy"))
}
