//! Checks whether the import of transcripts into a database preserved them (sqlite A6, E).
//!
//! Every file that an import took, or should have taken, is compared with its session in the database. Known rewrites
//! of the importer and of the gateway's repairs do not count as differences, so each fault that remains is a loss.

mod compare;
mod importer;
mod known_rewrites;
mod line_record;
mod matching;
mod pairs;

use std::io;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

pub use compare::{EntryCounts, ImportComparison, ImportFault, ImportFaultKind};
pub use pairs::{FilePair, UnmatchedFile, UnmatchedReason};

use crate::store::discovery::Store;
use crate::store::source::Source;
use pairs::FilePairs;

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

/// Compares one file with the rows of its session, right after the import.
///
/// # Errors
/// One of the sides cannot be read.
pub fn compare_import(session_id: &str, file: &Source, rows: &Source) -> io::Result<ImportComparison> {
    compare::compare(session_id, file, rows, false)
}

/// Compares every transcript of a store with its import.
pub fn check_import(store: &Store) -> Migration {
    let FilePairs { pairs, alone, without_file, archives } = pairs::find_pairs(store);
    let pairs = pairs.into_par_iter().map(pairs::PairCandidate::compare).collect();
    Migration { pairs, alone, without_file, archives }
}
