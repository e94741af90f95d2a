//! Finds the recording of a transcript's runs (trajectory 2).
//!
//! Recordings may be in the transcript's folder, in a folder that the environment names, at a place that a pointer file
//! names, or in the agent's database. A file that is not in the transcript's folder under its name counts only when its
//! first line names the session.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::owned_text;
use super::recording::{RecordingLocation, SCHEMA, has_rows};
use crate::files;
use crate::gateway::substitute::is_secret_file;
use crate::js::{self, Value};
use crate::store::source::Source;
use crate::store::sqlite::artifact_dir;

const POINTER_SCHEMA: &str = "openclaw-trajectory-pointer";
/// Bytes read of a pointer, and of a recording's first lines.
const MAX_HEAD_BYTES: u64 = 1 << 20;
/// Maximum chars of a session id in a file name.
const MAX_NAME_CHARS: usize = 120;

/// Result of the search.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordingLookup {
    Found(RecordingLocation),
    /// A pointer names this path, but no recording of the session can be read there.
    Elsewhere(PathBuf),
    /// No recording or pointer: an older release, switched off, or removed.
    Missing,
}

/// Finds the recording of a session: in the database of its transcript, else as a file. `dir` is the recordings folder
/// that the environment names (trajectory 2.2).
pub fn find_recording(source: &Source, session: &str, dir: Option<&Path>) -> RecordingLookup {
    let Some(events) = source.events() else { return find_file(source.path(), session, dir) };
    let database = events.database();
    if has_rows(database, events.session_id()) {
        return RecordingLookup::Found(RecordingLocation::DatabaseRows(
            Arc::clone(database),
            events.session_id().to_owned(),
        ));
    }
    // Files from before the database stay until a migration moves them.
    let folder = artifact_dir(database.path());
    if dir.is_none() && !folder.is_dir() {
        return RecordingLookup::Missing;
    }
    let before = folder.join(format!("{}.jsonl", safe_file_name(events.session_id())));
    find_file(&before, events.session_id(), dir)
}

/// Finds the recording of a transcript's session: in the same folder, else in the folder that the environment names,
/// else at the pointer's target, else under the target's file name in the transcript's folder (trajectory 2.1 to 2.3).
pub(super) fn find_file(transcript: &Path, session: &str, dir: Option<&Path>) -> RecordingLookup {
    let name = transcript.file_name().unwrap_or_default().to_string_lossy();
    // The recording of an archived transcript keeps the name of the live one.
    let stem = name.split_once(".jsonl").map_or(&*name, |(stem, _)| stem);
    let beside = transcript.with_file_name(format!("{stem}.trajectory.jsonl"));
    if is_non_empty(&beside) {
        return RecordingLookup::Found(RecordingLocation::File(beside));
    }
    let sent = dir.map(|dir| dir.join(format!("{}.jsonl", safe_file_name(session))));
    let pointer = transcript.with_file_name(format!("{stem}.trajectory-path.json"));
    let target = pointer_target(&pointer, session);
    let moved =
        target.as_ref().and_then(|target| target.file_name()).map(|name| transcript.with_file_name(name));
    let places = [sent, target.clone(), moved];
    let found =
        places.into_iter().flatten().find(|path| is_non_empty(path) && is_recording_of(path, session));
    found
        .map(|path| RecordingLookup::Found(RecordingLocation::File(path)))
        .or(target.map(RecordingLookup::Elsewhere))
        .unwrap_or(RecordingLookup::Missing)
}

/// Returns a session's file name in the environment's folder (trajectory 2.2).
fn safe_file_name(session: &str) -> String {
    let plain =
        |char: char| if char.is_ascii_alphanumeric() || char == '_' || char == '-' { char } else { '_' };
    let name: String = session.chars().map(plain).take(MAX_NAME_CHARS).collect();
    if name.contains(|char: char| char.is_ascii_alphanumeric()) { name } else { "session".to_owned() }
}

fn is_non_empty(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0) && !is_secret_file(path)
}

/// Returns the path in a pointer of this session.
fn pointer_target(pointer: &Path, session: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    files::open(pointer)
        .ok()
        .filter(|_| is_non_empty(pointer))?
        .take(MAX_HEAD_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let value = js::parse(&String::from_utf8_lossy(&bytes)).ok()?;
    let is_own = owned_text(value.get("traceSchema")).as_deref() == Some(POINTER_SCHEMA)
        && matches_session(&value, session);
    owned_text(value.get("runtimeFile")).filter(|path| is_own && !path.is_empty()).map(PathBuf::from)
}

/// Whether a file elsewhere records this session (trajectory 2.3).
fn is_recording_of(path: &Path, session: &str) -> bool {
    let Ok(file) = files::open(path) else { return false };
    let lines = BufReader::new(file.take(MAX_HEAD_BYTES)).lines().map_while(Result::ok);
    let first = lines.map(|line| line.trim().to_owned()).find(|line| !line.is_empty());
    let Some(line) = first.and_then(|line| js::parse(&line).ok()) else { return false };
    owned_text(line.get("traceSchema")).as_deref() == Some(SCHEMA)
        && owned_text(line.get("source")).as_deref() == Some("runtime")
        && matches_session(&line, session)
}

fn matches_session(value: &Value, session: &str) -> bool {
    let is_first = value.get("schemaVersion").and_then(Value::as_f64) == Some(1.0);
    is_first && owned_text(value.get("sessionId")).as_deref() == Some(session)
}
