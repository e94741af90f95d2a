//! How a recovery ends, and what the person is told (compaction 8.15, 8.19).

/// Why a run gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUpReason {
    /// The error is that of a compaction (compaction 8.6).
    CompactionFailure,
    /// The prompt is too large.
    ContextOverflow,
}

impl GiveUpReason {
    /// The gateway's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CompactionFailure => "compaction_failure",
            Self::ContextOverflow => "context_overflow",
        }
    }
}

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The prompt fits in the end, as far as can be told.
    Answered,
    /// The gateway does not take the words for an overflow and shows them as they are (compaction 8.5, 8.10).
    RawError,
    /// pi leaves the error in the session and waits for a person.
    LeftToPerson,
    /// Everything was tried.
    GaveUp {
        /// Why.
        kind: GiveUpReason,
        /// The chat goes on in a fresh session; the old transcript stays (compaction 8.19).
        reset: bool,
    },
}

/// The reply of a run that gave up (compaction 8.15).
const TOO_LARGE_REPLY: &str = "Context overflow: prompt too large for the model. Try /reset (or /new) to start a fresh session, or use a larger-context model.";
/// The reply of the chat that was moved to a fresh session (compaction 8.19).
const RESET_REPLY: &str = "⚠️ Context limit exceeded. I've reset our conversation to start fresh - please try again.\n\nTo prevent this, increase your compaction buffer by setting `agents.defaults.compaction.reserveTokensFloor` to 20000 or higher in your config.";

impl Ending {
    /// What the person is told, where the gateway has words for it.
    pub fn reply(self) -> Option<&'static str> {
        match self {
            Self::GaveUp { reset: true, .. } => Some(RESET_REPLY),
            Self::GaveUp { reset: false, .. } => Some(TOO_LARGE_REPLY),
            Self::Answered | Self::RawError | Self::LeftToPerson => None,
        }
    }

    /// The rule that decides.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Answered => "compaction 2.15",
            Self::RawError => "compaction 8.5",
            Self::LeftToPerson => "compaction 2.11",
            Self::GaveUp { reset: true, .. } => "compaction 8.19",
            Self::GaveUp { reset: false, .. } => "compaction 8.15",
        }
    }

    /// Its word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::RawError => "rawError",
            Self::LeftToPerson => "leftToPerson",
            Self::GaveUp { .. } => "gaveUp",
        }
    }
}
