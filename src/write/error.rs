//! The reasons why a write fails.

use std::path::PathBuf;

use crate::commit::{CommitError, Refusal};
use crate::plan::UnwritableChanges;
use crate::store::body::BodyError;
use crate::write::new_session::ImportError;

/// Errors of a write: nothing is written, or not as planned.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Refused; nothing was touched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A text that the plan changes could not be read again.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A changed message has another size than planned: the text is not the one that was measured.
    #[error("{}: entry {entry} would have {found} chars; the plan expects {planned}. Reload the session; if it happens again, please report it.", .path.display())]
    SizeMismatch {
        path: PathBuf,
        entry: String,
        /// Planned chars.
        planned: String,
        /// Chars of the message that would be written.
        found: String,
    },
    /// The plan makes changes that no transcript can hold.
    #[error("{}: {}", .path.display(), .reason.describe())]
    NotStorable {
        path: PathBuf,
        /// The changes that cannot be written.
        reason: UnwritableChanges,
    },
    /// The plan compacts, but has no summary.
    #[error("{}: the plan compacts but has no summary yet. Make the summary first.", .path.display())]
    NoSummary {
        /// The transcript that would be written to.
        path: PathBuf,
    },
    /// Writing failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The new session was not imported, or not as promised.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl WriteError {
    /// Whether it failed before anything was written (exit code 4). Only a failed write is not a refusal.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Commit(error) => matches!(error, CommitError::Refused(_)),
            Self::Import(error) => error.is_refusal(),
            _ => true,
        }
    }
}
