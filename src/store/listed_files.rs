//! Lists the sessions of a store's files: those with a record, those without one, archives, and files that an import
//! moved aside.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::archive::{ArchiveName, FileKind, classify};
use super::contents::Store;
use super::database_info::DatabaseInfo;
use super::informal_archive_name;
use super::key::is_cron_run;
use super::locate::{TranscriptLocator, locate};
use super::location::Location;
use super::path_kind::PathKind;
use super::session::{Flag, Session};
use super::session_builder::{
    session_from_archive, session_from_moved_aside, session_from_orphan, session_from_record,
};
use super::session_records::load_records;
use super::sqlite::{self, Database, OpenError, SizeCache};
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::substitute::is_secret_file;

/// Folder of an agent to which an import moves the files that it read into a database (sqlite A6).
pub(super) const IMPORT_ARCHIVE: &str = "session-sqlite-import-archive";

pub(super) fn add_records(
    store: &mut Store,
    listings: &mut BTreeMap<PathBuf, DirListing>,
    agent: &str,
    file: &Path,
    ancient: &Path,
) {
    let loaded = load_records(file);
    store.diagnostics.extend(loaded.diagnostics);
    let dir = file.parent().unwrap_or(Path::new("/"));
    listings.entry(dir.to_path_buf()).or_insert_with(|| DirListing::read(dir));
    let place = TranscriptLocator::new(dir, agent, &store.state_dir, Some(ancient));
    for row in loaded.records {
        let located = locate(&row, &place);
        if located.is_none() {
            let what = "the row has neither a usable sessionId nor a usable sessionFile";
            let next = "clawscope lists the session without a transcript";
            store
                .diagnostics
                .push(Diagnostic::new(file, Severity::Warning, what, next).about(row.key.clone()));
        }
        store.sessions.push(session_from_record(row, agent, located));
    }
}

/// Drops the second key of a cron run where the first has the same transcript (store D4).
pub(super) fn drop_duplicate_runs(sessions: &mut Vec<Session>) {
    let twin = |session: &Session| is_cron_run(&session.key.0);
    let place = |session: &Session| (session.agent.clone(), session.path.clone());
    let runs: HashSet<_> = sessions.iter().filter(|s| twin(s)).map(place).collect();
    if runs.is_empty() {
        return;
    }
    let bases: HashSet<_> = sessions.iter().filter(|s| !twin(s)).map(place).collect();
    sessions.retain(|session| !twin(session) || !bases.contains(&place(session)));
    for session in sessions.iter_mut().filter(|s| !twin(s) && s.path.is_some()) {
        if runs.contains(&place(session)) {
            session.add_flag(Flag::DuplicateRun);
        }
    }
}

/// Adds transcripts without a record in any store, and archives (store G, F).
pub(super) fn add_unlisted(
    store: &mut Store,
    listings: &mut BTreeMap<PathBuf, DirListing>,
    dirs: &[(String, PathBuf)],
) {
    let mut folders = RealPathCache::default();
    // Sessions of a database have made-up paths.
    let in_files = store.sessions.iter().filter(|session| session.location.database().is_none());
    let paths = in_files.filter_map(|session| session.path.as_deref());
    let named: HashSet<PathBuf> = paths.map(|path| folders.real_path(path)).collect();
    for (agent, dir) in dirs {
        let listing = listings.entry(dir.clone()).or_insert_with(|| DirListing::read(dir));
        store.diagnostics.append(&mut listing.diagnostics);
        let mut is_free = |path: &PathBuf| {
            !named.contains(&folders.real_path(path)) && !path.is_dir() && !is_secret_file(path)
        };
        let orphans = listing.transcripts.iter().map(|name| dir.join(name)).filter(&mut is_free);
        store.sessions.extend(orphans.map(|path| session_from_orphan(&path, agent)));
        // The archives of a database may also exist as files.
        let known: HashSet<String> = store.sessions.iter().filter_map(published_archive_name).collect();
        let archives = listing.archives.iter().filter(|name| !known.contains(*name));
        let archives = archives.map(|name| dir.join(name)).filter(is_free);
        store.sessions.extend(archives.filter_map(|path| session_from_archive(&path, agent)));
    }
}

