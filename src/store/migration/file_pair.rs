//! The outcome for one file of the check: its session in a database with the comparison, or the reason that it has none.

use std::path::PathBuf;

use super::compare::ImportComparison;

/// A file and its session in a database.
#[derive(Debug)]
pub struct FilePair {
    pub agent: String,
    /// Key of the session in the database.
    pub key: String,
    pub session_id: String,
    pub file: PathBuf,
    pub database: PathBuf,
    /// Whether the import moved the file aside.
    pub is_moved_aside: bool,
    /// Fails when the file or the rows cannot be read.
    pub comparison: std::io::Result<ImportComparison>,
}

/// A file without a session in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedFile {
    pub agent: String,
    /// Session id, from the rows in the same folder or from the file.
    pub session_id: String,
    pub file: PathBuf,
    pub reason: UnmatchedReason,
}

/// Reason why a file has no session in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmatchedReason {
    /// No row of a session names the file; the import of 2026.8 moves such a file aside without importing it.
    SetAside,
    /// The agent has no database: nothing was imported.
    NoDatabase,
    /// An import moved the file aside, but its database does not exist.
    DatabaseGone,
    /// The agent's database cannot be read.
    Unreadable,
    /// The database lacks the session.
    Lost,
}

impl UnmatchedReason {
    /// Returns the word for JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetAside => "set-aside",
            Self::NoDatabase => "no-database",
            Self::DatabaseGone => "database-gone",
            Self::Unreadable => "unreadable",
            Self::Lost => "lost",
        }
    }

    /// Whether the session is lost, according to the database.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::DatabaseGone | Self::Lost)
    }
}
