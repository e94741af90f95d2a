//! The writer of a summary, and its cost in tokens and dollars.

use crate::config::SummarizerConfig;
use crate::gateway::models::ModelList;
use crate::summarize::{CallTokens, SummarizerKind};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryWriter {
    pub kind: SummarizerKind,
    /// The program or the model; `None` if clawscope writes the summary itself or the settings name none.
    pub name: Option<String>,
}

impl SummaryWriter {
    pub fn from_config(kind: SummarizerKind, config: &SummarizerConfig) -> Self {
        let name = match kind {
            SummarizerKind::Extractive => None,
            SummarizerKind::Command => config.command.first().cloned(),
            SummarizerKind::Http => config.model.clone(),
        };
        Self { kind, name }
    }

    /// Returns the name with its kind, or the kind alone: `gpt-5 (http)`, `extractive`.
    pub fn label(&self) -> String {
        let kind = self.kind.as_str();
        self.name.as_ref().map_or_else(|| kind.to_owned(), |name| format!("{name} ({kind})"))
    }

    /// Whether the conversation may leave clawscope, so that a person must confirm first.
    pub fn is_external(&self) -> bool {
        self.kind != SummarizerKind::Extractive
    }

    /// Returns the USD for calls of these tokens: 0 offline, `None` for a program and for models without a list price.
    pub fn cost(&self, calls: impl IntoIterator<Item = CallTokens>) -> Option<f64> {
        match self.kind {
            SummarizerKind::Extractive => Some(0.0),
            SummarizerKind::Command => None,
            SummarizerKind::Http => {
                let price = ModelList::price_of_id(self.name.as_deref()?)?;
                let usd = |own: CallTokens| {
                    let price = price.at(own.input as f64);
                    own.input as f64 * price.input + own.output as f64 * price.output
                };
                Some(calls.into_iter().map(usd).sum::<f64>() / 1e6)
            }
        }
    }
}

/// The calls, tokens and cost of a summary before it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryEstimate {
    pub writer: SummaryWriter,
    /// Calls, if each succeeds.
    pub calls: usize,
    /// Estimated tokens of all inputs.
    pub input_tokens: u64,
    /// Assumed tokens of all answers.
    pub output_tokens: u64,
    /// USD, if known.
    pub cost: Option<f64>,
}