/// Adds the files that an import moved aside when it read an agent's files into its database (sqlite A6).
pub(super) fn add_moved_aside(store: &mut Store) {
    for agent in store.agents.clone() {
        let dir = store.state_dir.join("agents").join(&agent.id).join(IMPORT_ARCHIVE);
        let mut listing = DirListing::read(&dir);
        store.diagnostics.append(&mut listing.diagnostics);
        store.sessions.extend(
            listing.moved_aside.iter().map(|name| session_from_moved_aside(&dir.join(name), &agent.id)),
        );
    }
}

/// Returns the file name under which a database publishes this archive (sqlite C9).
fn published_archive_name(session: &Session) -> Option<String> {
    let in_database = matches!(session.location, Location::DatabaseArchive { .. });
    let name = session.path.as_deref().filter(|_| in_database)?.file_name()?.to_string_lossy().into_owned();
    name.rsplit_once('#').map(|(_, name)| name.to_owned())
}

/// Reports a path that exists but is not a readable transcript file.
pub(super) fn not_a_file_diagnostic(session: &Session) -> Option<Diagnostic> {
    let path = session
        .path
        .as_deref()
        .filter(|_| session.has_flag(Flag::Missing) && session.location == Location::File)?;
    let what = match path.symlink_metadata().ok()? {
        meta if meta.is_symlink() => "the link does not lead to a regular file",
        _ => "not a regular file",
    };
    let next = "put the transcript there; until then clawscope lists the session without one";
    Some(Diagnostic::new(path, Severity::Warning, what, next).about(session.key.0.clone()))
}

pub(super) fn mark_locked(sessions: &mut [Session], listings: &mut BTreeMap<PathBuf, DirListing>) {
    let may_be_locked =
        |session: &&mut Session| !session.is_archived() && session.location.database().is_none();
    for session in sessions.iter_mut().filter(may_be_locked) {
        let Some((dir, name)) =
            session.path.as_deref().and_then(|path| Some((path.parent()?, path.file_name()?)))
        else {
            continue;
        };
        let name = name.to_string_lossy().into_owned();
        let listing = listings.entry(dir.to_path_buf()).or_insert_with(|| DirListing::read(dir));
        if listing.locked_names.contains(&name) {
            session.add_flag(Flag::Locked);
        }
    }
}

pub(super) fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Resolved folders, each looked up once: a file that is not a link resolves to its folder's real path plus its name.
#[derive(Debug, Default)]
struct RealPathCache(HashMap<PathBuf, PathBuf>);

impl RealPathCache {
    /// Same as [`real_path`].
    fn real_path(&mut self, path: &Path) -> PathBuf {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return real_path(path) };
        match path.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => real_path(path),
            Ok(_) => match self.0.get(folder) {
                Some(known) => known.join(name),
                None => self.0.entry(folder.to_path_buf()).or_insert_with(|| real_path(folder)).join(name),
            },
            Err(_) => path.to_path_buf(),
        }
    }
}

// The file names in one sessions dir, sorted by kind (store F).

/// File names of a folder by kind, each list sorted.
#[derive(Debug, Default)]
pub(super) struct DirListing {
    pub(super) transcripts: Vec<String>,
    pub(super) archives: Vec<String>,
    /// Transcripts that an import into a database moved here.
    pub(super) moved_aside: Vec<String>,
    /// Names of files with a lock.
    pub(super) locked_names: HashSet<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl DirListing {
    /// Reads a folder. A missing one is empty; an unreadable one is a diagnostic.
    pub(super) fn read(dir: &Path) -> Self {
        let mut listing = Self::default();
        match std::fs::read_dir(dir) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    listing.add(entry.file_name().to_string_lossy().into_owned());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let what = format!("cannot list the folder: {error}");
                listing.diagnostics.push(Diagnostic::new(
                    dir,
                    Severity::Error,
                    what,
                    "check the folder's permissions",
                ));
            }
        }
        listing.transcripts.sort();
        listing.archives.sort();
        listing.moved_aside.sort();
        listing
    }

    fn add(&mut self, name: String) {
        match classify(&name) {
            FileKind::Transcript => self.transcripts.push(name),
            FileKind::Archive(archive) if is_transcript_archive(&name, archive) => self.archives.push(name),
            FileKind::Lock(locked) => drop(self.locked_names.insert(locked.to_owned())),
            FileKind::MovedAside(_) => self.moved_aside.push(name),
            FileKind::Archive(_) | FileKind::StoreFile | FileKind::Recording | FileKind::Other => {}
        }
    }
}

