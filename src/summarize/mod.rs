//! Summarizers for compactions: [`extractive`] (the default; offline, deterministic) or a person's program
//! ([`command`]), which may ask a model. clawscope itself opens no connection.
//!
//! The stages are rules ([`crate::policy::compact`]); [`run`] executes them with a [`Summarizer`], call by call, with
//! retries, progress and cancellation. It returns a text or an error and stores nothing, so that a failed or cancelled
//! summary changes no file.

mod cancel;
pub mod command;
pub mod extractive;
mod run;
mod workspace;

use std::fmt;

pub use cancel::CancelToken;
pub use run::{CallTokens, Summary, SummaryCallRecord, SummaryError, SummaryProgress, run};
pub use workspace::workspace_rules;

pub use crate::config::SummarizerKind;
pub use crate::policy::compact::{SummaryMode, SummarySpec};

use command::CommandSummarizer;
use extractive::ExtractiveSummarizer;

use crate::config::SummarizerConfig;
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

/// The kind `command` without a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "summarizer command: no program is configured. Set command = [\"PROGRAM\", \"ARGUMENT\"] under [summarizer] in \
     config.toml."
)]
pub struct NoProgram;

/// Builds a summarizer of this kind.
pub fn build_summarizer(
    kind: SummarizerKind,
    config: &SummarizerConfig,
) -> Result<Box<dyn Summarizer>, NoProgram> {
    match kind {
        SummarizerKind::Extractive => Ok(Box::new(ExtractiveSummarizer)),
        SummarizerKind::Command => {
            let (program, arguments) = config.command.split_first().ok_or(NoProgram)?;
            Ok(Box::new(CommandSummarizer::new(program.clone(), arguments.to_vec(), config.timeout)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_only_the_extractive_one_works() {
        let config = SummarizerConfig::default();
        let chosen = |kind| build_summarizer(kind, &config).map(|summarizer| summarizer.kind());
        assert_eq!(chosen(SummarizerKind::Extractive), Ok(SummarizerKind::Extractive));
        assert_eq!(chosen(SummarizerKind::Command), Err(NoProgram));
    }
}
