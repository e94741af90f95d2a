//! Checks whether the import of transcripts into a database preserved them (sqlite A6, E).
//!
//! Every file that an import took, or should have taken, is compared with its session in the database. Known rewrites
//! of the importer and of the gateway's repairs do not count as differences, so each fault that remains is a loss.

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

/// Result of the check of a whole store.
#[derive(Debug, Default)]
pub struct Migration {
    /// Files with their sessions, in the store's order.
    pub pairs: Vec<FilePair>,
    /// Files without a session, in the store's order.
    pub unmatched: Vec<UnmatchedFile>,
    /// Number of sessions in databases without a file.
    pub without_file: u64,
    /// Number of transcripts that were reset or deleted before an import; imports skip those.
    pub archives: u64,
}

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
    /// Session id, from the rows beside the file or from the file.
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

    /// Whether the session is lost, judged by the database.
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
