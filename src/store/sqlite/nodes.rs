//! Sessions of a database: one per key with its current transcript, one per earlier transcript of a key, and the
//! archives of deletions and resets (sqlite C1, C2, C9, D).

use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Row as SqlRow};

use super::open::Database;
use super::paths::{artifact_dir, item_path};
use super::records::record_column;
use super::size_cache::{ColdLocation, SizeCache, TranscriptSize, TranscriptSizes};
use crate::diagnostic::{Diagnostic, Severity};
use crate::format::format_size;
use crate::js::{self, Object, Value};
use crate::store::archive::{ArchiveReason, short_archive_name};
use crate::store::limits::MAX_LINE_BYTES;
use crate::store::location::Location;
use crate::store::session::{Flag, Session};
use crate::store::session_builder::{archived_from_key, unlocated_from_record};
use crate::store::session_records::SessionRecord;
use crate::units::{Bytes, Moment};

/// Row of `session_nodes`: the record as JSON, and the other columns.
struct SessionNode {
    key: String,
    session_id: String,
    /// `None` when it is too long to be read.
    json: Option<String>,
    updated_at: Option<i64>,
    last_activity: Option<i64>,
    last_interaction: Option<i64>,
    archived_at: Option<i64>,
    /// Columns that repeat record fields, by the record's names.
    projected_columns: [(&'static str, Option<String>); 3],
    /// Whether `session_windows` has the current session.
    has_window: bool,
    transcript_updated_at: Option<i64>,
}

/// Row of `session_windows` that its key no longer refers to.
struct SessionWindow {
    session_id: String,
    key: String,
    transcript_updated_at: Option<i64>,
    /// Record fields, by the record's names.
    record_fields: [(&'static str, Option<String>); 6],
}

/// Row of `session_transcript_archives`, without its content.
struct ArchiveRow {
    session_id: String,
    generation: String,
    key: String,
    reason: String,
    name: String,
    created_at: Option<i64>,
    bytes: Bytes,
}

/// Rows of which one thread builds the sessions.
const BLOCK: usize = 512;
/// Blocks that wait for a thread, so that memory does not hold a large table twice.
const MAX_WAITING: usize = 8;

/// Adds every session of a database; `agent` is the one that the caller expects there. Anything unusual becomes a
/// diagnostic.
pub(in crate::store) fn add_sessions(
    database: &Database,
    agent: &str,
    sessions: &mut Vec<Session>,
    diagnostics: &mut Vec<Diagnostic>,
    sizes: &SizeCache,
) -> rusqlite::Result<()> {
    let found = database.with_transaction(|at| {
        let mut found = SessionCollector::new(database, agent);
        let (nodes, reader) = build_nodes(at, &found, sizes)?;
        for BuiltNode { session, diagnostics, .. } in nodes {
            found.diagnostics.extend(diagnostics);
            let transcript = reader.read(&session.id)?;
            found.add_session(session, &transcript);
        }
        for window in read_earlier_windows(at, database)? {
            found.add_window(&window, &reader.read(&window.session_id)?);
        }
        for archive in &read_archives(at, database)? {
            found.add_archive(archive);
        }
        Ok(found)
    })?;
    sessions.extend(found.sessions);
    diagnostics.extend(found.diagnostics);
    Ok(())
}

/// The session of a key, without the size of its transcript.
struct BuiltNode {
    updated_at: Option<i64>,
    session: Session,
    diagnostics: Vec<Diagnostic>,
}

/// Builds the sessions of the keys, the newest first. While this thread reads rows and sizes, others build.
fn build_nodes<'a>(
    at: &'a Connection,
    found: &SessionCollector<'a>,
    sizes: &SizeCache,
) -> rusqlite::Result<(Vec<BuiltNode>, TranscriptSizes<'a>)> {
    let (built, waiting) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let (built_blocks, waiting_blocks) = (&built, &waiting);
    let build = move |nodes: Vec<SessionNode>| {
        let nodes: Vec<_> = nodes.iter().map(|node| found.build_node(node)).collect();
        built_blocks.lock().unwrap_or_else(PoisonError::into_inner).extend(nodes);
    };
    let sizes = rayon::in_place_scope(|scope| {
        read_nodes(at, found.database, |nodes| {
            if waiting_blocks.load(Ordering::Relaxed) >= MAX_WAITING {
                return build(nodes);
            }
            waiting_blocks.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move |_| {
                build(nodes);
                waiting_blocks.fetch_sub(1, Ordering::Relaxed);
            });
        })?;
        TranscriptSizes::new(at, found.database, sizes)
    })?;
    let mut nodes = built.into_inner().unwrap_or_else(PoisonError::into_inner);
    let key = |session: &Session| session.record.as_ref().map(|record| record.key.clone());
    nodes.sort_by_cached_key(|node| (Reverse(node.updated_at), key(&node.session)));
    Ok((nodes, sizes))
}

struct SessionCollector<'a> {
    database: &'a Database,
    agent: &'a str,
    sessions: Vec<Session>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> SessionCollector<'a> {
    fn new(database: &'a Database, agent: &'a str) -> Self {
        Self { database, agent, sessions: Vec::new(), diagnostics: Vec::new() }
    }

    fn add_diagnostic(&mut self, key: &str, severity: Severity, what: String, next: &str) {
        self.diagnostics.push(Diagnostic::new(self.database.path(), severity, what, next).about(key));
    }

    /// Builds a key with its current transcript.
    fn build_node(&self, node: &SessionNode) -> BuiltNode {
        let mut own = Self::new(self.database, self.agent);
        let session = own.session_of(node);
        BuiltNode { updated_at: node.updated_at, session, diagnostics: own.diagnostics }
    }

    fn session_of(&mut self, node: &SessionNode) -> Session {
        let parsed = self.parse_record(node);
        let (raw, text) = match parsed {
            Some(raw) => (raw, node.json.as_deref()),
            None => (record_from_columns(node), None),
        };
        let is_interrupted = raw.get("abortedLastRun") == Some(&Value::Bool(true));
        let running = raw.get("status").is_some_and(|status| status.str_is("running")) && !is_interrupted;
        let times = [node.last_activity, node.last_interaction, node.transcript_updated_at, node.updated_at];
        let mut row = SessionRecord::from_database(node.key.clone(), raw, text);
        row.updated_at = times.into_iter().flatten().max().map(Moment::from_whole);
        let mut session = unlocated_from_record(row, self.agent);
        session.id.clone_from(&node.session_id);
        if node.archived_at.is_some() {
            session.add_flag(Flag::MarkedArchived);
        }
        if running {
            session.add_flag(Flag::Running);
        }
        if !node.has_window {
            let what = format!("the row's current session {} has no row in session_windows", node.session_id);
            self.add_diagnostic(
                &node.key,
                Severity::Warning,
                what,
                "run `openclaw doctor`; clawscope reads the transcript anyway",
            );
        }
        session.modified_ms = node.transcript_updated_at.or(node.updated_at).map(Moment::from_whole);
        self.locate(session)
    }

    /// Parses the record of a key; `None` when the JSON is not an object.
    fn parse_record(&mut self, node: &SessionNode) -> Option<Value> {
        let why = match node.json.as_deref().map(js::parse) {
            None => format!("it is longer than the limit of {}", format_size(MAX_LINE_BYTES)),
            Some(Ok(value)) if value.as_object().is_some() => {
                self.check_columns(node, &value);
                return Some(value);
            }
            Some(Ok(value)) => format!("expected an object, found {}", value.kind_name()),
            Some(Err(error)) => error.to_string(),
        };
        let what = format!("cannot read entry_json: {why}");
        self.add_diagnostic(
            &node.key,
            Severity::Warning,
            what,
            "clawscope lists the session from the other columns of the row",
        );
        None
    }

    /// Reports columns that disagree with the record; the record counts (sqlite C1).
    fn check_columns(&mut self, node: &SessionNode, record: &Value) {
        let message =
            |name: &str| record.get(name).and_then(Value::as_str).map(js::JsString::to_string_lossy);
        let session = ("sessionId", Some(node.session_id.clone()));
        for (name, column) in node.projected_columns.iter().chain([&session]) {
            let Some((column, message)) =
                column.as_ref().zip(message(name)).filter(|(column, message)| **column != *message)
            else {
                continue;
            };
            let what = format!("{name} differs: {message:?} in entry_json, {column:?} in the column");
            self.add_diagnostic(
                &node.key,
                Severity::Note,
                what,
                "clawscope uses entry_json, but finds the current transcript by the column",
            );
        }
    }

    /// Adds a transcript that its key no longer refers to (sqlite F10).
    fn add_window(&mut self, window: &SessionWindow, transcript: &TranscriptSize) {
        let mut object = Object::from([("sessionId", Value::from(window.session_id.as_str()))]);
        for (name, value) in
            window.record_fields.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)))
        {
            object.set(name, Value::from(value));
        }
        let mut row = SessionRecord::from_database(window.key.clone(), Value::from(object), None);
        row.updated_at = window.transcript_updated_at.map(Moment::from_whole);
        let mut session = unlocated_from_record(row, self.agent);
        session.key.0 = format!("{} ({})", session.key, window.session_id);
        session.id.clone_from(&window.session_id);
        session.add_flag(Flag::Superseded);
        session.modified_ms = window.transcript_updated_at.map(Moment::from_whole);
        self.add_session(self.locate(session), transcript);
    }

    /// Adds the archive of a deletion or a reset.
    fn add_archive(&mut self, archive: &ArchiveRow) {
        let key = format!("agent:{}:{}", self.agent, short_archive_name(&archive.name));
        let mut session = archived_from_key(key, self.agent.to_owned(), archive.session_id.clone());
        session.title = unlocated_from_record(
            SessionRecord::from_database(archive.key.clone(), Value::Null, None),
            self.agent,
        )
        .title;
        let reason = if archive.reason == "reset" { ArchiveReason::Reset } else { ArchiveReason::Deleted };
        session.add_flag(Flag::Archived(reason));
        session.path = Some(item_path(self.database.path(), &archive.name));
        session.location = Location::DatabaseArchive {
            database: self.database.path().to_path_buf(),
            session_id: archive.session_id.clone(),
            generation: archive.generation.clone(),
        };
        session.bytes = archive.bytes;
        session.modified_ms = archive.created_at.map(Moment::from_whole);
        self.sessions.push(session);
    }

    /// Locates the transcript of a session.
    fn locate(&self, session: Session) -> Session {
        let database = self.database.path();
        let location =
            Location::DatabaseRows { database: database.to_path_buf(), session_id: session.id.clone() };
        Session { path: Some(item_path(database, &session.id)), location, ..session }
    }

    /// Adds a session whose transcript is in the tables, in a cold archive, or does not exist yet.
    fn add_session(&mut self, mut session: Session, transcript: &TranscriptSize) {
        let database = self.database.path();
        session.bytes = transcript.bytes;
        match &transcript.cold {
            None if transcript.bytes == Bytes::ZERO => session.add_flag(Flag::Missing),
            None => {}
            Some(ColdLocation::InDatabase) => session.add_flag(Flag::Cold),
            Some(ColdLocation::File(name)) => {
                session.add_flag(Flag::Cold);
                let file = cold_file(database, name);
                if !file.is_file() {
                    session.add_flag(Flag::Missing);
                    let what = "cold, unavailable: the archive of its transcript does not exist";
                    let next = "restore it from a backup; until then clawscope lists the session without its \
                         entries";
                    self.diagnostics.push(
                        Diagnostic::new(file, Severity::Warning, what, next).about(session.key.0.clone()),
                    );
                }
            }
        }
        self.sessions.push(session);
    }
}

