//! Pairs each file with its session in a database, and lists the files and sessions without a partner.
//!
//! A file may be named after its session, after the key and the session, or after neither.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::compare::{ImportComparison, compare};
use crate::gateway::substitute::is_secret_file;
use crate::store::archive::{FileKind, classify, imported_name};
use crate::store::discovery::Store;
use crate::store::location::Location;
use crate::store::session::{Flag, Session, short_stem};
use crate::store::source::Source;
use crate::store::sqlite::Schema;

/// Name prefix that the import of 2026.8 gives to files that no row of a session names.
const SET_ASIDE_PREFIX: &str = "archive-tier.";

/// Result of the check of a whole store.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Migration {
    /// Files with their sessions, in the store's order.
    pub pairs: Vec<FilePair>,
    /// Files without a session, in the store's order.
    pub alone: Vec<UnmatchedFile>,
    /// Number of sessions in databases without a file.
    pub without_file: u64,
    /// Number of transcripts that were reset or deleted before an import; imports skip those.
    pub archives: u64,
}

/// A file and its session in a database.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilePair {
    pub agent: String,
    /// Key of the session in the database.
    pub key: String,
    /// The id of the session.
    pub session: String,
    pub file: String,
    pub database: String,
    /// Whether the import moved the file aside.
    pub put_away: bool,
    /// The reason that the pair was not compared; it then has no member after this one.
    pub error: Option<String>,
    #[serde(flatten)]
    pub comparison: Option<ImportComparison>,
}

/// A file without a session in a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnmatchedFile {
    pub agent: String,
    /// Session id, from the rows in the same folder or from the file.
    pub session: String,
    pub file: String,
    pub why: UnmatchedReason,
}

/// Reason why a file has no session in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnmatchedReason {
    /// The database lacks the session.
    Lost,
    /// An import moved the file aside, but its database does not exist.
    DatabaseGone,
    /// The agent's database cannot be read.
    Unreadable,
    /// No row of a session names the file; the import of 2026.8 moves such a file aside without importing it.
    SetAside,
    /// The agent has no database: nothing was imported.
    NoDatabase,
}

impl UnmatchedReason {
    /// Whether the session is lost, according to the database.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::DatabaseGone | Self::Lost)
    }
}

/// Compares a file with the session as which it was imported.
fn compare_pair((file, session, put_away): (&Path, &Session, bool)) -> FilePair {
    let path = session.path.as_deref().unwrap_or(Path::new(""));
    let sources = Source::open(file).and_then(|file| Ok((file, session.location.open(path, None)?)));
    let result = sources.and_then(|(file, rows)| compare(&session.id, &file, &rows, !put_away));
    FilePair {
        agent: session.agent.clone(),
        key: session.key.0.clone(),
        session: session.id.clone(),
        file: file.to_string_lossy().into_owned(),
        database: session.location.database().unwrap_or(Path::new("")).to_string_lossy().into_owned(),
        put_away,
        error: result.as_ref().err().map(ToString::to_string),
        comparison: result.ok(),
    }
}

/// Compares every transcript of a store with its import.
pub fn check_import(store: &Store) -> Migration {
    let stored = stored_sessions(store);
    let (mut migration, mut pairs, mut seen) = (Migration::default(), Vec::new(), HashSet::new());
    let files = store.sessions.iter().filter(|session| session.location == Location::File);
    for file in files.filter(|session| !session.has_flag(Flag::Missing)) {
        let Some(path) = file.path.as_deref().filter(|path| !is_secret_file(path)) else { continue };
        if file.is_archived() {
            migration.archives += 1;
            continue;
        } else if !seen.insert(path) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_moved_aside = matches!(classify(&name), FileKind::MovedAside(_));
        if let Some(session) = find_session(&stored, file, imported_name(&name).unwrap_or(&name)) {
            pairs.push((path, session, is_moved_aside));
        } else {
            let why = unmatched_reason(store, &file.agent, &name, is_moved_aside);
            let (agent, session) = (file.agent.clone(), file.id.clone());
            let file = path.to_string_lossy().into_owned();
            migration.alone.push(UnmatchedFile { agent, session, file, why });
        }
    }
    let paired: HashSet<_> = pairs.iter().filter_map(|(_, session, _)| session.path.as_deref()).collect();
    let is_alone = |session: &&&Session| {
        !session.has_flag(Flag::Missing) && session.path.as_deref().is_none_or(|path| !paired.contains(path))
    };
    migration.without_file = stored.values().filter(is_alone).count() as u64;
    migration.pairs = pairs.into_par_iter().map(compare_pair).collect();
    migration
}

type StoredSessions<'a> = HashMap<(&'a str, &'a str), &'a Session>;

/// Maps the agents that own databases and the ids in them to sessions; with both rows and an archive, the rows win.
fn stored_sessions(store: &Store) -> StoredSessions<'_> {
    let mut stored = HashMap::new();
    for session in store.sessions.iter().filter(|session| session.location.database().is_some()) {
        let database = store.databases.iter().find(|it| session.location.database() == Some(&it.path));
        let owner = database.and_then(|it| it.schema.as_ref()?.agent.as_deref()).unwrap_or(&session.agent);
        let id = (owner, session.id.as_str());
        let has_rows = matches!(session.location, Location::DatabaseRows { .. });
        if has_rows && !session.has_flag(Flag::Missing) || !stored.contains_key(&id) {
            stored.insert(id, session);
        }
    }
    stored
}

/// Returns the session as which a file was imported: the one that its record, its name or its header names, else the one
/// with the key that an import put in front of the name.
fn find_session<'a>(stored: &StoredSessions<'a>, file: &Session, name: &str) -> Option<&'a Session> {
    let stem = name.strip_suffix(".jsonl").unwrap_or(name);
    let last = stem.rsplit('.').next().unwrap_or(stem);
    let record = file.record.as_ref().map(|_| file.id.as_str());
    let mut ids = record.into_iter().chain([stem, last].map(short_stem)).chain([file.id.as_str()]);
    let by_id = ids.find_map(|id| stored.get(&(file.agent.as_str(), id)));
    let has_key =
        |session: &&&Session| name.starts_with(&format!("{}.", import_archive_name(&session.key.0)));
    by_id.or_else(|| stored.values().filter(has_key).find(|it| !it.has_flag(Flag::Superseded))).copied()
}

fn unmatched_reason(store: &Store, agent: &str, name: &str, is_moved_aside: bool) -> UnmatchedReason {
    let is_of_agent = |schema: &Schema| schema.agent.as_deref().is_none_or(|own| own == agent);
    let is_near = |path: &Path| path.ancestors().nth(2).is_some_and(|dir| dir.ends_with(agent));
    let mut databases = store.databases.iter();
    let is_readable = databases.clone().any(|it| it.schema.as_ref().is_some_and(is_of_agent));
    match () {
        () if is_readable && name.starts_with(SET_ASIDE_PREFIX) => UnmatchedReason::SetAside,
        () if is_readable => UnmatchedReason::Lost,
        () if databases.any(|it| it.schema.is_none() && is_near(&it.path)) => UnmatchedReason::Unreadable,
        () if is_moved_aside => UnmatchedReason::DatabaseGone,
        () => UnmatchedReason::NoDatabase,
    }
}

/// Returns a key or a file name with the characters that an import leaves in it.
fn import_archive_name(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
    name.split(|char| !is_plain(char)).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}
