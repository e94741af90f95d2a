//! The lines of a recording. The index keeps everything except `data`, which is read on demand, because recordings are
//! several times as long as their transcripts.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem;
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension as _, Row};

use super::owned_text;
use crate::files;
use crate::js::{self, Value};
use crate::store::source::Source;
use crate::store::sqlite::{Database, item_path};

/// Limit for reading; the recorder stops at 50 MiB.
const MAX_BYTES: u64 = 64 << 20;
/// Bytes at the start of a line that contain its type.
const HEAD_BYTES: usize = 1024;
/// Schema name in every line.
pub(super) const SCHEMA: &str = "openclaw-trajectory";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEvent {
    /// `session.started`, `context.compiled`, …; unknown kinds are kept.
    pub kind: String,
    /// Line number, from 1; for database rows `seq` + 1.
    pub line: u64,
    /// ISO time, as written.
    pub time: String,
    pub run_id: String,
    pub session_id: String,
    pub provider: Option<String>,
    pub model: Option<String>,
    offset: u64,
    bytes: usize,
}

#[derive(Debug)]
pub struct Recording {
    pub location: RecordingLocation,
    /// In file order.
    pub events: Vec<RecordedEvent>,
    /// Numbers of lines that are not events, from 1; the last one may be half written.
    pub bad_lines: Vec<u64>,
}

impl Recording {
    /// Reads all lines of a recording.
    pub fn read(place: &RecordingLocation) -> io::Result<Self> {
        Self::read_matching(place, |_| true)
    }

    /// Reads the lines of one kind and parses no others.
    pub(super) fn read_kind(place: &RecordingLocation, kind: &str) -> io::Result<Self> {
        let mark = format!("\"type\":\"{kind}\"");
        Self::read_matching(place, |line| {
            memmem::find(&line[..line.len().min(HEAD_BYTES)], mark.as_bytes()).is_some()
        })
    }

    fn read_matching(place: &RecordingLocation, is_wanted: impl Fn(&[u8]) -> bool) -> io::Result<Self> {
        let mut recording = Self { location: place.clone(), events: Vec::new(), bad_lines: Vec::new() };
        let mut add = |line: u64, at: u64, bytes: &[u8]| {
            if !bytes.iter().all(u8::is_ascii_whitespace) && is_wanted(bytes) {
                match parse_event(&String::from_utf8_lossy(bytes), line, at, bytes.len()) {
                    Some(event) => recording.events.push(event),
                    None => recording.bad_lines.push(line),
                }
            }
        };
        match place {
            RecordingLocation::File(path) => for_each_line(path, add)?,
            RecordingLocation::DatabaseRows(database, session) => {
                for_each_row(database, session, |seq, bytes| {
                    let seq = u64::try_from(seq).unwrap_or(0);
                    add(seq.saturating_add(1), seq, bytes);
                })?;
            }
        }
        Ok(recording)
    }

    /// Reads the `data` of an event; `None` when the recording changed meanwhile.
    pub fn data(&self, event: &RecordedEvent) -> Option<Value> {
        let bytes = match &self.location {
            RecordingLocation::File(path) => {
                Source::open(path).ok()?.read_span(event.offset, event.bytes).ok()?
            }
            RecordingLocation::DatabaseRows(database, session) => {
                read_row(database, session, i64::try_from(event.offset).ok()?)?
            }
        };
        let line = js::parse(String::from_utf8_lossy(&bytes).trim()).ok()?;
        line.get("data").cloned()
    }
}

/// Calls `take` for each line of a file with its number from 1, its byte offset and its bytes.
fn for_each_line(path: &Path, mut take: impl FnMut(u64, u64, &[u8])) -> io::Result<()> {
    let mut reader = BufReader::new(files::open(path)?.take(MAX_BYTES));
    let (mut bytes, mut at, mut line) = (Vec::new(), 0_u64, 0);
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        line += 1;
        take(line, at, &bytes);
        at += bytes.len() as u64;
        bytes.clear();
    }
    Ok(())
}

/// Parses a line; `data` is validated and skipped.
fn parse_event(line: &str, number: u64, at: u64, bytes: usize) -> Option<RecordedEvent> {
    let line = line.trim();
    let fields = js::fields(line).ok()?;
    let value = |name: &str| {
        let field = fields.iter().rfind(|field| field.key.eq_str(name))?;
        js::parse(&line[field.value.clone()]).ok()
    };
    let text = |name: &str| owned_text(value(name).as_ref());
    text("traceSchema").filter(|schema| schema == SCHEMA)?;
    Some(RecordedEvent {
        kind: text("type")?,
        line: number,
        time: text("ts").unwrap_or_default(),
        run_id: text("runId").unwrap_or_default(),
        session_id: text("sessionId").unwrap_or_default(),
        provider: text("provider"),
        model: text("modelId"),
        offset: at,
        bytes,
    })
}

#[derive(Debug, Clone)]
pub enum RecordingLocation {
    File(PathBuf),
    /// Rows of an agent's database with the session id (trajectory 2.5).
    DatabaseRows(Arc<Database>, String),
}

impl fmt::Display for RecordingLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::DatabaseRows(database, session) => item_path(database.path(), session).display().fmt(f),
        }
    }
}

impl PartialEq for RecordingLocation {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(own), Self::File(other)) => own == other,
            (Self::DatabaseRows(own, id), Self::DatabaseRows(other, other_id)) => {
                own.path() == other.path() && id == other_id
            }
            _ => false,
        }
    }
}

pub(super) fn has_rows(database: &Database, session: &str) -> bool {
    let ask = "SELECT EXISTS (SELECT 1 FROM trajectory_runtime_events WHERE session_id = ?1)";
    database.has_column("trajectory_runtime_events", "event_json")
        && database
            .with_transaction(|at| at.prepare_cached(ask)?.query_row([session], |row| row.get(0)))
            .unwrap_or(false)
}

/// Calls `take` with `seq` and text of each event of a session, in order.
fn for_each_row(database: &Database, session: &str, mut take: impl FnMut(i64, &[u8])) -> io::Result<()> {
    let ask = "SELECT seq, event_json FROM trajectory_runtime_events WHERE session_id = ?1 ORDER BY seq";
    let read = database.with_transaction(|at| {
        let mut statement = at.prepare(ask)?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            take(row.get(0)?, column_text(row, 1)?);
        }
        Ok(())
    });
    read.map_err(io::Error::other)
}

/// Returns the text of one event; `None` when it was removed meanwhile.
fn read_row(database: &Database, session: &str, seq: i64) -> Option<Vec<u8>> {
    let ask = "SELECT event_json FROM trajectory_runtime_events WHERE session_id = ?1 AND seq = ?2";
    let read = database.with_transaction(|at| {
        at.query_row(ask, (session, seq), |row| column_text(row, 0).map(<[u8]>::to_vec)).optional()
    });
    read.ok().flatten()
}

/// Returns the bytes of a text or blob column; empty for other types.
fn column_text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    })
}
