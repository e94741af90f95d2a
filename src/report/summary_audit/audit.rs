//! The outcome of an audit.

use crate::ids::EntryIx;
use crate::report::facts::FactKind;

/// One summary and the facts of the messages that it replaces.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryAudit {
    /// The compaction.
    pub entry: EntryIx,
    /// Messages that it replaces, an earlier summary included.
    pub messages: usize,
    /// Each fact once: those lost and used later first, then stale, lost and kept ones.
    pub facts: Vec<AuditedFact>,
}

/// A fact of the summarised messages.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedFact {
    pub kind: FactKind,
    /// As the last message writes it. May hold secrets.
    pub text: String,
    /// The name before it, as in `port: 8080`.
    pub name: Option<String>,
    /// The last message that has it.
    pub source: EntryIx,
    pub state: FactState,
    /// The first later message of the model or of the user that uses it although no message of the prompt had it.
    pub used_later: Option<EntryIx>,
}

/// The fate of a fact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactState {
    /// The summary has it, a sentence perhaps in other words.
    Kept,
    /// A message after the cut has it, so the prompt does too.
    InKeptMessages,
    /// The summary has an older value of the same name.
    Stale { summary: String },
    /// Neither the summary nor a kept message has it.
    Lost,
}

impl FactState {
    /// The name in JSON and on screen.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::InKeptMessages => "in-kept-messages",
            Self::Stale { .. } => "stale",
            Self::Lost => "lost",
        }
    }
}

/// Counts of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditTotals {
    pub facts: usize,
    /// In the summary, or in a kept message.
    pub kept: usize,
    pub stale: usize,
    pub lost: usize,
    /// Lost or stale ones that were used later.
    pub used_later: usize,
}

impl SummaryAudit {
    pub fn totals(&self) -> AuditTotals {
        let mut totals = AuditTotals { facts: self.facts.len(), ..AuditTotals::default() };
        for fact in &self.facts {
            match fact.state {
                FactState::Kept | FactState::InKeptMessages => totals.kept += 1,
                FactState::Stale { .. } => totals.stale += 1,
                FactState::Lost => totals.lost += 1,
            }
            totals.used_later += usize::from(fact.used_later.is_some());
        }
        totals
    }
}
