//! Whether an import of transcripts into a database kept them: every file that an import took, or should have taken, is
//! compared with its session in the database (sqlite A6, E).

mod compare;
mod dead_branches;
mod differences;
mod importer;
mod known_rewrites;
mod line_record;
mod matching;
mod pairs;

use std::path::PathBuf;

use rayon::prelude::*;

pub use compare::{ImportComparison, ImportFault, ImportFaultKind};
pub use differences::{EntryDifference, ValueSummary};

use crate::store::discovery::Store;
use pairs::FilePairs;

/// What was compared, and what could not be.
#[derive(Debug, Default)]
pub struct Migration {
    /// Files with their sessions, in the order of the store.
    pub pairs: Vec<FilePair>,
    /// Files that stand alone, in the same order.
    pub unmatched: Vec<UnmatchedFile>,
    /// Sessions in databases that no file is left of.
    pub without_file: u64,
    /// Transcripts that were reset or deleted before an import, which takes none of those.
    pub archives: u64,
}

/// A file and its session in a database.
#[derive(Debug)]
pub struct FilePair {
    /// The agent.
    pub agent: String,
    /// The session's key in the database.
    pub key: String,
    /// The session id.
    pub session_id: String,
    /// The file.
    pub file: PathBuf,
    /// The database.
    pub database: PathBuf,
    /// The import moved the file aside.
    pub is_moved_aside: bool,
    /// What was found, or why one of them cannot be read.
    pub comparison: std::io::Result<ImportComparison>,
}

/// A file without a session in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedFile {
    /// The agent.
    pub agent: String,
    /// The session id, as far as the file tells.
    pub session_id: String,
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub reason: UnmatchedReason,
}

/// Why a file has no session in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmatchedReason {
    /// The import of 2026.8 moves files aside that no row of a session names, and does not take them.
    SetAside,
    /// The agent has no database: nothing was imported.
    NoDatabase,
    /// An import put the file away, and the database that should hold it is not there.
    DatabaseGone,
    /// The agent's database cannot be read.
    Unreadable,
    /// The database knows no such session.
    Lost,
}

impl UnmatchedReason {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetAside => "set-aside",
            Self::NoDatabase => "no-database",
            Self::DatabaseGone => "database-gone",
            Self::Unreadable => "unreadable",
            Self::Lost => "lost",
        }
    }

    /// Whether the session is lost as far as the database goes.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::DatabaseGone | Self::Lost)
    }
}

/// Compares every transcript of a store with its import.
pub fn check_import(store: &Store) -> Migration {
    let FilePairs { pairs, unmatched: alone, without_file, archives } = pairs::find_pairs(store);
    let pairs = pairs.into_par_iter().map(pairs::PairCandidate::compare).collect();
    Migration { pairs, unmatched: alone, without_file, archives }
}
