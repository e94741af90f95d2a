//! Files that lie beside a database from before its gateway took transcripts into it: those whose entries are in it, and
//! those whose are not (sqlite A6, A7).

use std::fs::File;
use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::archives::cold_lines;
use super::open::Database;
use crate::error::{Finding, Severity};
use crate::js::{self, Value};
use crate::store::archive::{FileKind, classify};
use crate::store::header::read_header;
use crate::store::kept::Kept;
use crate::store::session::{Flag, Session, short_stem};

/// How far before its end the last entry of a file is looked for, in bytes.
const TAIL_BYTES: u64 = 1 << 20;

/// Marks the files of an agent whose sessions are in a database: each as taken into it, or as history that is not. `agent`
/// owns the database.
pub(in crate::store) fn mark_leftovers(
    database: &Database,
    agent: &str,
    sessions: &mut [Session],
    findings: &mut Vec<Finding>,
) {
    let left = sessions.iter_mut().filter(|session| {
        session.agent == agent
            && session.kept == Kept::File
            && !session.archived()
            && !session.has(Flag::Missing)
    });
    for session in left {
        let Some(path) = session.path.clone() else { continue };
        // What no row of a file names is told by what the database knows of it.
        session.flags.retain(|flag| ![Flag::Orphan, Flag::Imported].contains(flag));
        match missing_from(database, &path) {
            Ok(None) => session.flag(Flag::Imported),
            Ok(Some(what)) => {
                session.flag(Flag::NotImported);
                let what = format!("history on disk that is not in the database: {what}");
                let next =
                    "it is listed here as it is; `openclaw doctor --session-sqlite import` takes it in";
                findings.push(Finding::new(path, Severity::Warning, what, next).about(session.key.0.clone()));
            }
            Err(error) => {
                let what = format!("cannot be compared with the database: {error}");
                let next = "it is listed here beside what the database holds";
                findings.push(Finding::new(path, Severity::Warning, what, next).about(session.key.0.clone()));
            }
        }
    }
}

/// What of a file is not in the database; none where its last entry is. Transcripts only grow, so what stands before that
/// is there too.
fn missing_from(database: &Database, path: &Path) -> io::Result<Option<String>> {
    let Some(header) = read_header(path) else {
        return Ok(Some("a file without a session header".to_owned()));
    };
    let place_of =
        |session: &str| database.look(|at| place_of(at, database, session)).map_err(io::Error::other);
    let (mut session, mut place) = (header.id.clone(), place_of(&header.id)?);
    // An import goes by the id of the row, after which the file is named, whatever its header says.
    if let (Place::Nowhere, Some(named)) = (&place, named_session(path)) {
        (place, session) = (place_of(&named)?, named);
    }
    if matches!(place, Place::Nowhere) {
        session = header.id;
    }
    let last = last_id(path)?;
    let holds = match (place, &last) {
        (Place::Nowhere, _) => return Ok(Some(format!("no row knows session {session}"))),
        // A file of the first version has no ids to compare, and what was deleted there was there.
        (Place::Deleted, _) | (_, None) => true,
        (Place::Hot, Some(id)) => {
            database.look(|at| holds_entry(at, database, &session, id)).map_err(io::Error::other)?
        }
        (Place::Cold, Some(id)) => match cold_lines(database, &session)? {
            Some((mut lines, _)) => {
                lines.rewind()?;
                io::BufReader::new(lines)
                    .lines()
                    .any(|line| line.is_ok_and(|line| id_of(&line).as_ref() == Some(id)))
            }
            None => false,
        },
    };
    let last = last.unwrap_or_default();
    Ok((!holds).then(|| format!("session {session} is there, but not its entry {last}")))
}

/// The session that a file is named after, without what an import put around the name.
fn named_session(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let original = match classify(&name) {
        FileKind::MovedAside(original) => original,
        _ => &name,
    };
    original.strip_suffix(".jsonl").map(|stem| short_stem(stem).to_owned())
}

/// Where the transcript of a session is.
enum Place {
    /// In the tables.
    Hot,
    /// In a cold archive.
    Cold,
    /// In what a deletion or a reset left.
    Deleted,
    /// Not in this database.
    Nowhere,
}

fn place_of(at: &Connection, database: &Database, session: &str) -> rusqlite::Result<Place> {
    let there = |table: &str| -> rusqlite::Result<bool> {
        if !database.has(table, "session_id") {
            return Ok(false);
        }
        let ask = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE session_id = ?1)");
        at.query_row(&ask, [session], |row| row.get(0))
    };
    Ok(match () {
        () if there("transcript_events")? => Place::Hot,
        () if there("session_transcript_cold_archives")? => Place::Cold,
        () if there("session_transcript_archives")? => Place::Deleted,
        () => Place::Nowhere,
    })
}

fn holds_entry(at: &Connection, database: &Database, session: &str, id: &str) -> rusqlite::Result<bool> {
    let ask = if database.has("transcript_event_identities", "event_id") {
        "SELECT 1 FROM transcript_event_identities WHERE session_id = ?1 AND event_id = ?2"
    } else {
        "SELECT 1 FROM transcript_events WHERE session_id = ?1 AND event_json ->> '$.id' = ?2 LIMIT 1"
    };
    Ok(at.query_row(ask, params![session, id], |_| Ok(())).optional()?.is_some())
}

/// The id of the last line of a file that has one; none where no line near its end does.
fn last_id(path: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let text = String::from_utf8_lossy(&tail);
    Ok(text.lines().rev().find_map(id_of))
}

fn id_of(line: &str) -> Option<String> {
    let value = js::parse(line).ok()?;
    value.get("id").and_then(Value::as_str).map(js::JsString::to_string_lossy)
}
