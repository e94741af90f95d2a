//! Fates → one checked change over one context: a value that is shown, applied, diffed and committed.

pub mod apply;
pub mod cache_cost;

pub use apply::{EntryChange, after, changes};

use crate::context::Context;
use crate::context::tokens::chars4::estimate_chars;
use crate::context::tokens::estimate_message;
use crate::gateway::pruning::PruneSettings;
use crate::js::Throws;
use crate::policy::prune::{Gate, Outcome, PruneInput, prune};
use crate::policy::{Fate, MessageFate};
use crate::store::index::Index;

/// What pruning would do to one context.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings it was made with.
    pub settings: PruneSettings,
    /// Window in tokens it was made with; NaN when none is known.
    pub window: f64,
    /// What the gate said. A shut gate leaves every message as it is.
    pub gate: Gate,
    /// Fates and the numbers behind them.
    pub outcome: Outcome,
    /// Estimated tokens of each message after the plan (chars/4, rounded up); its own where nothing changes.
    pub tokens_after: Vec<u64>,
    /// Estimated tokens of each message before the plan.
    pub tokens_before: Vec<u64>,
}

impl Plan {
    /// Plans pruning. A shut gate is honoured unless the caller opens it.
    pub fn prune(
        index: &Index,
        context: &Context,
        settings: &PruneSettings,
        window: f64,
        gate: Gate,
    ) -> Result<Self, Throws> {
        let input = PruneInput { context, words: &index.words, settings, window };
        let outcome = match gate.reason() {
            None => prune(&input)?,
            Some(reason) => Outcome::shut(&input, reason),
        };
        let tokens_before = tokens(context);
        let mut tokens_after = tokens_before.clone();
        for (after, fate) in tokens_after.iter_mut().zip(&outcome.fates) {
            if fate.fate.changes() {
                *after = estimate_chars(fate.after.chars());
            }
        }
        Ok(Self { settings: settings.clone(), window, gate, outcome, tokens_after, tokens_before })
    }

    /// The fate of each message.
    pub fn fates(&self) -> &[MessageFate] {
        &self.outcome.fates
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        !self.outcome.changed
    }

    /// How many messages have a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.fates().iter().filter(|message| message.fate == fate).count()
    }

    /// Estimated tokens of all messages before.
    pub fn total_before(&self) -> u64 {
        self.tokens_before.iter().sum()
    }

    /// Estimated tokens of all messages after.
    pub fn total_after(&self) -> u64 {
        self.tokens_after.iter().sum()
    }

    /// Chars of all messages before and after, as the pruner counts them (pruning 5.4).
    pub fn total_chars(&self) -> Result<(f64, f64), Throws> {
        self.fates().iter().try_fold((0.0, 0.0), |(before, after), fate| {
            Ok((before + fate.before.get()?, after + fate.after.get()?))
        })
    }
}

fn tokens(context: &Context) -> Vec<u64> {
    let tokens = |message: &crate::context::ContextMessage| {
        estimate_message(&message.size).ok().filter(|tokens| tokens.is_finite()).unwrap_or(0.0) as u64
    };
    context.messages.iter().map(tokens).collect()
}
