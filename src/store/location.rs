//! Storage of a session's entries: its own file, a packed file, rows of a database or an archive in one.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::source::Source;
use super::sqlite::{self, Database, Events};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Location {
    /// Its own transcript.
    #[default]
    File,
    /// Transcript that was packed when it was archived (sqlite E5).
    PackedFile,
    /// Rows of a database, or the cold archive to which they were moved (sqlite E1, E4).
    DatabaseRows { database: PathBuf, session_id: String },
    /// Archive of a deletion or a reset, in a database (sqlite C9).
    DatabaseArchive {
        database: PathBuf,
        session_id: String,
        /// Generation of the archived history.
        generation: String,
    },
}

impl Location {
    /// Returns the database that holds the entries; `None` for files.
    pub fn database(&self) -> Option<&Path> {
        match self {
            Self::File | Self::PackedFile => None,
            Self::DatabaseRows { database, .. } | Self::DatabaseArchive { database, .. } => Some(database),
        }
    }

    /// Opens the entries. `path` is the session's path for display, and the file to open unless a database holds the
    /// entries. `known` is an earlier source of the same session, whose rows are reused while they are valid.
    pub fn open(&self, path: &Path, known: Option<&Source>) -> io::Result<Source> {
        let unpacked =
            |(file, identity)| Source::Unpacked { path: path.into(), file: Arc::new(file), identity };
        match self {
            Self::File => Source::open(path),
            Self::PackedFile => {
                let identity = super::source::file_identity(&std::fs::metadata(path)?);
                Ok(unpacked((sqlite::unpack_file(path)?, identity)))
            }
            Self::DatabaseRows { database, session_id: session } => {
                let known = known.and_then(Source::events).filter(|known| known.path() == path);
                let database = open_database(database, known)?;
                let events = Events::read(&database, session, known).map_err(io::Error::other)?;
                if !events.is_empty() {
                    return Ok(Source::DatabaseRows(Arc::new(events)));
                }
                let cold = sqlite::cold_lines(&database, session)?;
                Ok(cold.map_or_else(|| Source::DatabaseRows(Arc::new(events)), unpacked))
            }
            Self::DatabaseArchive { database, session_id: session, generation } => {
                let database = open_database(database, None)?;
                Ok(unpacked(sqlite::unpack_archive(&database, session, generation)?))
            }
        }
    }
}

/// Age at which a shared snapshot ends.
const MAX_SNAPSHOT_AGE: Duration = Duration::from_millis(5);

thread_local! {
    /// The connection that this thread opened last. A list opens one database once for each session, and opening reads
    /// its whole schema.
    static LAST_OPENED: RefCell<Option<Arc<Database>>> = const { RefCell::new(None) };
    /// Whether a [`SharedSnapshots`] of this thread exists.
    static SHARES_SNAPSHOTS: Cell<bool> = const { Cell::new(false) };
}

/// While it exists, the transcripts that this thread opens in a database share snapshots of a few milliseconds: the
/// locks of its own transactions cost more than a short transcript.
#[derive(Debug)]
pub struct SharedSnapshots(());

impl SharedSnapshots {
    pub fn on_this_thread() -> Self {
        SHARES_SNAPSHOTS.set(true);
        Self(())
    }

    /// Ends a snapshot that is old enough: call it after each transcript (sqlite H6).
    pub fn end_old(&self) {
        Self::end_older_than(MAX_SNAPSHOT_AGE);
    }

    fn end_older_than(age: Duration) {
        LAST_OPENED.with_borrow(|last| last.iter().for_each(|last| last.end_snapshot(age)));
    }
}

impl Drop for SharedSnapshots {
    fn drop(&mut self) {
        SHARES_SNAPSHOTS.set(false);
        Self::end_older_than(Duration::ZERO);
    }
}

/// Returns the connection of an earlier source, or this thread's last one, while it reads what is at the path; else a new
/// one (sqlite H8).
fn open_database(path: &Path, known: Option<&Events>) -> io::Result<Arc<Database>> {
    let is_valid = |database: &Arc<Database>| database.path() == path && database.is_current();
    if let Some(database) = known.map(Events::database).filter(|database| is_valid(database)) {
        return Ok(Arc::clone(database));
    }
    let last = LAST_OPENED.with_borrow(Clone::clone).filter(is_valid);
    let database = match last {
        Some(last) => last,
        None => Arc::new(Database::open(path).map_err(io::Error::other)?),
    };
    keep_last(&database);
    if SHARES_SNAPSHOTS.get() {
        database.begin_snapshot();
    }
    Ok(database)
}

/// Replaces this thread's last connection, whose snapshot ends if it is another one.
fn keep_last(database: &Arc<Database>) {
    let before = LAST_OPENED.replace(Some(Arc::clone(database)));
    if let Some(before) = before.filter(|before| !Arc::ptr_eq(database, before)) {
        before.end_snapshot(Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::testing::TestStore;

    #[test]
    fn a_shared_snapshot_ends_by_its_age_and_with_its_owner() {
        let made = TestStore::new();
        made.add_session("agent:main:main", "s1", &["{}"]);
        let location = Location::DatabaseRows { database: made.database(), session_id: "s1".to_owned() };
        let bytes = || location.open(Path::new("s1"), None).unwrap().len().unwrap();
        let shared = SharedSnapshots::on_this_thread();
        assert_eq!(bytes(), 3);
        made.add_event("s1", 1, "{}");
        assert_eq!(bytes(), 3, "it reads what it began with");
        SharedSnapshots::end_older_than(Duration::ZERO);
        assert_eq!(bytes(), 6);
        drop(shared);
        made.add_event("s1", 2, "{}");
        assert_eq!(bytes(), 9);
    }
}
