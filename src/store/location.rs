//! Storage of a session's entries: its own file, a packed file, rows of a database or an archive in one.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

thread_local! {
    /// The connection that this thread opened last. A list opens one database once for each session, and opening reads
    /// its whole schema.
    static LAST_OPENED: RefCell<Option<Arc<Database>>> = const { RefCell::new(None) };
}

/// Returns the connection of an earlier source, or this thread's last one, while it reads what is at the path; else a new
/// one (sqlite H8).
fn open_database(path: &Path, known: Option<&Events>) -> io::Result<Arc<Database>> {
    let is_valid = |database: &Arc<Database>| database.path() == path && database.is_current();
    if let Some(database) = known.map(Events::database).filter(|database| is_valid(database)) {
        return Ok(Arc::clone(database));
    }
    if let Some(database) = LAST_OPENED.take().filter(is_valid) {
        LAST_OPENED.set(Some(Arc::clone(&database)));
        return Ok(database);
    }
    let database = Database::open(path).map(Arc::new).map_err(io::Error::other)?;
    LAST_OPENED.set(Some(Arc::clone(&database)));
    Ok(database)
}
