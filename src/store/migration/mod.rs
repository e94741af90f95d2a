//! Checks whether the import of transcripts into a database preserved them (sqlite A6, E).
//!
//! Every file that an import took, or should have taken, is compared with its session in the database. Harmless rewrites
//! of the importer and of the gateway's repairs do not count as differences, so each fault that remains is a loss.

mod compare;
mod pairs;
mod rewrites;

pub use compare::{EntryCounts, ImportComparison, ImportFault, ImportFaultKind, compare};
pub use pairs::{FilePair, Migration, UnmatchedFile, UnmatchedReason, check_import};
