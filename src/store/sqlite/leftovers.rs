//! Files next to a database, from before the gateway moved transcripts into it: decides for each whether the database
//! holds its entries (sqlite A6, A7).

use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::archives::cold_lines;
use super::open::Database;
use crate::diagnostic::{Diagnostic, Severity};
use crate::files;
use crate::js::{self, Value};
use crate::store::archive::{FileKind, classify};
use crate::store::location::Location;
use crate::store::session::{Flag, Session, short_stem};
use crate::store::session_builder::read_header;

/// Bytes before the end of a file that are searched for its last entry.
const TAIL_BYTES: u64 = 1 << 20;

/// Marks the files of `agent`, the database's owner, as imported or as history that the database lacks.
pub(in crate::store) fn mark_leftovers(
    database: &Database,
    agent: &str,
    sessions: &mut [Session],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let left = sessions.iter_mut().filter(|session| {
        session.agent == agent
            && session.location == Location::File
            && !session.is_archived()
            && !session.has_flag(Flag::Missing)
    });
    for session in left {
        let Some(path) = session.path.clone() else { continue };
        // The database decides about these files, not the records next to them.
        session.flags.retain(|flag| ![Flag::Orphan, Flag::Imported].contains(flag));
        match find_missing(database, &path) {
            Ok(None) => session.add_flag(Flag::Imported),
            Ok(Some(what)) => {
                session.add_flag(Flag::NotImported);
                let what = format!("the file contains history that is not in the database: {what}");
                let next = "`openclaw doctor --session-sqlite import` imports it; until then clawscope lists the \
                     file itself";
                diagnostics
                    .push(Diagnostic::new(path, Severity::Warning, what, next).about(session.key.0.clone()));
            }
            Err(error) => {
                let what = format!("cannot compare the file with the database: {error}");
                let next = "clawscope lists it in addition to the sessions of the database";
                diagnostics
                    .push(Diagnostic::new(path, Severity::Warning, what, next).about(session.key.0.clone()));
            }
        }
    }
}

/// Describes the part of a file that the database lacks; `None` when it holds the last entry. Transcripts only grow, so
/// the entries before it are there too.
fn find_missing(database: &Database, path: &Path) -> io::Result<Option<String>> {
    let Some(header) = read_header(path) else {
        return Ok(Some("the file has no session header".to_owned()));
    };
    let place_of = |session: &str| {
        database.with_transaction(|at| transcript_state(at, database, session)).map_err(io::Error::other)
    };
    let (mut session, mut place) = (header.id.clone(), place_of(&header.id)?);
    // An import uses the id in the row, after which the file is named, with any id in its header.
    if let (TranscriptState::Nowhere, Some(named)) = (&place, session_id_from_name(path)) {
        (place, session) = (place_of(&named)?, named);
    }
    if matches!(place, TranscriptState::Nowhere) {
        session = header.id;
    }
    let last = last_entry_id(path)?;
    let holds = match (place, &last) {
        (TranscriptState::Nowhere, _) => return Ok(Some(format!("no row has session {session}"))),
        // A version 1 file has no ids to compare, and a deleted transcript was in the database.
        (TranscriptState::Deleted, _) | (_, None) => true,
        (TranscriptState::Hot, Some(id)) => {
            database.with_transaction(|at| has_entry(at, database, &session, id)).map_err(io::Error::other)?
        }
        (TranscriptState::Cold, Some(id)) => match cold_lines(database, &session)? {
            Some((mut lines, _)) => {
                lines.rewind()?;
                io::BufReader::new(lines)
                    .lines()
                    .any(|line| line.is_ok_and(|line| entry_id(&line).as_ref() == Some(id)))
            }
            None => false,
        },
    };
    let last = last.unwrap_or_default();
    Ok((!holds).then(|| format!("session {session} lacks entry {last}")))
}

/// Returns the session id in a file name, without the parts that an import added.
fn session_id_from_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let original = match classify(&name) {
        FileKind::MovedAside(original) => original,
        _ => &name,
    };
    original.strip_suffix(".jsonl").map(|stem| short_stem(stem).to_owned())
}

enum TranscriptState {
    Hot,
    Cold,
    /// In the archive of a deletion or a reset.
    Deleted,
    Nowhere,
}

fn transcript_state(
    at: &Connection,
    database: &Database,
    session: &str,
) -> rusqlite::Result<TranscriptState> {
    let there = |table: &str| -> rusqlite::Result<bool> {
        if !database.has_column(table, "session_id") {
            return Ok(false);
        }
        let ask = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE session_id = ?1)");
        at.query_row(&ask, [session], |row| row.get(0))
    };
    Ok(match () {
        () if there("transcript_events")? => TranscriptState::Hot,
        () if there("session_transcript_cold_archives")? => TranscriptState::Cold,
        () if there("session_transcript_archives")? => TranscriptState::Deleted,
        () => TranscriptState::Nowhere,
    })
}

fn has_entry(at: &Connection, database: &Database, session: &str, id: &str) -> rusqlite::Result<bool> {
    let ask = if database.has_column("transcript_event_identities", "event_id") {
        "SELECT 1 FROM transcript_event_identities WHERE session_id = ?1 AND event_id = ?2"
    } else {
        "SELECT 1 FROM transcript_events WHERE session_id = ?1 AND event_json ->> '$.id' = ?2 LIMIT 1"
    };
    Ok(at.query_row(ask, params![session, id], |_| Ok(())).optional()?.is_some())
}

/// Returns the id of the last line that has one; `None` when no line near the end has.
fn last_entry_id(path: &Path) -> io::Result<Option<String>> {
    let mut file = files::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let text = String::from_utf8_lossy(&tail);
    Ok(text.lines().rev().find_map(entry_id))
}

fn entry_id(line: &str) -> Option<String> {
    let value = js::parse(line).ok()?;
    value.get("id").and_then(Value::as_str).map(js::JsString::to_string_lossy)
}
