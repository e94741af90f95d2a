//! Compares the gateway's recording of a run's first messages with the context rebuilt from the transcript (trajectory
//! 5, 9).
//!
//! The gateway records before it trims a call, so the recording is not the prompt that the provider received.

mod comparison;
mod history_repairs;
mod provider_repairs;
mod rebuilt;
mod recording_match;
mod redaction;
mod repairs;
#[cfg(test)]
mod repairs_tests;
mod run;
#[cfg(test)]
mod tests;

pub use comparison::{Difference, DifferingMessage, RecordingComparison};
pub use recording_match::RecordingCut;
pub use repairs::AppliedRepair;
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
    Compared(RecordingComparison),
}

/// The likely cause of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceCause {
    /// A plugin assembles the list.
    ContextEngine,
    /// The recording has messages that the transcript lacks.
    Rewritten,
    /// The recorded list lacks messages from the start of the branch.
    HistoryLimit,
    /// The same message has another form.
    ProviderRepair,
    /// The rules of the gateway's release differ.
    OtherVersion,
}

impl DifferenceCause {
    /// The name for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextEngine => "context-engine",
            Self::Rewritten => "transcript-rewritten",
            Self::HistoryLimit => "history-limit",
            Self::ProviderRepair => "provider-repair",
            Self::OtherVersion => "other-version",
        }
    }

    /// A sentence for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::ContextEngine => "A context-engine plugin made this list.",
            Self::Rewritten => {
                "The transcript was probably rewritten since: it lacks messages of the recording."
            }
            Self::HistoryLimit => "A history limit probably left out the oldest messages.",
            Self::ProviderRepair => "The gateway probably repaired this message for its provider.",
            Self::OtherVersion => "The gateway's release probably builds this list differently.",
        }
    }

    /// Returns the cause that a difference suggests.
    fn from_difference(difference: &Difference, comparison: &RecordingComparison, has_engine: bool) -> Self {
        if has_engine {
            Self::ContextEngine
        } else if !difference.only_recorded.is_empty() {
            Self::Rewritten
        } else if difference.is_same_message()
            && !difference.paths.is_empty()
            && difference.only_rebuilt.is_empty()
        {
            Self::ProviderRepair
        } else if difference.position == 0 && comparison.at_start < comparison.repaired as u64 {
            Self::HistoryLimit
        } else {
            Self::OtherVersion
        }
    }
}
