//! Opens the file or the database that holds a session's transcript.

use std::path::PathBuf;

use crate::ids::SessionKey;
use crate::store::load::LoadError;
use crate::store::session::Session;
use crate::store::source::Source;

/// The reason that a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store has no such session, or not any more.
    #[error("{key}: this session is no longer in the store. Reload the list.")]
    Unknown {
        /// The key looked for.
        key: SessionKey,
    },
    /// Its session record names no usable transcript.
    #[error("{key}: the row has no usable sessionId or sessionFile, so there is no transcript to read.")]
    NoTranscript {
        /// The session's key.
        key: SessionKey,
    },
    /// Its transcript does not exist; normal before the first answer (store E7).
    #[error("{}: the transcript does not exist yet. The gateway creates it with the first answer; clawscope shows it then.", .path.display())]
    NotWritten {
        /// The expected path.
        path: PathBuf,
    },
    /// Reading failed or was stopped.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl OpenError {
    /// Whether reading was stopped for another request, which is not worth reporting.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Load(LoadError::Cancelled { .. }))
    }
}

/// Opens the transcript of a session; `known` is an earlier source to reuse.
pub(super) fn open_source(session: &Session, known: Option<&Source>) -> Result<Source, OpenError> {
    let path = session.path.as_deref().ok_or_else(|| OpenError::NoTranscript { key: session.key.clone() })?;
    // Reading a pipe or a device would never end.
    if session.location.database().is_none() && !path.is_file() {
        return Err(OpenError::NotWritten { path: path.into() });
    }
    let read_error = |source| LoadError::Read { path: path.display().to_string(), source };
    Ok(session.location.open(path, known).map_err(read_error)?)
}
