//! The prompt that the main view shows, and its size in the replays.

use crate::session::replay_summary::ReplaySummary;

/// The prompt on display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Target {
    /// The call that the gateway would make now.
    #[default]
    NextCall,
    /// The overflow that explain is about, as of its time.
    FailedCall,
    /// Every call.
    WholeSession,
}

impl Target {
    /// Every target, in the order of the key that cycles them.
    pub const ALL: [Self; 3] = [Self::FailedCall, Self::NextCall, Self::WholeSession];

    pub fn label(self) -> &'static str {
        match self {
            Self::NextCall => "next call",
            Self::FailedCall => "failed call",
            Self::WholeSession => "whole session",
        }
    }

    /// The name among the tabs above the bar.
    pub fn tab(self) -> &'static str {
        match self {
            Self::WholeSession => "session",
            other => other.label(),
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            Self::FailedCall => Self::NextCall,
            Self::NextCall => Self::WholeSession,
            Self::WholeSession => Self::FailedCall,
        }
    }
}

/// The replayed target: recorded, and under the tuned settings if they are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayOutcome {
    pub recorded: ReplaySummary,
    pub tuned: Option<ReplaySummary>,
}
