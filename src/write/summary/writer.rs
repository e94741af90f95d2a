//! The writer of a summary, and the calls that it needs.

use crate::config::SummarizerConfig;
use crate::summarize::command::CommandSummarizer;
use crate::summarize::extractive::ExtractiveSummarizer;
use crate::summarize::{Summarizer, SummarizerKind};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryWriter {
    pub kind: SummarizerKind,
    /// The program; `None` if clawscope writes the summary itself or the settings name none.
    pub name: Option<String>,
}

impl SummaryWriter {
    pub fn from_config(kind: SummarizerKind, config: &SummarizerConfig) -> Self {
        let name = match kind {
            SummarizerKind::Extractive => None,
            SummarizerKind::Command => config.command.first().cloned(),
        };
        Self { kind, name }
    }

    /// Returns the program with its kind, or the kind alone: `ollama (command)`, `extractive`.
    pub fn label(&self) -> String {
        let kind = self.kind.as_str();
        self.name.as_ref().map_or_else(|| kind.to_owned(), |name| format!("{name} ({kind})"))
    }

    /// Whether the conversation may leave clawscope, so that a person must confirm first.
    pub fn is_external(&self) -> bool {
        self.kind != SummarizerKind::Extractive
    }
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

/// The calls and tokens of a summary before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryEstimate {
    /// Calls, if each succeeds.
    pub calls: usize,
    /// Estimated tokens of all inputs.
    pub input_tokens: u64,
    /// Assumed tokens of all answers.
    pub output_tokens: u64,
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
