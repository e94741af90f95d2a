//! What the gateway tries when a provider refuses a prompt as too large, attempt by attempt: the runtime's own
//! compaction inside the run, then the gateway's loop around it (compaction 2.11, 2.15, 8.9–8.20).
//!
//! Told from sizes: whether a compaction would find anything, what it would leave, whether a result is oversized.
//! How long a summary gets and whether a prompt then fits are estimates, and are called so.

mod attempts;
mod branch;
mod ending;
mod transient;

pub use attempts::predict_recovery;
pub use branch::Branch;
pub use ending::{Ending, GiveUpReason};
pub use transient::is_transient;

use crate::gateway::compaction::{CompactionMode, CompactionSettings};
use crate::ids::EntryIx;

/// Compactions and runs again that one run may take (compaction 8.9).
pub const MAX_ATTEMPTS: u32 = 3;

/// Iterations of the gateway's loop, for so many candidate profiles of credentials (compaction 8.9).
pub fn loop_limit(candidates: u32) -> u32 {
    (24 + 8 * candidates.max(1)).clamp(32, 160)
}

/// Where the gateway has the words from (compaction 8.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorSource {
    /// The call of the prompt threw, before the model was asked.
    Prompt,
    /// The last answer ended in this error.
    Assistant,
    /// An answer took in more than the window without an error (compaction 8.1 ii).
    Silent,
}

impl ErrorSource {
    /// The gateway's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "promptError",
            Self::Assistant => "assistantError",
            Self::Silent => "silent",
        }
    }
}

/// Everything the attempts depend on.
#[derive(Debug, Clone)]
pub struct RecoveryInput<'a> {
    /// What the provider said; empty for a silent overflow.
    pub error: &'a str,
    /// Where it was said.
    pub source: ErrorSource,
    /// The branch at the refused call, its prompt included.
    pub branch: Branch,
    /// Tokens before the messages.
    pub fixed_tokens: f64,
    /// Tokens of the refused prompt, where the provider counted them.
    pub refused_tokens: Option<f64>,
    /// Window of the gateway's rules, in tokens (compaction 7.1).
    pub window: f64,
    /// Window that the provider and the runtime go by, in tokens (compaction 2.8).
    pub runtime_window: f64,
    /// Reserve and keep of the compaction.
    pub settings: CompactionSettings,
    /// Who summarises.
    pub mode: CompactionMode,
    /// The refused call was made with the session's present model (compaction 2.11).
    pub same_model: bool,
    /// The answer is older than the latest compaction of the branch (compaction 2.11).
    pub predates_compaction: bool,
    /// The gateway runs the session; pi alone has no loop around the run.
    pub has_gateway: bool,
    /// Compactions and runs again that one run may take; [`MAX_ATTEMPTS`] in the reference.
    pub max_attempts: u32,
    /// Chars that one tool result may have (pruning 6.2; 8, row "Single limit").
    pub result_limit: f64,
    /// Cutting results starts that count anew, as an older gateway did (compaction 12, row "Recovery").
    pub truncation_restarts: bool,
    /// The session is a chat, which the gateway moves to a fresh session in the end (compaction 8.19).
    pub is_chat: bool,
}

/// Who asks for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionCaller {
    /// The runtime, inside the run (compaction 2.11).
    InRun,
    /// The gateway, after it (compaction 8.13).
    AfterRun,
}

/// What becomes of a compaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CompactionOutcome {
    /// Compaction is switched off.
    Off,
    /// The runtime does not take the words for an overflow (compaction 8.1).
    NotRecognised,
    /// The answer came from another model than the session's (compaction 2.11).
    OtherModel,
    /// The answer is older than the latest compaction (compaction 2.11).
    TooOld,
    /// The branch ends in a compaction (compaction 3.1).
    AlreadyCompacted,
    /// There is no entry to begin the kept part with (compaction 3.1).
    NothingToCompact,
    /// The history holds no real message: cancelled (compaction 5.1).
    Cancelled,
    /// A damaged message stops it (compaction 3.23).
    Throws,
    /// The history is itself too large for the one call that would summarise it (compaction 3.17, 3.20).
    SummaryTooLarge {
        /// Tokens of that call, estimated.
        tokens: f64,
    },
    /// It is done.
    Done {
        /// Messages summarised, the beginning of a split turn included.
        summarised: usize,
        /// The first entry kept.
        first_kept: EntryIx,
        /// Tokens of what is kept, estimated, without the summary.
        kept_tokens: f64,
        /// Messages that an earlier compaction had kept and that are neither summarised nor kept now
        /// (compaction 3.3).
        lost: usize,
        /// What was asked last is kept as it was said, and not only in the summary.
        request_kept: bool,
    },
}

