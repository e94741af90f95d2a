//! Where the entries of a session are kept, and how they are opened: a file of its own, a packed file, rows of a database
//! or an archive in one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::source::Source;
use super::sqlite::{self, Database, Events};

/// Where the entries of a session are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Location {
    /// In a transcript of its own.
    #[default]
    File,
    /// In a transcript that was packed when it was put aside (sqlite E5).
    PackedFile,
    /// In a database, under this session id: as rows, or in a cold archive that those were moved to (sqlite E1, E4).
    DatabaseRows {
        /// The database.
        database: PathBuf,
        /// The session id.
        session_id: String,
    },
    /// In a database, as a deletion or a reset left it (sqlite C9).
    DatabaseArchive {
        /// The database.
        database: PathBuf,
        /// The session id.
        session_id: String,
        /// The generation of the history that was put aside.
        generation: String,
    },
}

impl Location {
    /// The database it is in, where it is in one.
    pub fn database(&self) -> Option<&Path> {
        match self {
            Self::File | Self::PackedFile => None,
            Self::DatabaseRows { database, .. } | Self::DatabaseArchive { database, .. } => Some(database),
        }
    }

    /// Opens it. `path` is what it goes by; `known` is an earlier look at the same session, of which nothing is read again
    /// that still holds.
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

/// The connection of an earlier look while the same file lies there, else a new one (sqlite H8).
fn open_database(path: &Path, known: Option<&Events>) -> io::Result<Arc<Database>> {
    match known.map(Events::database) {
        Some(database) if !database.is_immutable() && !database.is_replaced() => Ok(Arc::clone(database)),
        _ => Database::open(path).map(Arc::new).map_err(io::Error::other),
    }
}
