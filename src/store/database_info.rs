//! A database that discovery found, readable or not. Its schema shows which release wrote it.

use std::path::PathBuf;

use super::sqlite::Schema;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseInfo {
    pub path: PathBuf,
    /// `None` when the database cannot be read.
    pub schema: Option<Schema>,
}
