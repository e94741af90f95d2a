//! The reports of a watch: changed paths, and the folders that it must poll with the reason.

use std::fmt;
use std::path::PathBuf;

use crate::gateway::env::Environment;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// Changed paths, sorted and without duplicates.
    Changed(Vec<PathBuf>),
    /// All polled folders; empty when the system reports every change.
    Polled(Vec<PolledFolder>),
}

/// A folder whose changes the system does not report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolledFolder {
    pub folder: PathBuf,
    pub reason: PollReason,
}

/// The reason to poll a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// It is on a file system of this kind, where other machines may write.
    Remote(&'static str),
    /// The system refused, with this error.
    Refused(String),
    /// [`POLL_VARIABLE`] is set.
    Requested,
}

impl fmt::Display for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(kind) => write!(f, "{kind} does not report changes by other machines"),
            Self::Refused(said) => write!(f, "the system cannot watch it: {said}"),
            Self::Requested => write!(f, "{POLL_VARIABLE} is set"),
        }
    }
}

// The way a watch detects changes, and the variable that selects it.

/// Any value but `0` makes clawscope poll every folder instead of waiting for the system's events.
pub const POLL_VARIABLE: &str = "CLAWSCOPE_POLL";

/// The way changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatchMode {
    /// The system's events where possible, otherwise polling.
    #[default]
    Auto,
    /// Polling everywhere.
    Poll,
    /// Neither: every change is lost.
    #[cfg(test)]
    Ignore,
}

impl WatchMode {
    /// Reads the mode from [`POLL_VARIABLE`].
    pub fn from_env(env: &Environment) -> Self {
        match env.get(POLL_VARIABLE) {
            None | Some("" | "0") => Self::Auto,
            Some(_) => Self::Poll,
        }
    }
}
