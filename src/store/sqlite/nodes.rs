//! The rows of a database as sessions: one for each key with its current transcript, one for each earlier transcript of a
//! key, and what deletions and resets left (sqlite C1, C2, C9, D).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow};

use super::open::Database;
use super::place::{artifact_dir, path_in};
use super::sizes::Sizes;
use crate::error::{Finding, Severity};
use crate::js::{self, Object, Value};
use crate::store::archive::{ArchiveReason, short_archive_name};
use crate::store::kept::Kept;
use crate::store::rows::Row;
use crate::store::session::{Flag, Session};
use crate::store::sessions::{named, of_key};

/// A row of `session_nodes`: the record as JSON, and the columns that are told beside it.
struct Node {
    key: String,
    session: String,
    json: String,
    updated_at: Option<i64>,
    last_activity: Option<i64>,
    last_interaction: Option<i64>,
    archived_at: Option<i64>,
    /// Projections of the record, by the record's own names.
    projected: [(&'static str, Option<String>); 3],
}

/// A row of `session_windows`.
struct Window {
    session: String,
    key: String,
    transcript_updated_at: Option<i64>,
    /// What the record of a key that points elsewhere would say, by the record's own names.
    facts: [(&'static str, Option<String>); 6],
}

/// A row of `session_transcript_archives`, without what it holds.
struct Archive {
    session: String,
    generation: String,
    key: String,
    reason: String,
    name: String,
    created_at: Option<i64>,
    bytes: u64,
}

/// What the transcript of a session takes.
#[derive(Default)]
struct Transcript {
    /// Bytes as lines.
    bytes: u64,
    /// Its cold archive, where it has one.
    cold: Option<Cold>,
}

/// Where a cold archive is.
enum Cold {
    /// In a file of this name.
    File(String),
    /// In the database.
    Inside,
}

/// Adds every session of a database; `agent` is the one that it was looked for. What is odd becomes a finding.
pub(in crate::store) fn add_sessions(
    database: &Database,
    agent: &str,
    sessions: &mut Vec<Session>,
    findings: &mut Vec<Finding>,
    sizes: &Sizes,
) -> rusqlite::Result<()> {
    let (nodes, windows, archives) = database.look(|at| {
        let nodes = nodes(at, database)?;
        let windows = windows(at, database)?;
        let with_size = |session: &str| transcript(at, database, session, sizes);
        let nodes = nodes.into_iter().map(|node| Ok((with_size(&node.session)?, node)));
        let nodes = nodes.collect::<rusqlite::Result<Vec<_>>>()?;
        let windows = windows.into_iter().map(|window| Ok((with_size(&window.session)?, window)));
        Ok((nodes, windows.collect::<rusqlite::Result<Vec<_>>>()?, archives(at, database)?))
    })?;
    let mut found = Found { database, agent, sessions, findings };
    let by_session: HashMap<&str, &Window> =
        windows.iter().map(|(_, window)| (window.session.as_str(), window)).collect();
    let current: HashSet<&str> = nodes.iter().map(|(_, node)| node.session.as_str()).collect();
    for (transcript, node) in &nodes {
        found.add_node(node, by_session.get(node.session.as_str()).copied(), transcript);
    }
    for (transcript, window) in
        windows.iter().filter(|(_, window)| !current.contains(window.session.as_str()))
    {
        found.add_window(window, transcript);
    }
    for archive in &archives {
        found.add_archive(archive);
    }
    Ok(())
}

struct Found<'a> {
    database: &'a Database,
    agent: &'a str,
    sessions: &'a mut Vec<Session>,
    findings: &'a mut Vec<Finding>,
}

impl Found<'_> {
    fn find(&mut self, key: &str, severity: Severity, what: String, next: &str) {
        self.findings.push(Finding::new(self.database.path(), severity, what, next).about(key));
    }

    /// A key with its current transcript.
    fn add_node(&mut self, node: &Node, window: Option<&Window>, transcript: &Transcript) {
        let raw = self.record(node);
        let times = [
            node.last_activity,
            node.last_interaction,
            window.and_then(|window| window.transcript_updated_at),
            node.updated_at,
        ];
        let mut row = Row::of_database(node.key.clone(), raw);
        row.updated_at = times.into_iter().flatten().max().map(|ms| ms as f64);
        let running = row.raw.get("status").is_some_and(|status| status.str_is("running"))
            || js::truthy(row.raw.get("activeWriterRunId"));
        let mut session = named(row, self.agent);
        session.id.clone_from(&node.session);
        if node.archived_at.is_some() {
            session.flag(Flag::Shelved);
        }
        if running {
            session.flag(Flag::Running);
        }
        if window.is_none() {
            let what = format!("the row's current session {} has no window", node.session);
            self.find(
                &node.key,
                Severity::Warning,
                what,
                "run `openclaw doctor`; its transcript is read all the same",
            );
        }
        let modified = times[2].or(node.updated_at);
        self.keep(session, &node.session, transcript, modified);
    }

    /// The record of a key; from its columns, where it is no JSON object.
    fn record(&mut self, node: &Node) -> Value {
        let why = match js::parse(&node.json) {
            Ok(value) if value.as_object().is_some() => {
                self.compare(node, &value);
                return value;
            }
            Ok(value) => format!("expected an object, found {}", value.kind_name()),
            Err(error) => error.to_string(),
        };
        let what = format!("its entry_json cannot be read: {why}");
        self.find(&node.key, Severity::Warning, what, "the session is listed from the columns beside it");
        let mut object = Object::from([("sessionId", Value::from(node.session.as_str()))]);
        for (name, value) in
            node.projected.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)))
        {
            object.set(name, Value::from(value));
        }
        Value::from(object)
    }

    /// The columns repeat what the record says; where they do not, the record counts (sqlite C1).
    fn compare(&mut self, node: &Node, record: &Value) {
        let said = |name: &str| record.get(name).and_then(Value::as_str).map(js::JsString::to_string_lossy);
        let session = ("sessionId", Some(node.session.clone()));
        for (name, column) in node.projected.iter().chain([&session]) {
            let Some((column, said)) =
                column.as_ref().zip(said(name)).filter(|(column, said)| **column != *said)
            else {
                continue;
            };
            let what = format!("its {name} is {said:?} in the record and {column:?} in the column beside it");
            self.find(
                &node.key,
                Severity::Note,
                what,
                "the record counts, except for which transcript is current",
            );
        }
    }

    /// A transcript that its key no longer points to (sqlite F10).
    fn add_window(&mut self, window: &Window, transcript: &Transcript) {
        let mut object = Object::from([("sessionId", Value::from(window.session.as_str()))]);
        for (name, value) in window.facts.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)))
        {
            object.set(name, Value::from(value));
        }
        let mut row = Row::of_database(window.key.clone(), Value::from(object));
        row.updated_at = window.transcript_updated_at.map(|ms| ms as f64);
        let mut session = named(row, self.agent);
        session.key.0 = format!("{} ({})", session.key, window.session);
        session.id.clone_from(&window.session);
        session.flag(Flag::Earlier);
        self.keep(session, &window.session, transcript, window.transcript_updated_at);
    }

    /// What a deletion or a reset left in the database.
    fn add_archive(&mut self, archive: &Archive) {
        let key = format!("agent:{}:{}", self.agent, short_archive_name(&archive.name));
        let mut session = of_key(key, self.agent.to_owned(), archive.session.clone());
        session.title = named(Row::of_database(archive.key.clone(), Value::Null), self.agent).title;
        let reason = if archive.reason == "reset" { ArchiveReason::Reset } else { ArchiveReason::Deleted };
        session.flag(Flag::Archived(reason));
        session.path = Some(path_in(self.database.path(), &archive.name));
        session.kept = Kept::Archive {
            database: self.database.path().to_path_buf(),
            session: archive.session.clone(),
            generation: archive.generation.clone(),
        };
        session.bytes = archive.bytes;
        session.modified_ms = archive.created_at;
        self.sessions.push(session);
    }

    /// Adds a session whose transcript is in the tables, or cold, or not there yet.
    fn keep(&mut self, mut session: Session, id: &str, transcript: &Transcript, modified_ms: Option<i64>) {
        let database = self.database.path();
        session.path = Some(path_in(database, id));
        session.kept = Kept::Rows { database: database.to_path_buf(), session: id.to_owned() };
        session.bytes = transcript.bytes;
        session.modified_ms = modified_ms;
        match &transcript.cold {
            None if transcript.bytes == 0 => session.flag(Flag::Missing),
            None => {}
            Some(Cold::Inside) => session.flag(Flag::Cold),
            Some(Cold::File(name)) => {
                session.flag(Flag::Cold);
                let file = cold_file(database, name);
                if !file.is_file() {
                    session.flag(Flag::Missing);
                    let what = "the cold archive of its transcript is not there: cold, unavailable";
                    let next = "put it back from a backup; the session is listed without its entries";
                    self.findings
                        .push(Finding::new(file, Severity::Warning, what, next).about(session.key.0.clone()));
                }
            }
        }
        self.sessions.push(session);
    }
}