/// Builds a record from the columns that repeat its members.
fn record_from_columns(node: &SessionNode) -> Value {
    let mut object = Object::from([("sessionId", Value::from(node.session_id.as_str()))]);
    for (name, value) in
        node.projected_columns.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)))
    {
        object.set(name, Value::from(value));
    }
    Value::from(object)
}

fn cold_file(database: &Path, name: &str) -> std::path::PathBuf {
    artifact_dir(database).join("cold").join(name)
}

/// Reads the keys in any order, and gives them to `add` in blocks: SQLite would sort them with their records.
fn read_nodes(
    at: &Connection,
    database: &Database,
    mut add: impl FnMut(Vec<SessionNode>),
) -> rusqlite::Result<()> {
    let mut statement = at.prepare(&nodes_query(database))?;
    let mut nodes = statement.query_map([], node_from_row)?;
    loop {
        let block = nodes.by_ref().take(BLOCK).collect::<rusqlite::Result<Vec<_>>>()?;
        if block.is_empty() {
            return Ok(());
        }
        add(block);
    }
}

fn nodes_query(database: &Database) -> String {
    let column = |name| database.column_or_null("session_nodes", "n", name);
    format!(
        "SELECT n.session_key, n.current_session_id, {}, n.updated_at, {}, {}, {}, {}, {}, {}, \
         w.session_id IS NOT NULL, {} FROM session_nodes n LEFT JOIN session_windows w \
         ON w.session_id = n.current_session_id",
        record_column(),
        column("last_activity_at"),
        column("last_interaction_at"),
        column("archived_at"),
        column("status"),
        column("label"),
        column("display_name"),
        database.column_or_null("session_windows", "w", "transcript_updated_at"),
    )
}

