//! The possible endings of a recovery and the reply that a user sees for each (compaction 8.15, 8.19).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUpReason {
    /// The error came from a compaction (compaction 8.6).
    CompactionFailure,
    ContextOverflow,
}

impl GiveUpReason {
    /// The gateway's identifier of the reason.
    pub fn name(self) -> &'static str {
        match self {
            Self::CompactionFailure => "compaction_failure",
            Self::ContextOverflow => "context_overflow",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The prompt fits in the end, by estimate.
    Answered,
    /// The gateway does not recognise an overflow and shows the provider's error unchanged (compaction 8.5, 8.10).
    RawError,
    /// A compaction in the run failed and took the refusal out of the run: the gateway finds the answer before it.
    EarlierAnswer,
    /// pi leaves the error in the session and waits for a user.
    LeftToPerson,
    /// Every attempt was used up.
    GaveUp {
        kind: GiveUpReason,
        /// The chat continues in a fresh session; the old transcript stays (compaction 8.19).
        reset: bool,
    },
}

/// Reply after a run that gave up (compaction 8.15).
const TOO_LARGE_REPLY: &str = "Context overflow: prompt too large for the model. Try /reset (or /new) to start a fresh session, or use a larger-context model.";
/// Reply in a chat that was moved to a fresh session (compaction 8.19).
const RESET_REPLY: &str = "⚠️ Context limit exceeded. I've reset our conversation to start fresh - please try again.\n\nTo prevent this, increase your compaction buffer by setting `agents.defaults.compaction.reserveTokensFloor` to 20000 or higher in your config.";

impl Ending {
    /// Returns the gateway's reply; `None` when it has no text for this ending.
    pub fn reply(self) -> Option<&'static str> {
        match self {
            Self::GaveUp { reset: true, .. } => Some(RESET_REPLY),
            Self::GaveUp { reset: false, .. } => Some(TOO_LARGE_REPLY),
            Self::Answered | Self::RawError | Self::EarlierAnswer | Self::LeftToPerson => None,
        }
    }

    /// The rule behind the ending.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Answered => "compaction 2.15",
            Self::RawError => "compaction 8.5",
            Self::EarlierAnswer => "releases R79",
            Self::LeftToPerson => "compaction 2.11",
            Self::GaveUp { reset: true, .. } => "compaction 8.19",
            Self::GaveUp { reset: false, .. } => "compaction 8.15",
        }
    }

    /// The identifier in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::RawError => "rawError",
            Self::EarlierAnswer => "earlierAnswer",
            Self::LeftToPerson => "leftToPerson",
            Self::GaveUp { .. } => "gaveUp",
        }
    }
}
