//! Reports: values that answer people's questions about one opened session.
//!
//! Each reads a [`crate::session::LoadedSession`] and returns data, so that a command and a screen print the same
//! numbers.

pub mod breakdown;
pub mod cache_ledger;
pub mod commits;
pub mod compaction;
pub mod compare;
pub mod cost;
pub mod estimators;
pub mod explain;
pub mod facts;
pub mod record;
pub mod recorded_context;
pub mod recovery;
pub mod regret;
#[cfg(test)]
mod stored_tests;
pub mod summary_audit;
pub mod sweep;
pub mod timeline;
