//! Writes to a session as a person requests it: the request with its checks and receipt, the commits in a transcript,
//! the summary of a compaction, and the settings patch.
//!
//! Nothing here opens the file: [`crate::commit`] is the only writer.

pub mod checks;
pub mod commit_record;
pub mod drop;
mod error;
pub mod growth;
pub mod new_session;
pub mod patch;
pub mod request;
mod requested_change;
pub mod rewrite_loss;
pub mod summary;
