//! Who writes a summary, and what that takes of tokens and dollars.

use crate::config::SummarizerConfig;
use crate::gateway::catalog;
use crate::summarize::{CallTokens, SummarizerKind};

/// Who writes a summary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryWriter {
    /// Which kind.
    pub kind: SummarizerKind,
    /// The program or the model; none where clawscope writes it itself, or none is named.
    pub name: Option<String>,
}

impl SummaryWriter {
    /// The one that these settings name for a kind.
    pub fn from_config(kind: SummarizerKind, config: &SummarizerConfig) -> Self {
        let name = match kind {
            SummarizerKind::Extractive => None,
            SummarizerKind::Command => config.command.first().cloned(),
            SummarizerKind::Http => config.model.clone(),
        };
        Self { kind, name }
    }

    /// Its kind, and its name where it has one: `http gpt-5`.
    pub fn label(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        format!("{}{name}", self.kind.as_str())
    }

    /// Whether a conversation may leave the program for it: then it is asked for first.
    pub fn is_external(&self) -> bool {
        self.kind != SummarizerKind::Extractive
    }

    /// US dollars that calls of these tokens cost: nothing offline, unknown for a program and for models without a list
    /// price.
    pub fn cost(&self, calls: impl IntoIterator<Item = CallTokens>) -> Option<f64> {
        match self.kind {
            SummarizerKind::Extractive => Some(0.0),
            SummarizerKind::Command => None,
            SummarizerKind::Http => {
                let price = &catalog::find("", self.name.as_deref()?)?.price;
                let usd = |own: CallTokens| own.input as f64 * price.input + own.output as f64 * price.output;
                Some(calls.into_iter().map(usd).sum::<f64>() / 1e6)
            }
        }
    }
}

/// What a summary would take.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryEstimate {
    /// Who would write it.
    pub writer: SummaryWriter,
    /// Calls, when each succeeds.
    pub calls: usize,
    /// Tokens of all inputs, by estimate.
    pub input_tokens: u64,
    /// Tokens of all answers, as assumed.
    pub output_tokens: u64,
    /// US dollars, where they are known.
    pub cost: Option<f64>,
}
