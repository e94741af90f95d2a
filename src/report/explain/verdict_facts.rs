//! Values that only the verdict states.

use crate::ids::EntryIx;
use crate::report::explain::failure::{LimitOrigin, PromptSize};

#[derive(Debug, Clone, PartialEq)]
pub enum VerdictFacts {
    /// The verdict of a session in which a call overflowed.
    Overflow(OverflowFacts),
    NoOverflow,
}

/// The overflow behind a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct OverflowFacts {
    /// Overflows of the session.
    pub count: usize,
    /// Those that the gateway's own check refused, if the failing call is one of them.
    pub by_gateway: usize,
    pub prompt: FailedPrompt,
    pub remark: Option<VerdictRemark>,
}

/// The size of the failing prompt by everyone who counted it.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedPrompt {
    pub entry: EntryIx,
    pub size: PromptSize,
    /// Tokens that fit.
    pub limit: u64,
    pub limit_origin: LimitOrigin,
    /// Tokens of the last accepted prompt.
    pub last_accepted: Option<u64>,
    /// Tokens by the gateway's own estimate.
    pub gateway_estimate: u64,
}

/// A second sentence for the headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictRemark {
    /// The prompt alone fits; these tokens are reserved for the reply.
    ReplyReserved { tokens: u64 },
    /// The message never fits, so it must be split.
    SplitMessage,
    /// Compaction was not due yet.
    CompactionNotDue { missing_tokens: u64, is_estimate: bool },
    /// Compaction was due, but none followed.
    CompactionFailed,
}
