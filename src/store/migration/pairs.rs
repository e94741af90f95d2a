//! Pairs each file with its session in a database, and lists the files and sessions without a partner.
//!
//! A file may be named after its session, after the key and the session, or after neither. So the rows in the same
//! folder decide first, then its name, then its header.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::compare::{ImportComparison, compare};
use crate::gateway::secrets::is_secret_file;
use crate::store::archive::{FileKind, classify, imported_name};
use crate::store::discovery::{DatabaseInfo, Store};
use crate::store::header::read_header;
use crate::store::location::Location;
use crate::store::session::{Flag, Session, short_stem};
use crate::store::session_records::load_records;
use crate::store::source::Source;
use crate::store::sqlite::Schema;

/// Name prefix that the import of 2026.8 gives to files that no row of a session names.
const SET_ASIDE_PREFIX: &str = "archive-tier.";

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

#[derive(Default)]
pub(super) struct FilePairs<'a> {
    pub pairs: Vec<PairCandidate<'a>>,
    pub alone: Vec<UnmatchedFile>,
    pub without_file: u64,
    pub archives: u64,
}

/// A file and the session as which it was imported.
pub(super) struct PairCandidate<'a> {
    file: PathBuf,
    session: &'a Session,
    is_moved_aside: bool,
}

impl PairCandidate<'_> {
    pub(super) fn compare(self) -> FilePair {
        let Self { file, session, is_moved_aside: is_put_away } = self;
        let path = session.path.as_deref().unwrap_or(Path::new(""));
        let sources = Source::open(&file).and_then(|file| Ok((file, session.location.open(path, None)?)));
        let result = sources.and_then(|(file, rows)| compare(&session.id, &file, &rows, !is_put_away));
        let (comparison, error) = match result {
            Ok(comparison) => (Some(comparison), None),
            Err(error) => (None, Some(error.to_string())),
        };
        FilePair {
            agent: session.agent.clone(),
            key: session.key.0.clone(),
            session: session.id.clone(),
            file: file.to_string_lossy().into_owned(),
            database: session.location.database().unwrap_or(Path::new("")).to_string_lossy().into_owned(),
            put_away: is_put_away,
            error,
            comparison,
        }
    }
}

pub(super) fn find_pairs(store: &Store) -> FilePairs<'_> {
    let mut finder = PairFinder {
        stored: stored_sessions(store),
        store,
        names_by_folder: HashMap::new(),
        file_pairs: FilePairs::default(),
    };
    let mut seen = HashSet::new();
    for session in store
        .sessions
        .iter()
        .filter(|session| session.location == Location::File && !session.has_flag(Flag::Missing))
    {
        let Some(path) = session.path.as_deref().filter(|path| !is_secret_file(path)) else { continue };
        if session.is_archived() {
            finder.file_pairs.archives += 1;
        } else if seen.insert(path) {
            finder.add(path, session);
        }
    }
    let paired: HashSet<&Path> =
        finder.file_pairs.pairs.iter().filter_map(|pair| pair.session.path.as_deref()).collect();
    let has_file = |session: &&Session| session.path.as_deref().is_some_and(|path| paired.contains(path));
    let without = finder
        .stored
        .values()
        .flatten()
        .filter(|session| !has_file(session) && !session.has_flag(Flag::Missing))
        .count();
    finder.file_pairs.without_file = without as u64;
    finder.file_pairs
}

/// Maps the session ids in databases to their sessions; with both rows and an archive in one database, the rows win.
fn stored_sessions(store: &Store) -> HashMap<&str, Vec<&Session>> {
    let mut stored: HashMap<&str, Vec<&Session>> = HashMap::new();
    for session in store.sessions.iter().filter(|session| session.location.database().is_some()) {
        let own = stored.entry(session.id.as_str()).or_default();
        let has_rows =
            matches!(session.location, Location::DatabaseRows { .. }) && !session.has_flag(Flag::Missing);
        match own.iter_mut().find(|other| other.location.database() == session.location.database()) {
            Some(slot) if has_rows => *slot = session,
            Some(_) => {}
            None => own.push(session),
        }
    }
    stored
}

struct PairFinder<'a> {
    store: &'a Store,
    stored: HashMap<&'a str, Vec<&'a Session>>,
    /// File names and session ids from the rows in the same folder as a file, by folder.
    names_by_folder: HashMap<PathBuf, Vec<(String, String)>>,
    file_pairs: FilePairs<'a>,
}

