//! Compares the gateway's recording of a run's first messages with the context rebuilt from the transcript (trajectory
//! 5, 9).
//!
//! The gateway records before it trims a call, so the recording is not the prompt that the provider received.

mod comparison;
mod rebuilt;
mod recording_match;
#[cfg(test)]
mod repairs_tests;
mod run;
#[cfg(test)]
mod tests;

pub use comparison::AppliedRepair;
pub use comparison::{Difference, DifferenceCause, DifferingMessage, RecordingComparison};
pub use recording_match::RecordingCut;
pub use run::{RecordedRun, RunError, read_run};

use std::path::PathBuf;

use crate::store::trajectory::CutContext;

/// The result for one run of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordedContext {
    /// No recording exists: an older release, recording switched off, another harness, a removed file, or a run that
    /// did not end.
    NoRecording,
    /// A pointer names a recording that cannot be read there.
    Unreadable(PathBuf),
    /// The recording has no run of this session.
    NoRun,
    /// A recorded run.
    Run(Box<RecordedRun>),
}

/// The recorded messages of a run, or why they are missing.
#[derive(Debug, Clone, PartialEq)]
pub enum RunOutcome {
    /// The run ended before its context was compiled.
    NotCompiled,
    /// The recorder left out the line.
    LineTruncated(CutContext),
    /// The recorder left out the list of messages, or the harness never records it.
    NoMessageList,
    /// The transcript has no entry with the id of the recorded leaf: the branch was rewritten since.
    NoLeaf(String),
    /// The lists were compared.
    Compared(Box<RecordingComparison>),
}
