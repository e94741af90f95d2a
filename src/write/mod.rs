//! Writing to a session as a person meets it: the request with its checks and its receipt, the commits a transcript holds,
//! the summary that a compaction stores, and the settings patch. [`crate::commit`] alone opens the file.

mod action;
pub mod checks;
pub mod commit_list;
pub mod commit_record;
pub mod patch;
pub mod request;
pub mod rewrite_loss;
pub mod summary;
