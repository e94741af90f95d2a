//! The place of a recording: a file, or rows of an agent's database.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::store::sqlite::{Database, item_path};

#[derive(Debug, Clone)]
pub enum RecordingLocation {
    File(PathBuf),
    /// Rows of an agent's database with the session id (trajectory 2.5).
    DatabaseRows(Arc<Database>, String),
}

impl fmt::Display for RecordingLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::DatabaseRows(database, session) => item_path(database.path(), session).display().fmt(f),
        }
    }
}

impl PartialEq for RecordingLocation {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(own), Self::File(other)) => own == other,
            (Self::DatabaseRows(own, id), Self::DatabaseRows(other, other_id)) => {
                own.path() == other.path() && id == other_id
            }
            _ => false,
        }
    }
}