impl CompactionOutcome {
    /// Whether the session is smaller afterwards.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// Whether it was begun at all; one that was and failed counts as a compaction of the run (compaction 2.21).
    pub fn has_started(self) -> bool {
        !matches!(self, Self::Off | Self::NotRecognised | Self::OtherModel | Self::TooOld)
    }

    /// The rule that decides.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Off | Self::OtherModel | Self::TooOld => "compaction 2.11",
            Self::NotRecognised => "compaction 8.1",
            Self::AlreadyCompacted | Self::NothingToCompact => "compaction 3.1",
            Self::Cancelled => "compaction 5.1",
            Self::Throws => "compaction 3.23",
            Self::SummaryTooLarge { .. } => "compaction 3.20",
            Self::Done { .. } => "compaction 3.6",
        }
    }

    /// Its word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::NotRecognised => "notSeen",
            Self::OtherModel => "otherModel",
            Self::TooOld => "tooOld",
            Self::AlreadyCompacted => "alreadyCompacted",
            Self::NothingToCompact => "nothingToCompact",
            Self::Cancelled => "cancelled",
            Self::Throws => "throws",
            Self::SummaryTooLarge { .. } => "summaryTooLarge",
            Self::Done { .. } => "done",
        }
    }
}

/// One thing that is tried.
#[derive(Debug, Clone, PartialEq)]
pub enum RecoveryStep {
    /// The prompt is sent and refused.
    Refused {
        /// Its tokens, as estimated; scaled so that the refused prompt did not fit.
        tokens: f64,
    },
    /// The runtime takes the words for a passing trouble and asks up to three times more (compaction 2.16).
    Retried,
    /// A compaction.
    Compaction {
        /// Who asks.
        caller: CompactionCaller,
        /// What becomes of it.
        outcome: CompactionOutcome,
    },
    /// The prompt is run again as it is (compaction 8.12).
    RunAgain,
    /// Oversized tool results are cut in the file (compaction 8.14, 8.16–8.18).
    Truncation {
        /// Chars that one result may have.
        limit: f64,
        /// Results of the branch that are longer.
        cut: Vec<EntryIx>,
        /// What an earlier compaction kept is lost, because its copy names an id that is not on the new branch
        /// (compaction 8.17).
        loses_kept: bool,
    },
    /// No result of the prompt is oversized: nothing to cut (compaction 8.14).
    NothingOversized {
        /// Chars that one result may have.
        limit: f64,
        /// Chars of the largest.
        largest: f64,
    },
    /// The prompt fits, as far as can be told.
    Answered {
        /// Its tokens, as estimated.
        tokens: f64,
    },
}

impl RecoveryStep {
    /// The rule it follows.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "compaction 8.10",
            Self::Retried => "compaction 2.16",
            Self::Compaction { outcome, .. } => outcome.rule(),
            Self::RunAgain => "compaction 8.12",
            Self::Truncation { .. } => "compaction 8.17",
            Self::NothingOversized { .. } => "compaction 8.16",
            Self::Answered { .. } => "compaction 2.15",
        }
    }
}

/// One run of the prompt and what follows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attempt {
    /// In order.
    pub steps: Vec<RecoveryStep>,
}

/// What would be tried, and how it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// In order; the first one begins with the refused call.
    pub attempts: Vec<Attempt>,
    /// What the person sees.
    pub ending: Ending,
}