impl<'a> PairFinder<'a> {
    fn add(&mut self, path: &'a Path, file: &'a Session) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_put_away = matches!(classify(&name), FileKind::MovedAside(_));
        let original = imported_name(&name).unwrap_or(&name).to_owned();
        let named = self.ids_named_by_records(path, &original);
        let mut sessions: Vec<_> = named.iter().filter_map(|id| self.find_session(&file.agent, id)).collect();
        if sessions.is_empty() {
            sessions.extend(self.session_by_name(path, &original, &file.agent));
        }
        if sessions.is_empty() {
            let why = self.unmatched_reason(&file.agent, &name, is_put_away);
            let session = named.into_iter().next().unwrap_or_else(|| file.id.clone());
            self.file_pairs.alone.push(UnmatchedFile {
                agent: file.agent.clone(),
                session,
                file: path.to_string_lossy().into_owned(),
                why,
            });
        }
        let pair = |session| PairCandidate { file: path.to_owned(), session, is_moved_aside: is_put_away };
        self.file_pairs.pairs.extend(sessions.into_iter().map(pair));
    }

    /// Returns the session that a file's name contains, else the one in its header.
    fn session_by_name(&self, path: &Path, original: &str, agent: &str) -> Option<&'a Session> {
        let stem = original.strip_suffix(".jsonl").unwrap_or(original);
        // An import puts the key in front of the name.
        let last = stem.rsplit('.').next().unwrap_or(stem);
        let by_name = [stem, last].into_iter().find_map(|stem| self.find_session(agent, short_stem(stem)));
        by_name.or_else(|| self.find_session(agent, &read_header(path)?.id))
    }

    /// Finds the session with this id in a database of the agent, or in one that agents share.
    fn find_session(&self, agent: &str, id: &str) -> Option<&'a Session> {
        let owns = |session: &&&Session| {
            let own = |holding: &&DatabaseInfo| session.location.database() == Some(holding.path.as_path());
            let schema = self.store.databases.iter().find(own).and_then(|holding| holding.schema.as_ref());
            schema.is_some_and(|schema| belongs_to_agent(schema, agent))
        };
        let sessions = self.stored.get(id)?;
        sessions.iter().find(owns).or_else(|| sessions.iter().find(|session| session.agent == agent)).copied()
    }

    /// Returns the ids under which rows name a file; they count more than the file's own name and header.
    fn ids_named_by_records(&mut self, path: &Path, original: &str) -> Vec<String> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let rows =
            self.names_by_folder.entry(folder.to_path_buf()).or_insert_with(|| read_record_names(folder));
        let is_own = |name: &str| {
            let ends = |name: &str| original == name || original.ends_with(&format!(".{name}"));
            ends(name) || ends(&import_archive_name(name))
        };
        let mut ids: Vec<String> =
            rows.iter().filter(|(name, _)| is_own(name)).map(|(_, id)| id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    fn unmatched_reason(&self, agent: &str, name: &str, is_put_away: bool) -> UnmatchedReason {
        let of_agent = |path: &Path| path.ancestors().nth(2).is_some_and(|dir| dir.ends_with(agent));
        let databases = &self.store.databases;
        let readable = databases
            .iter()
            .any(|it| it.schema.as_ref().is_some_and(|schema| belongs_to_agent(schema, agent)));
        let unreadable = databases.iter().any(|it| it.schema.is_none() && of_agent(&it.path));
        match () {
            () if readable && name.starts_with(SET_ASIDE_PREFIX) => UnmatchedReason::SetAside,
            () if readable => UnmatchedReason::Lost,
            () if unreadable => UnmatchedReason::Unreadable,
            () if is_put_away => UnmatchedReason::DatabaseGone,
            () => UnmatchedReason::NoDatabase,
        }
    }
}

/// Returns the name that an import gives to a file that it moves aside: plain characters, limited length.
fn import_archive_name(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
    let mut plain = String::new();
    for char in name.chars() {
        if is_plain(char) {
            plain.push(char);
        } else if !plain.ends_with('\u{0}') {
            plain.push('\u{0}');
        }
    }
    plain.replace('\u{0}', "_").chars().take(160).collect()
}

/// Whether a database belongs to the agent; one without an owner belongs to all.
fn belongs_to_agent(schema: &Schema, agent: &str) -> bool {
    schema.agent.as_deref().is_none_or(|own| own == agent)
}

/// Reads file names with session ids from the rows in a folder: those in use, and those that an import moved aside.
fn read_record_names(folder: &Path) -> Vec<(String, String)> {
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = items.map(|item| item.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == "sessions.json" || imported_name(&name).is_some_and(|name| name.ends_with("sessions.json"))
    });
    let rows = files.flat_map(|path| load_records(&path).records);
    let named = |row: crate::store::session_records::SessionRecord| {
        let id = row.session_id?;
        let file = row.session_file.unwrap_or_else(|| format!("{id}.jsonl"));
        let name = file.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        (!name.is_empty()).then_some((name, id))
    };
    rows.filter_map(named).collect()
}