fn cold_file(database: &Path, name: &str) -> std::path::PathBuf {
    artifact_dir(database).join("cold").join(name)
}

fn nodes(at: &Connection, database: &Database) -> rusqlite::Result<Vec<Node>> {
    let column = |name| database.column("session_nodes", "n", name);
    let ask = format!(
        "SELECT n.session_key, n.current_session_id, n.entry_json, n.updated_at, {}, {}, {}, {}, {}, {} \
         FROM session_nodes n ORDER BY n.updated_at DESC, n.session_key",
        column("last_activity_at"),
        column("last_interaction_at"),
        column("archived_at"),
        column("status"),
        column("label"),
        column("display_name"),
    );
    let node = |row: &SqlRow<'_>| {
        Ok(Node {
            key: row.get(0)?,
            session: row.get(1)?,
            json: row.get(2)?,
            updated_at: row.get(3)?,
            last_activity: row.get(4)?,
            last_interaction: row.get(5)?,
            archived_at: row.get(6)?,
            projected: [("status", row.get(7)?), ("label", row.get(8)?), ("displayName", row.get(9)?)],
        })
    };
    at.prepare(&ask)?.query_map([], node)?.collect()
}

fn windows(at: &Connection, database: &Database) -> rusqlite::Result<Vec<Window>> {
    const FACTS: [(&str, &str); 6] = [
        ("model", "model"),
        ("modelProvider", "model_provider"),
        ("chatType", "chat_type"),
        ("channel", "channel"),
        ("displayName", "display_name"),
        ("spawnedBy", "spawned_by"),
    ];
    let column = |name| database.column("session_windows", "w", name);
    let facts: Vec<String> = FACTS.iter().map(|(_, name)| column(name)).collect();
    let ask = format!(
        "SELECT w.session_id, w.session_key, {}, {} FROM session_windows w ORDER BY w.session_id",
        column("transcript_updated_at"),
        facts.join(", ")
    );
    let window = |row: &SqlRow<'_>| {
        let mut facts = FACTS.map(|(name, _)| (name, None));
        for (at, fact) in facts.iter_mut().enumerate() {
            fact.1 = row.get(3 + at)?;
        }
        Ok(Window { session: row.get(0)?, key: row.get(1)?, transcript_updated_at: row.get(2)?, facts })
    };
    at.prepare(&ask)?.query_map([], window)?.collect()
}

