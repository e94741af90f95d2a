//! The outcome of one call.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::tokens_before::TokensBefore;
use crate::ids::EntryIx;
use crate::policy::preflight::Route;
use crate::policy::prune::Gate;
use crate::replay::cache::TokenSplit;
use crate::replay::edit_digest::EditDigest;
use crate::replay::range_totals::{EditTotals, GuardRange, RangeTotals};
use crate::units::{Rounded, Tokens};

/// The changes that one policy made to a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TrimStats {
    /// Messages of which a part stays.
    pub trimmed: u32,
    /// Messages that a placeholder replaces or that are left out.
    pub cleared: u32,
    /// Tokens removed.
    pub tokens: Tokens,
}

impl TrimStats {
    pub fn has_changes(&self) -> bool {
        self.trimmed + self.cleared > 0
    }
}

/// A compaction or truncation before a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEvent {
    /// Whether an overflow caused it.
    pub by_overflow: bool,
    #[serde(rename = "recorded")]
    pub is_recorded: bool,
    /// Messages that it removed.
    pub messages: u32,
    /// Tokens that it removed.
    #[serde(with = "Rounded")]
    pub tokens: Tokens,
    /// Tokens before it.
    #[serde(rename = "before")]
    #[schemars(with = "Option<f64>")]
    pub tokens_before: Option<TokensBefore>,
    /// Cost of the summary.
    #[serde(rename = "cost")]
    pub summary_cost: Option<f64>,
    /// Cost that the file records for the summary, in USD; the sum if several compactions precede one call.
    #[serde(skip)]
    pub summary_recorded: Option<f64>,
    /// Compactions since the previous call.
    #[serde(skip)]
    pub count: u32,
}

impl CompactionEvent {
    /// Returns the tokens before it: from the transcript, otherwise `after`, the tokens of the next call, plus the
    /// tokens that the compaction removed.
    pub fn tokens_before_or_estimate(&self, after: Tokens) -> TokensBefore {
        self.tokens_before.unwrap_or_else(|| TokensBefore::estimate(after + self.tokens))
    }

    /// Merges it with a later one before the same call.
    #[must_use]
    pub(super) fn followed_by(self, later: Self) -> Self {
        let sum = |one: Option<f64>, other: Option<f64>| {
            one.zip(other).map(|(one, other)| one + other).or(one).or(other)
        };
        Self {
            messages: self.messages + later.messages,
            tokens: self.tokens + later.tokens,
            summary_cost: sum(self.summary_cost, later.summary_cost),
            summary_recorded: sum(self.summary_recorded, later.summary_recorded),
            count: self.count + later.count,
            tokens_before: self.tokens_before.or(later.tokens_before),
            ..later
        }
    }
}

/// Identity of a prompt: its messages and the changes made to them. Two traces compare it for every call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PromptKey {
    /// The summary at the front: its entry, and whether the transcript holds it. An assumed summary has the entry
    /// before which it was made.
    pub(super) summary: Option<(EntryIx, bool)>,
    pub(super) from: usize,
    pub(super) len: usize,
    /// Tokens of its messages before this call's changes.
    pub(super) base_tokens: Tokens,
    pub(super) edits: EditDigest,
}

/// Source of a prompt's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptSizeSource {
    Counted,
    FromRefusal,
    Estimated,
    /// Unknown: the call was refused or failed without a number. `expected` is only a lower bound.
    Unknown,
}

/// One call under some settings.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReplay {
    /// Estimated tokens of the prompt.
    pub tokens: Tokens,
    /// Tokens of the prompt as the provider would count them: the provider's count plus the change that the settings
    /// make; the estimate where the provider counted nothing.
    pub expected: Tokens,
    /// The prompt did not fit. The second try may have fitted after a compaction.
    pub overflowed: bool,
    /// The last try did not fit either: there was no answer.
    pub failed: bool,
    pub size_source: PromptSizeSource,
    pub messages: usize,
    pub gate: Gate,
    pub pruned: TrimStats,
    pub guarded: TrimStats,
    pub cleared: TrimStats,
    /// Messages that the turn limit removed for this run.
    pub history_trim: TrimStats,
    /// Results that the budget of all tool results changed when this run began.
    pub reduce_trim: TrimStats,
    /// Result of the check before the prompt; `None` where the version has no check, or does not check before this
    /// call.
    pub checked: Option<Route>,
    /// The gateway's estimate per token of the check, for a call that the gateway refused in the recorded trace.
    pub(super) gateway_factor: f64,
    pub compacted: Option<Box<CompactionEvent>>,
    /// The compaction that the transcript holds after the last call; `None` for every other call.
    pub compacted_after: Option<Box<CompactionEvent>>,
    /// A truncation of large results in the transcript before it.
    pub truncated: Option<Box<CompactionEvent>>,
    /// The first message that differs from the transcript for this call.
    pub first_changed: Option<EntryIx>,
    /// The first message that differs from the prompt before it, in the recorded trace; `None` if this prompt only adds
    /// messages.
    pub prefix_changed: Option<EntryIx>,
    /// Its tokens by price class.
    pub split: TokenSplit,
    /// Cost of the tokens in USD: the recorded amount if above 0, otherwise the list price; `None` if neither is known.
    pub cost: Option<f64>,
    /// Cost that the file records for exactly these tokens, in USD; 0 counts as recorded.
    pub recorded_cost: Option<f64>,
    /// Cost by the cache model in USD, even where the file records one.
    pub modelled_cost: Option<f64>,
    /// The split is the provider's count, not the cache model's.
    pub is_measured: bool,
    /// Cost that this call's changes add at the cache, in USD; negative where they save at once.
    pub cache_cost: Option<f64>,
    /// Cost of all calls so far and of their summaries, in USD.
    pub total_cost: f64,
    pub(super) prompt: PromptKey,
}

