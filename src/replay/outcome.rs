//! What became of one call.

use crate::context::tokens_before::TokensBefore;
use crate::ids::EntryIx;
use crate::policy::preflight::Route;
use crate::policy::prune::Gate;
use crate::replay::cache::TokenSplit;
use crate::replay::edit_digest::EditDigest;

/// What one step changed in a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TrimStats {
    /// Messages of which a part stays.
    pub trimmed: u32,
    /// Messages that a placeholder stands for, or that are left out.
    pub cleared: u32,
    /// Tokens less.
    pub tokens: f64,
}

impl TrimStats {
    /// Whether it changed anything.
    pub fn has_changes(&self) -> bool {
        self.trimmed + self.cleared > 0
    }
}

/// A compaction, or a cut of large results in the transcript, before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionEvent {
    /// The provider had refused the prompt; without it the threshold was passed (compaction 2.11).
    pub by_overflow: bool,
    /// It stands in the transcript.
    pub is_recorded: bool,
    /// Messages that went.
    pub messages: u32,
    /// Tokens less.
    pub tokens: f64,
    /// The cost of its summary, USD: what the file records above 0, else the list price; none where neither is known.
    pub summary_cost: Option<f64>,
    /// The cost that the file records for the summary, USD; of several compactions before one call the sum.
    pub summary_recorded: Option<f64>,
    /// Compactions since the call before.
    pub count: u32,
    /// Tokens of the context before the first of them; none where only the simulation compacts.
    pub tokens_before: Option<TokensBefore>,
}

impl CompactionEvent {
    /// Tokens before it: as the transcript says, else those of the call behind it and what the compaction took away.
    pub fn tokens_before_or_estimate(&self, after: f64) -> TokensBefore {
        self.tokens_before.unwrap_or_else(|| TokensBefore::estimate(after + self.tokens))
    }

    /// This one and another behind it, before the same call.
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

/// What tells two prompts of one call apart: which messages, and what was done to them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PromptKey {
    /// The summary at the front; of one that is assumed the place where it was made.
    pub(super) summary: Option<(EntryIx, bool)>,
    /// The first message behind it.
    pub(super) from: usize,
    /// Messages in all.
    pub(super) len: usize,
    /// Tokens of its messages before anything was done for this call.
    pub(super) base_tokens: f64,
    pub(super) edits: EditDigest,
}

/// Who says how large a prompt was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptSizeSource {
    /// The provider counted it.
    Counted,
    /// The refusal names it.
    FromRefusal,
    /// A rule estimates it.
    Estimated,
    /// Nobody: the call was refused or failed without a number. `expected` is only what it must have been at least.
    Unknown,
}

/// One call under some settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallReplay {
    /// Estimated tokens of the prompt.
    pub tokens: f64,
    /// Tokens of the prompt as the provider would count them: what it counted, moved by what the settings change; the
    /// estimate where it counted nothing.
    pub expected: f64,
    /// The prompt did not fit. A compaction may have made the second try fit.
    pub overflowed: bool,
    /// It did not fit in the end either: there was no answer.
    pub failed: bool,
    /// Who says how large the prompt was.
    pub size_source: PromptSizeSource,
    /// Messages of the prompt.
    pub messages: usize,
    /// What the pruner's gate said.
    pub gate: Gate,
    /// What pruning did.
    pub pruned: TrimStats,
    /// What the guard did.
    pub guarded: TrimStats,
    /// What the clearing of tool uses did.
    pub cleared: TrimStats,
    /// What the turn limit left out for this run.
    pub history_trim: TrimStats,
    /// What the budget of all tool results took of what this run began with.
    pub reduce_trim: TrimStats,
    /// What the check before the prompt said; none where the version has none, or makes none before this call.
    pub checked: Option<Route>,
    /// The compaction before it.
    pub compacted: Option<CompactionEvent>,
    /// The compaction that the transcript holds after it, where it is the last call.
    pub compacted_after: Option<CompactionEvent>,
    /// Large results were cut in the transcript before it.
    pub truncated: Option<CompactionEvent>,
    /// The first message that differs from the transcript for this call.
    pub first_changed: Option<EntryIx>,
    /// Its tokens by what they cost.
    pub split: TokenSplit,
    /// Their cost, USD: what the file records above 0, else the list price; none where neither is known.
    pub cost: Option<f64>,
    /// The cost that the file records for exactly these tokens, USD, 0 included.
    pub recorded_cost: Option<f64>,
    /// What they cost by the model of the cache, whatever was recorded.
    pub modelled_cost: Option<f64>,
    /// The split is what the provider counted, not the model of the cache.
    pub is_measured: bool,
    /// What the steps of this call add to its cost at the cache, USD; negative where it is cheaper at once.
    pub cache_cost: Option<f64>,
    /// Cost of all calls so far, and of their summaries.
    pub total_cost: f64,
    pub(super) prompt: PromptKey,
}

impl CallReplay {
    /// Messages that are trimmed for this call.
    pub fn trimmed_count(&self) -> u32 {
        self.pruned.trimmed + self.guarded.trimmed + self.cleared.trimmed
    }

    /// Messages that are cleared for this call.
    pub fn cleared_count(&self) -> u32 {
        self.pruned.cleared + self.guarded.cleared + self.cleared.cleared
    }

    /// Whether anybody says how large the prompt was, if only an estimate.
    pub fn has_size(&self) -> bool {
        self.size_source != PromptSizeSource::Unknown
    }

    /// Whether a rule estimated the size of the prompt.
    pub fn is_estimate(&self) -> bool {
        self.size_source == PromptSizeSource::Estimated
    }

    /// The word for a prompt that nobody names a size of.
    pub fn missing_size_label(&self) -> &'static str {
        if self.overflowed { "refused" } else { "failed" }
    }

    /// Whether a prompt is the same one.
    pub(super) fn has_same_prompt(&self, other: &PromptKey) -> bool {
        self.prompt == *other
    }
}