fn archives(at: &Connection, database: &Database) -> rusqlite::Result<Vec<Archive>> {
    if !database.has("session_transcript_archives", "") {
        return Ok(Vec::new());
    }
    let ask = "SELECT session_id, generation, session_key, reason, archive_name, created_at, octet_length(archive_blob) \
               FROM session_transcript_archives ORDER BY created_at DESC, session_id";
    let archive = |row: &SqlRow<'_>| {
        Ok(Archive {
            session: row.get(0)?,
            generation: row.get(1)?,
            key: row.get(2)?,
            reason: row.get(3)?,
            name: row.get(4)?,
            created_at: row.get(5)?,
            bytes: row.get(6)?,
        })
    };
    at.prepare(ask)?.query_map([], archive)?.collect()
}

/// What a transcript takes, as rows or in its cold archive.
fn transcript(
    at: &Connection,
    database: &Database,
    session: &str,
    sizes: &Sizes,
) -> rusqlite::Result<Transcript> {
    let bytes = sizes.bytes(at, database, session)?;
    if bytes > 0 || !database.has("session_transcript_cold_archives", "") {
        return Ok(Transcript { bytes, cold: None });
    }
    let ask = "SELECT raw_bytes, CASE WHEN storage = 'file' THEN archive_name END \
               FROM session_transcript_cold_archives WHERE session_id = ?1";
    let cold = |row: &SqlRow<'_>| {
        let name: Option<String> = row.get(1)?;
        Ok(Transcript { bytes: row.get(0)?, cold: Some(name.map_or(Cold::Inside, Cold::File)) })
    };
    Ok(at.query_row(ask, [session], cold).optional()?.unwrap_or_default())
}