fn node_from_row(row: &SqlRow<'_>) -> rusqlite::Result<SessionNode> {
    Ok(SessionNode {
        key: row.get(0)?,
        session_id: row.get(1)?,
        json: row.get(2)?,
        updated_at: row.get(3)?,
        last_activity: row.get(4)?,
        last_interaction: row.get(5)?,
        archived_at: row.get(6)?,
        projected_columns: [("status", row.get(7)?), ("label", row.get(8)?), ("displayName", row.get(9)?)],
        has_window: row.get(10)?,
        transcript_updated_at: row.get(11)?,
    })
}

/// Reads the windows that their key no longer refers to.
fn read_earlier_windows(at: &Connection, database: &Database) -> rusqlite::Result<Vec<SessionWindow>> {
    const FACTS: [(&str, &str); 6] = [
        ("model", "model"),
        ("modelProvider", "model_provider"),
        ("chatType", "chat_type"),
        ("channel", "channel"),
        ("displayName", "display_name"),
        ("spawnedBy", "spawned_by"),
    ];
    let column = |name| database.column_or_null("session_windows", "w", name);
    let facts: Vec<String> = FACTS.iter().map(|(_, name)| column(name)).collect();
    let ask = format!(
        "SELECT w.session_id, w.session_key, {}, {} FROM session_windows w \
         WHERE w.session_id NOT IN (SELECT current_session_id FROM session_nodes) ORDER BY w.session_id",
        column("transcript_updated_at"),
        facts.join(", ")
    );
    let window = |row: &SqlRow<'_>| {
        let mut facts = FACTS.map(|(name, _)| (name, None));
        for (at, fact) in facts.iter_mut().enumerate() {
            fact.1 = row.get(3 + at)?;
        }
        Ok(SessionWindow {
            session_id: row.get(0)?,
            key: row.get(1)?,
            transcript_updated_at: row.get(2)?,
            record_fields: facts,
        })
    };
    at.prepare(&ask)?.query_map([], window)?.collect()
}

fn read_archives(at: &Connection, database: &Database) -> rusqlite::Result<Vec<ArchiveRow>> {
    if !database.has_column("session_transcript_archives", "") {
        return Ok(Vec::new());
    }
    let ask = "SELECT session_id, generation, session_key, reason, archive_name, created_at, octet_length(archive_blob) \
               FROM session_transcript_archives ORDER BY created_at DESC, session_id";
    let archive = |row: &SqlRow<'_>| {
        Ok(ArchiveRow {
            session_id: row.get(0)?,
            generation: row.get(1)?,
            key: row.get(2)?,
            reason: row.get(3)?,
            name: row.get(4)?,
            created_at: row.get(5)?,
            bytes: Bytes(row.get(6)?),
        })
    };
    at.prepare(ask)?.query_map([], archive)?.collect()
}
