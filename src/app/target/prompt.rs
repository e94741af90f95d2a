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
    pub const ALL: [Self; 3] = [Self::NextCall, Self::FailedCall, Self::WholeSession];

    pub fn label(self) -> &'static str {
        match self {
            Self::NextCall => "next call",
            Self::FailedCall => "failed call",
            Self::WholeSession => "whole session",
        }
    }

    pub(super) fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

/// The replayed target: recorded, and under the tuned settings if they are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayOutcome {
    pub recorded: ReplaySummary,
    pub tuned: Option<ReplaySummary>,
}
