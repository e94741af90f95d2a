//! Opens the file or the database that holds a session's transcript.

use std::path::{Path, PathBuf};

use crate::format::{format_count, format_number};
use crate::ids::SessionKey;
use crate::js::Value;
use crate::store::load::LoadError;
use crate::store::session::{Flag, Session};
use crate::store::source::Source;
use crate::units::Tokens;

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
    /// Its transcript does not exist, although the session record counts what was in it.
    #[error("{}: the transcript is missing. It existed: the session record counts {counted}. Look for a copy in a backup, or start a new session with /new.", .path.display())]
    Lost {
        /// The expected path.
        path: PathBuf,
        /// The counters of the record, in words.
        counted: String,
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
    // Reading a pipe or a device would never end. A database may list a session whose events are gone.
    let is_gone = match session.location.database() {
        None => !path.is_file(),
        Some(_) => session.has_flag(Flag::Missing) && lost_counters(session).is_some(),
    };
    if is_gone {
        return Err(absent_transcript(session, path));
    }
    let read_error = |source| LoadError::Read { path: path.display().to_string(), source };
    Ok(session.location.open(path, known).map_err(read_error)?)
}

/// Distinguishes a transcript that is lost from one that was never written: the gateway counts tokens and compactions
/// only after answers (store C7).
fn absent_transcript(session: &Session, path: &Path) -> OpenError {
    match lost_counters(session) {
        Some(counted) => OpenError::Lost { path: path.into(), counted },
        None => OpenError::NotWritten { path: path.into() },
    }
}

/// Returns the counters of a session record whose transcript does not exist, in words; `None` if it counts nothing.
fn lost_counters(session: &Session) -> Option<String> {
    let record = session.record.as_ref()?;
    let number = |value: Option<f64>| value.filter(|value| *value >= 1.0).map(|value| value as u64);
    let stale = record.member("totalTokens").as_ref().and_then(Value::as_f64);
    let sent =
        ["inputTokens", "outputTokens"].map(|name| record.member(name).as_ref().and_then(Value::as_f64));
    let sent: f64 = sent.into_iter().flatten().sum();
    let tokens = number(record.total_tokens.map(Tokens::get).or(stale)).or(number(Some(sent)));
    let tokens = tokens.map(|tokens| format!("{} tokens", format_number(tokens)));
    let compactions = number(record.compaction_count);
    let compactions = compactions.map(|count| format_count(count, "compaction", "compactions"));
    let counted: Vec<String> = tokens.into_iter().chain(compactions).collect();
    (!counted.is_empty()).then(|| counted.join(" and "))
}