/// Whether an archive is a transcript's; a `sessions.json` has backups too.
fn is_transcript_archive(name: &str, archive: ArchiveName<'_>) -> bool {
    archive.original.contains(".jsonl") || informal_archive_name::parse(name).is_some()
}

/// Adds the sessions of databases, each found for an agent. A database without sessions serves another purpose.
pub(super) fn add_databases(store: &mut Store, files: &[(String, PathBuf)], sizes: &SizeCache) {
    for (agent, path) in files {
        match Database::open(path) {
            Ok(database) => add_database(store, agent, &database, sizes),
            Err(error) if is_worth_reporting(store, path) => {
                let finding = Diagnostic::new(path, Severity::Error, error.to_string(), error.next_step());
                store.diagnostics.push(finding);
                store.databases.push(DatabaseInfo { path: path.clone(), schema: None });
            }
            Err(_) if std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0) => {
                let what = "the database is empty (0 bytes): it contains no sessions";
                let next = "the gateway fills it when it starts; if it contained sessions before, restore it from a \
                     backup";
                store.diagnostics.push(Diagnostic::new(path, Severity::Warning, what, next));
            }
            Err(_) => store.diagnostics.extend(no_sessions_diagnostic(path)),
        }
    }
}

/// Returns a note that this database is from a release that keeps sessions in files, so that no one searches it for
/// them.
pub(super) fn no_sessions_diagnostic(path: &Path) -> Option<Diagnostic> {
    let version = sqlite::version_without_sessions(path)?;
    let what = format!(
        "contains no sessions: schema version {version} belongs to releases 2026.6.11 to 2026.7.35, which \
         keep sessions in files"
    );
    Some(Diagnostic::new(path, Severity::Note, what, sqlite::NO_SESSIONS_HINT))
}

/// Records databases whose sessions are not listed: their existence decides the version of the gateway, whichever part
/// of its store was named.
pub(super) fn note_databases(store: &mut Store, files: &[(String, PathBuf)]) {
    for (_, path) in files {
        let schema = Database::open(path).ok().map(|database| database.schema().clone());
        if schema.is_some()
            || is_worth_reporting(store, path) && path.metadata().is_ok_and(|meta| meta.len() > 0)
        {
            store.databases.push(DatabaseInfo { path: path.clone(), schema });
        }
    }
}

/// Whether to report a database that could not be opened: the user named it, or it holds sessions (sqlite A7). An
/// unreadable database counts as holding sessions, because silence would look like an empty store.
fn is_worth_reporting(store: &Store, path: &Path) -> bool {
    matches!(&store.path_kind, PathKind::Database(own) if own == path)
        || sqlite::has_sessions(path).unwrap_or(true)
}

fn add_database(store: &mut Store, agent: &str, database: &Database, sizes: &SizeCache) {
    let schema = database.schema();
    let owner = schema.agent.clone().unwrap_or_else(|| agent.to_owned());
    let mut note = |severity, what: String, next: &str| {
        store.diagnostics.push(Diagnostic::new(database.path(), severity, what, next));
    };
    if schema.is_older_than_known() {
        let what = format!("the database has the older schema version {}", schema.version);
        note(
            Severity::Note,
            what,
            "clawscope reads its tables like those of version 23; `openclaw doctor` migrates it",
        );
    }
    if database.is_immutable() {
        let what = "opened as an unchanging file, because clawscope may not write in its folder".to_owned();
        note(Severity::Note, what, "reload to see what a running gateway writes");
    }
    store.databases.push(DatabaseInfo { path: database.path().to_path_buf(), schema: Some(schema.clone()) });
    let added = sqlite::add_sessions(database, &owner, &mut store.sessions, &mut store.diagnostics, sizes);
    if let Err(error) = added.map_err(OpenError::from) {
        let finding = Diagnostic::new(database.path(), Severity::Error, error.to_string(), error.next_step());
        store.diagnostics.push(finding);
    }
}

/// Marks every file next to a database as imported or not.
pub(super) fn mark_leftovers_of_databases(store: &mut Store) {
    for holding in store.databases.clone() {
        let Some(agent) = holding.schema.as_ref().and_then(|schema| schema.agent.clone()) else { continue };
        // It opened a moment ago; if it no longer does, its files stay unmarked.
        let Ok(database) = Database::open(&holding.path) else { continue };
        sqlite::mark_leftovers(&database, &agent, &mut store.sessions, &mut store.diagnostics);
    }
}
