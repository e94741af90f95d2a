//! Predicts the gateway's attempts after a provider refuses a prompt as too large: first the runtime compacts inside
//! the run, then the gateway's loop compacts, reruns or cuts tool results (compaction 2.11, 2.15, 8.9–8.20).
//!
//! Sizes decide whether a compaction finds messages, its remaining tokens, and whether a result is oversized. The
//! length of a new summary, and so whether a later prompt fits, can only be estimated.

mod attempts;
mod branch;

pub use attempts::{Ending, GiveUpReason, is_transient, predict_recovery};
pub use branch::{Branch, MessageWeight};

use crate::gateway::compaction::{CompactionMode, CompactionSettings};
use crate::gateway::ruleset::Rules;
use crate::ids::EntryIx;
use crate::policy::overflow::Detection;
use crate::units::{Chars, Tokens};

/// Compactions and reruns that one run may take (compaction 8.9).
pub const MAX_ATTEMPTS: u32 = 3;

/// Returns the iteration limit of the gateway's loop for `candidates` credential profiles (compaction 8.9).
pub fn loop_limit(candidates: u32) -> u32 {
    (24 + 8 * candidates.max(1)).clamp(32, 160)
}

/// The source of the error text (compaction 8.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorSource {
    /// The call threw before it reached the model.
    Prompt,
    /// The last answer ended in this error.
    Assistant,
    /// An answer's usage exceeded the window without an error (compaction 8.1 ii).
    Silent,
}

impl ErrorSource {
    /// The gateway's identifier of the source.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "promptError",
            Self::Assistant => "assistantError",
            Self::Silent => "silent",
        }
    }
}

