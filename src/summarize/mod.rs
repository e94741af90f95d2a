//! Summarizers for compactions: [`extractive`] (the default; offline, deterministic) or a person's program
//! ([`command`]), which may ask a model. clawscope itself opens no connection.
//!
//! The stages are rules ([`crate::policy::compact`]); [`run`] executes them with a [`Summarizer`], call by call, with
//! retries, progress and cancellation. It returns a text or an error and stores nothing, so that a failed or cancelled
//! summary changes no file.

pub mod command;
pub mod extractive;
mod run;
mod workspace;

use std::fmt;

pub use run::{CallTokens, CancelToken, Summary, SummaryCallRecord, SummaryError, SummaryProgress, run};
pub use workspace::workspace_rules;

pub use crate::config::SummarizerKind;
pub use crate::policy::compact::{SummaryMode, SummarySpec};

use crate::policy::compact::SummaryRequest;

/// Answers the calls of a summary, one after the other.
pub trait Summarizer: fmt::Debug + Send + Sync {
    fn kind(&self) -> SummarizerKind;

    /// Whether it accepts a conversation of any length, so that nothing is split or dropped for it.
    fn accepts_any_length(&self) -> bool {
        false
    }

    /// Returns the summary for one request, not blank, or the reason that it has none. Returns soon after `cancel` is
    /// used.
    fn summarise(&self, request: &SummaryRequest<'_>, cancel: &CancelToken) -> Result<String, CallError>;
}

/// A reason that a call has no answer. The texts name the program and a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("cancelled")]
    Cancelled,
    /// No request would succeed: a missing program.
    #[error("{0}")]
    Permanent(String),
    /// This request fails every time; a smaller one may succeed.
    #[error("{0}")]
    Refused(String),
    /// A later attempt may succeed.
    #[error("{0}")]
    Transient(String),
}
