//! Where the entries of a session are kept, and how they are opened: a file of its own, a packed file, rows of a database
//! or an archive in one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::source::Source;
use super::sqlite::{self, Database, Events};

/// Where the entries of a session are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Kept {
    /// In a transcript of its own.
    #[default]
    File,
    /// In a transcript that was packed when it was put aside (sqlite E5).
    Packed,
    /// In a database, under this session id: as rows, or in a cold archive that those were moved to (sqlite E1, E4).
    Rows {
        /// The database.
        database: PathBuf,
        /// The session id.
        session: String,
    },
    /// In a database, as a deletion or a reset left it (sqlite C9).
    Archive {
        /// The database.
        database: PathBuf,
        /// The session id.
        session: String,
        /// The generation of the history that was put aside.
        generation: String,
    },
}

impl Kept {
    /// The database it is in, where it is in one.
    pub fn database(&self) -> Option<&Path> {
        match self {
            Self::File | Self::Packed => None,
            Self::Rows { database, .. } | Self::Archive { database, .. } => Some(database),
        }
    }

    /// Opens it. `path` is what it goes by; `known` is an earlier look at the same session, of which nothing is read again
    /// that still holds.
    pub fn open(&self, path: &Path, known: Option<&Source>) -> io::Result<Source> {
        let unpacked =
            |(file, identity)| Source::Unpacked { path: path.into(), file: Arc::new(file), identity };
        match self {
            Self::File => Source::open(path),
            Self::Packed => {
                let identity = super::source::identity(&std::fs::metadata(path)?);
                Ok(unpacked((sqlite::unpacked_file(path)?, identity)))
            }
            Self::Rows { database, session } => {
                let known = known.and_then(Source::events).filter(|known| known.path() == path);
                let database = opened(database, known)?;
                let events = Events::read(&database, session, known).map_err(io::Error::other)?;
                if !events.is_empty() {
                    return Ok(Source::Rows(Arc::new(events)));
                }
                let cold = sqlite::cold_lines(&database, session)?;
                Ok(cold.map_or_else(|| Source::Rows(Arc::new(events)), unpacked))
            }
            Self::Archive { database, session, generation } => {
                let database = opened(database, None)?;
                Ok(unpacked(sqlite::unpacked_archive(&database, session, generation)?))
            }
        }
    }
}

/// The connection of an earlier look while the same file lies there, else a new one (sqlite H8).
fn opened(path: &Path, known: Option<&Events>) -> io::Result<Arc<Database>> {
    match known.map(Events::database) {
        Some(database) if !database.is_still() && !database.is_replaced() => Ok(Arc::clone(database)),
        _ => Database::open(path).map(Arc::new).map_err(io::Error::other),
    }
}
