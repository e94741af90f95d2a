//! Who writes a compaction's summary: [`extractive`] (the default; offline, deterministic), a program ([`command`]) or a
//! model behind HTTP ([`http`], only where the configuration names one).
//!
//! The stages are rules ([`crate::policy::compact`]); [`run`] executes them with a [`Summarizer`], call by call, with
//! attempts, progress and cancel. It gives a text or an error and stores nothing: a summary that failed, or was not wanted
//! any more, changes no file.

mod build;
mod cancel;
pub mod command;
pub mod extractive;
pub mod http;
mod run;
mod workspace;

use std::fmt;

pub use build::{SummarizerError, build_summarizer};
pub use cancel::CancelToken;
pub use run::{CallTokens, Summary, SummaryCallRecord, SummaryError, SummaryProgress, run};
pub use workspace::workspace_rules;

pub use crate::config::SummarizerKind;
pub use crate::policy::compact::{SummaryMode, SummarySpec};

use crate::policy::compact::SummaryRequest;

/// Answers the calls of a summary, one after the other.
pub trait Summarizer: fmt::Debug + Send + Sync {
    /// Which one it is.
    fn kind(&self) -> SummarizerKind;

    /// It takes a conversation of any length: nothing is split and nothing dropped for it.
    fn accepts_any_length(&self) -> bool {
        false
    }

    /// The summary for one request, or why there is none. Returns soon after `cancel` is used.
    fn summarise(&self, request: &SummaryRequest<'_>, cancel: &CancelToken) -> Result<Answer, CallError>;
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The summary; not blank.
    pub text: String,
    /// What the provider counted, where it says.
    pub measured: Option<CallTokens>,
    /// The answer ended at its limit, not where it wanted to.
    pub truncated: bool,
}

impl Answer {
    /// A text that nobody counted.
    pub fn from_text(text: String) -> Self {
        Self { text, measured: None, truncated: false }
    }
}

/// Why a call has no answer. The texts name what was asked, what came and what to do; they never hold a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It was not wanted any more.
    #[error("cancelled")]
    Cancelled,
    /// No other request would do better: a wrong key, a program that is not there.
    #[error("{0}")]
    Permanent(String),
    /// This very request will not do; a smaller one may.
    #[error("{0}")]
    Refused(String),
    /// It may do the next time.
    #[error("{what}")]
    Transient {
        /// What happened.
        what: String,
        /// How long the other side asks to wait, in ms.
        retry_after_ms: Option<u64>,
    },
}

impl CallError {
    /// Something that may pass, without a time named.
    pub fn transient(what: impl Into<String>) -> Self {
        Self::Transient { what: what.into(), retry_after_ms: None }
    }
}

/// A prompt that cannot be made from malformed messages (compaction 3.16).
fn prompt(request: &SummaryRequest<'_>) -> Result<String, CallError> {
    let odd = |_| {
        CallError::Refused("a message has a shape that cannot be told as text (compaction 3.16)".to_owned())
    };
    Ok(request.prompt().map_err(odd)?.to_string_lossy())
}
