//! Messages that the prompts of a trace lack: from which call on, until which, and why.

use std::collections::BTreeMap;

use crate::ids::EntryIx;
use crate::replay::outcome::TrimStats;
use crate::units::Tokens;

/// The reason that the model lacks a message or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossCause {
    /// A summary replaced it.
    Summarised,
    /// The history limit or a repair left it out.
    Dropped,
    /// Pruning trimmed or cleared it.
    Pruned,
    /// Its tool use was cleared.
    Cleared,
    /// The guard cut or replaced it.
    Guarded,
    /// The budget of all results cut it.
    ResultBudget,
    /// A truncation or a context edit changed it.
    Rewritten,
    /// More than one policy changed messages of the prompt.
    SeveralPolicies,
}

impl LossCause {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Summarised => "summarised",
            Self::Dropped => "dropped",
            Self::Pruned => "pruned",
            Self::Cleared => "cleared",
            Self::Guarded => "guarded",
            Self::ResultBudget => "result-budget",
            Self::Rewritten => "rewritten",
            Self::SeveralPolicies => "several-policies",
        }
    }

    /// Returns the policy that edited messages of a prompt.
    pub(super) fn of_edits(pruned: &TrimStats, cleared: &TrimStats, guarded: &TrimStats) -> Self {
        let acted = [(pruned, Self::Pruned), (cleared, Self::Cleared), (guarded, Self::Guarded)];
        let mut acted = acted.into_iter().filter(|(stats, _)| stats.has_changes()).map(|(_, cause)| cause);
        match (acted.next(), acted.next()) {
            (Some(one), None) => one,
            _ => Self::SeveralPolicies,
        }
    }
}

/// A message that prompts lack, in whole or in part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextLoss {
    pub entry: EntryIx,
    pub cause: LossCause,
    /// Index of the first call without it.
    pub from_call: usize,
    /// Index of the first call that has it again; `None` if none has.
    pub until_call: Option<usize>,
    /// Tokens of the whole message.
    pub tokens_before: Tokens,
    /// Remaining tokens at the first call.
    pub tokens_after: Tokens,
}

impl ContextLoss {
    /// Whether the prompt of a call lacks the message.
    pub fn covers(&self, call: usize) -> bool {
        call >= self.from_call && self.until_call.is_none_or(|until| call < until)
    }
}

/// The losses of a trace so far.
#[derive(Debug, Default)]
pub(super) struct LossLog {
    pub(super) losses: Vec<ContextLoss>,
    /// The open loss of each withheld message, by its index in the arena.
    pub(super) open: BTreeMap<usize, usize>,
    /// The last prompt lacked every message before this one.
    pub(super) prefix: usize,
    pub(super) calls: usize,
    /// Something changed the recorded messages.
    pub(super) has_rewrites: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_word() {
        use LossCause::{
            Cleared, Dropped, Guarded, Pruned, ResultBudget, Rewritten, SeveralPolicies, Summarised,
        };
        let causes =
            [Summarised, Dropped, Pruned, Cleared, Guarded, ResultBudget, Rewritten, SeveralPolicies];
        assert_eq!(
            causes.map(LossCause::as_str).join(" "),
            "summarised dropped pruned cleared guarded result-budget rewritten several-policies"
        );
        let (none, some) = (TrimStats::default(), TrimStats { trimmed: 1, ..TrimStats::default() });
        assert_eq!(LossCause::of_edits(&some, &none, &none), Pruned);
        assert_eq!(LossCause::of_edits(&none, &some, &none), Cleared);
        assert_eq!(LossCause::of_edits(&none, &none, &some), Guarded);
        assert_eq!(LossCause::of_edits(&some, &none, &some), SeveralPolicies);
        assert_eq!(LossCause::of_edits(&some, &some, &none), SeveralPolicies);
    }
}