impl CallReplay {
    pub fn trimmed_count(&self) -> u32 {
        self.pruned.trimmed + self.guarded.trimmed + self.cleared.trimmed
    }

    pub fn cleared_count(&self) -> u32 {
        self.pruned.cleared + self.guarded.cleared + self.cleared.cleared
    }

    /// Whether the size of the prompt is known or estimated.
    pub fn has_size(&self) -> bool {
        self.size_source != PromptSizeSource::Unknown
    }

    pub fn is_estimate(&self) -> bool {
        self.size_source == PromptSizeSource::Estimated
    }

    /// Returns the label of a prompt of unknown size.
    pub fn missing_size_label(&self) -> &'static str {
        if self.overflowed { "refused" } else { "failed" }
    }

    pub(super) fn has_same_prompt(&self, other: &PromptKey) -> bool {
        self.prompt == *other
    }
}

/// The changes that one call's policies made.
#[derive(Default)]
pub(super) struct StepOutcome {
    pub(super) pruned: TrimStats,
    pub(super) guarded: TrimStats,
    pub(super) cleared: TrimStats,
    /// The guard's range, where prefix sums gave the result.
    pub(super) guard_range: Option<GuardRange>,
    /// All other edits: position, tokens after, tokens removed.
    pub(super) edits: Vec<(usize, Tokens, Tokens)>,
    /// Tokens removed by all edits.
    pub(super) freed_tokens: Tokens,
    pub(super) edit_digest: EditDigest,
    pub(super) first_changed: Option<EntryIx>,
    /// Pruning replaced something, even if with identical bytes.
    pub(super) was_pruned: bool,
    /// The guard ends the call.
    pub(super) stopped: bool,
}

/// The form in which pruning leaves a result that it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PrunedForm {
    Trimmed,
    Cleared,
}

/// A result after the guard.
pub(super) struct GuardedResult {
    pub(super) at: usize,
    /// Its tokens before any policy.
    pub(super) before: f64,
    pub(super) is_pruned: bool,
    /// Its totals after pruning.
    pub(super) totals: RangeTotals,
    /// The guard's effect.
    pub(super) edits: EditTotals,
}

impl StepOutcome {
    pub(super) fn add_result(&mut self, result: &GuardedResult, clears: bool) {
        let GuardedResult { at, before, is_pruned, totals, edits: done } = result;
        self.guarded.trimmed += done.trimmed;
        self.guarded.cleared += done.cleared;
        self.guarded.tokens += done.tokens;
        let guarded = totals.tokens - done.tokens;
        let after = if clears { totals.tokens - totals.cleared.tokens } else { guarded };
        if clears {
            self.cleared.cleared += 1;
            self.cleared.tokens += guarded - after;
        }
        if *is_pruned || done.count() > 0 || clears {
            self.edits.push((*at, after, Tokens(before - after.get())));
        }
    }
}

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

    fn event(tokens: Tokens, cost: Option<f64>, by_overflow: bool) -> CompactionEvent {
        CompactionEvent {
            by_overflow,
            is_recorded: false,
            messages: 2,
            tokens,
            summary_cost: cost,
            summary_recorded: None,
            count: 1,
            tokens_before: Some(TokensBefore::estimate(tokens)),
        }
    }

    #[test]
    fn two_compactions_before_one_call_add_up() {
        let both = event(Tokens(100.0), Some(0.25), false).followed_by(event(Tokens(30.0), Some(0.5), true));
        assert_eq!((both.messages, both.tokens, both.count), (4, Tokens(130.0), 2));
        assert_eq!((both.summary_cost, both.summary_recorded), (Some(0.75), None));
        assert!(both.by_overflow, "the last one says why");
        assert_eq!(
            both.tokens_before,
            Some(TokensBefore::estimate(Tokens(100.0))),
            "the first one says how much was there"
        );
        assert_eq!(
            event(Tokens(100.0), None, false).followed_by(event(Tokens(30.0), Some(0.5), true)).summary_cost,
            Some(0.5)
        );
    }

    #[test]
    fn a_trim_without_trimmed_messages_is_not_a_change() {
        let trim =
            |trimmed: u32, cleared: u32| TrimStats { trimmed, cleared, tokens: Tokens(5.0) }.has_changes();
        assert!(!trim(0, 0) && trim(1, 0) && trim(0, 1));
    }
}

#[cfg(test)]
mod losses_tests {
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
