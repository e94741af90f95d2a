//! Summarizers for compactions: [`extractive`] (the default; offline, deterministic), an external program
//! ([`command`]), or a model over HTTP ([`http`], only where the configuration names one).
//!
//! The stages are rules ([`crate::policy::compact`]); [`run`] executes them with a [`Summarizer`], call by call, with
//! retries, progress and cancellation. It returns a text or an error and stores nothing, so that a failed or cancelled
//! summary changes no file.

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
use crate::units::Millis;

/// Answers the calls of a summary, one after the other.
pub trait Summarizer: fmt::Debug + Send + Sync {
    fn kind(&self) -> SummarizerKind;

    /// Whether it accepts a conversation of any length, so that nothing is split or dropped for it.
    fn accepts_any_length(&self) -> bool {
        false
    }

    /// Returns the summary for one request, or the reason that it has none. Returns soon after `cancel` is used.
    fn summarise(&self, request: &SummaryRequest<'_>, cancel: &CancelToken) -> Result<Answer, CallError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The summary; not blank.
    pub text: String,
    /// The provider's counts, if it reports them.
    pub measured: Option<CallTokens>,
    /// The token limit cut the answer off.
    pub truncated: bool,
}

impl Answer {
    /// Creates an answer without token counts.
    pub fn from_text(text: String) -> Self {
        Self { text, measured: None, truncated: false }
    }
}

/// A reason that a call has no answer. The texts name the request, the response and a remedy; they never hold a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    #[error("cancelled")]
    Cancelled,
    /// No request would succeed: a wrong key, a missing program.
    #[error("{0}")]
    Permanent(String),
    /// This request fails every time; a smaller one may succeed.
    #[error("{0}")]
    Refused(String),
    /// A later attempt may succeed.
    #[error("{what}")]
    Transient {
        what: String,
        /// Wait that the other side requests.
        retry_after_ms: Option<Millis>,
    },
}

impl CallError {
    /// Creates a temporary error without a requested wait.
    pub fn transient(what: impl Into<String>) -> Self {
        Self::Transient { what: what.into(), retry_after_ms: None }
    }
}

/// Malformed messages give no prompt (compaction 3.16).
fn prompt(request: &SummaryRequest<'_>) -> Result<String, CallError> {
    let odd = |_| CallError::Refused("the runtime cannot convert the shape of a message to text".to_owned());
    Ok(request.prompt().map_err(odd)?.to_string_lossy())
}