/// Everything that the prediction depends on.
#[derive(Debug, Clone)]
pub struct RecoveryInput<'a> {
    /// The provider's error text; empty for a silent overflow.
    pub error: &'a str,
    /// The verdicts of the release's detectors on that text.
    pub detection: Detection,
    pub source: ErrorSource,
    /// The branch at the refused call, including its prompt.
    pub branch: Branch,
    /// Tokens that precede the messages (system prompt and tools), in the same count as the branch.
    pub fixed_tokens: Tokens,
    /// Assumed tokens of the summary that a compaction writes.
    pub summary_tokens: Tokens,
    /// Tokens of the refused prompt; `None` when the provider did not count them.
    pub refused_tokens: Option<Tokens>,
    /// Window that the provider and the runtime use, in tokens (compaction 2.8).
    pub runtime_window: Tokens,
    pub settings: CompactionSettings,
    pub mode: CompactionMode,
    /// The refused call used the session's current model (compaction 2.11).
    pub same_model: bool,
    /// The answer is older than the latest compaction of the branch (compaction 2.11).
    pub predates_compaction: bool,
    /// The gateway runs the session; pi without a gateway has no loop around the run.
    pub has_gateway: bool,
    /// The rules of the session's release.
    pub rules: &'static Rules,
    /// Limit of one tool result, in chars (pruning 6.2; 8, row "Single limit").
    pub result_limit: Chars,
    /// The session is a chat, which the gateway finally moves to a fresh session (compaction 8.19).
    pub is_chat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionCaller {
    /// The runtime, inside the run (compaction 2.11).
    InRun,
    /// The gateway, after the run (compaction 8.13).
    AfterRun,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CompactionOutcome {
    Off,
    /// The runtime does not recognise the error as an overflow (compaction 8.1).
    NotRecognised,
    /// The answer came from another model than the session's (compaction 2.11).
    OtherModel,
    /// The answer is older than the latest compaction (compaction 2.11).
    TooOld,
    /// The runtime leaves overflows to the gateway (releases R68).
    LeftToGateway,
    /// The runtime has compacted in this run already, and does so once (releases R68).
    Repeated,
    /// The branch ends in a compaction (compaction 3.1).
    AlreadyCompacted,
    /// No entry can begin the kept part (compaction 3.1).
    NothingToCompact,
    /// The safeguard cancels: the part to summarise holds no real message (compaction 5.1).
    Cancelled {
        /// Turns of the branch since the previous compaction.
        turns: usize,
    },
    /// A malformed message stops the compaction (compaction 3.23).
    Throws,
    /// The history is too large for the single call that would summarise it (compaction 3.17, 3.20).
    SummaryTooLarge {
        /// Estimated tokens of that call.
        tokens: Tokens,
    },
    Done {
        /// Messages summarised, including the beginning of a split turn.
        summarised: usize,
        /// The summary also takes in the previous one.
        merges_summary: bool,
        first_kept: EntryIx,
        /// Estimated tokens of the kept part, without the summary.
        kept_tokens: Tokens,
        /// Messages that an earlier compaction kept and that are now neither summarised nor kept (compaction 3.3).
        lost: usize,
        /// The latest request stays verbatim, not only in the summary.
        request_kept: bool,
    },
}

impl CompactionOutcome {
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// Whether the compaction frees nothing: it summarises no message, and drops none that an earlier one had kept.
    pub fn frees_nothing(self) -> bool {
        matches!(self, Self::Done { summarised: 0, lost: 0, .. })
    }

    /// Returns the summarised messages of the context, with the earlier summary, as a plan counts them.
    pub fn summarised_messages(self) -> usize {
        match self {
            Self::Done { summarised, merges_summary, .. } => summarised + usize::from(merges_summary),
            _ => 0,
        }
    }

    /// Whether the compaction began. One that began and failed still counts as a compaction of the run (compaction
    /// 2.21).
    pub fn has_started(self) -> bool {
        !matches!(
            self,
            Self::Off
                | Self::NotRecognised
                | Self::OtherModel
                | Self::TooOld
                | Self::LeftToGateway
                | Self::Repeated
        )
    }

    /// The rule behind the outcome.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Off | Self::OtherModel | Self::TooOld => "compaction 2.11",
            Self::NotRecognised => "compaction 8.1",
            Self::LeftToGateway | Self::Repeated => "releases R68",
            Self::AlreadyCompacted | Self::NothingToCompact => "compaction 3.1",
            Self::Cancelled { .. } => "compaction 5.1",
            Self::Throws => "compaction 3.23",
            Self::SummaryTooLarge { .. } => "compaction 3.20",
            Self::Done { .. } => "compaction 3.6",
        }
    }

    /// The identifier in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::NotRecognised => "notSeen",
            Self::OtherModel => "otherModel",
            Self::TooOld => "tooOld",
            Self::LeftToGateway => "leftToGateway",
            Self::Repeated => "repeated",
            Self::AlreadyCompacted => "alreadyCompacted",
            Self::NothingToCompact => "nothingToCompact",
            Self::Cancelled { .. } => "cancelled",
            Self::Throws => "throws",
            Self::SummaryTooLarge { .. } => "summaryTooLarge",
            Self::Done { .. } => "done",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum RecoveryStep {
    /// The prompt is sent and refused.
    Refused {
        /// Estimated tokens, scaled so that the refused prompt does not fit.
        tokens: Tokens,
    },
    /// The runtime sees a transient error and retries up to three times (compaction 2.16).
    Retried,
    Compaction {
        caller: CompactionCaller,
        outcome: CompactionOutcome,
    },
    /// The prompt runs again unchanged (compaction 8.12).
    RunAgain,
    /// Oversized tool results are cut in the file (compaction 8.14, 8.16–8.18).
    Truncation {
        /// Limit of one result, in chars.
        limit: Chars,
        /// The results of the branch that are longer.
        cut: Vec<EntryIx>,
        /// The part that an earlier compaction kept is lost: the compaction's copy names an id that is not on the new
        /// branch (compaction 8.17).
        loses_kept: bool,
    },
    /// No result of the prompt is oversized, so nothing is cut (compaction 8.14).
    NothingOversized {
        /// Limit of one result, in chars.
        limit: Chars,
        /// Chars of the largest result.
        largest: Chars,
    },
    /// The prompt fits, by estimate.
    Answered {
        /// Estimated tokens.
        tokens: Tokens,
    },
}

impl RecoveryStep {
    /// The rule that the step follows.
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

/// One run of the prompt and the steps that follow it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attempt {
    pub steps: Vec<RecoveryStep>,
}

/// The predicted attempts and their ending.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// The first attempt begins with the refused call.
    pub attempts: Vec<Attempt>,
    pub ending: Ending,
}

impl Recovery {
    /// No recovery: the gateway shows the error unchanged.
    pub fn none() -> Self {
        Self { attempts: Vec::new(), ending: Ending::RawError }
    }
}
