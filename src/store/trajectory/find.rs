//! From a transcript to the recording of its runs (trajectory 2).

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::lines::SCHEMA;
use super::text;
use crate::gateway::secrets::is_secret_file;
use crate::js::{self, Value};

const POINTER_SCHEMA: &str = "openclaw-trajectory-pointer";
/// Bytes of a pointer, and of a first line, that are read.
const MAX_HEAD: u64 = 1 << 20;

/// Where the recording of a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Here.
    Readable(PathBuf),
    /// A pointer names this place, where nothing of the session can be read.
    Elsewhere(PathBuf),
    /// Nothing tells of one: an older release, switched off, or removed.
    Missing,
}

/// The recording of the session in a transcript: beside it, else where its pointer leads, else under the pointer's file name
/// beside it (trajectory 2.3).
pub fn find(transcript: &Path, session: &str) -> Found {
    let name = transcript.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".jsonl").unwrap_or(&name);
    let beside = transcript.with_file_name(format!("{stem}.trajectory.jsonl"));
    if holds_something(&beside) {
        return Found::Readable(beside);
    }
    let pointer = transcript.with_file_name(format!("{stem}.trajectory-path.json"));
    let Some(target) = target_of(&pointer, session) else { return Found::Missing };
    let moved = target.file_name().map(|name| transcript.with_file_name(name));
    let places = [Some(target.clone()), moved];
    let found = places.into_iter().flatten().find(|path| holds_something(path) && is_of(path, session));
    found.map_or(Found::Elsewhere(target), Found::Readable)
}

fn holds_something(path: &Path) -> bool {
    !is_secret_file(path) && path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0)
}

/// The place that a pointer of this session names.
fn target_of(pointer: &Path, session: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    File::open(pointer)
        .ok()
        .filter(|_| holds_something(pointer))?
        .take(MAX_HEAD)
        .read_to_end(&mut bytes)
        .ok()?;
    let value = js::parse(&String::from_utf8_lossy(&bytes)).ok()?;
    let is_own = text(value.get("traceSchema")).as_deref() == Some(POINTER_SCHEMA) && fits(&value, session);
    text(value.get("runtimeFile")).filter(|path| is_own && !path.is_empty()).map(PathBuf::from)
}

/// A file that only a pointer names is one of this session (trajectory 2.3).
fn is_of(path: &Path, session: &str) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let lines = BufReader::new(file.take(MAX_HEAD)).lines().map_while(Result::ok);
    let first = lines.map(|line| line.trim().to_owned()).find(|line| !line.is_empty());
    let Some(line) = first.and_then(|line| js::parse(&line).ok()) else { return false };
    text(line.get("traceSchema")).as_deref() == Some(SCHEMA)
        && text(line.get("source")).as_deref() == Some("runtime")
        && fits(&line, session)
}

fn fits(value: &Value, session: &str) -> bool {
    let is_first = value.get("schemaVersion").and_then(Value::as_f64) == Some(1.0);
    is_first && text(value.get("sessionId")).as_deref() == Some(session)
}
