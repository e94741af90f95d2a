//! The provider's counts along a path, and the last one that still holds for the context.

use std::collections::{HashMap, HashSet};

use crate::commit::{ReceiptKind, committed_prompt, receipt_kind};
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{ContentSource, Context, ContextMessage};
use crate::ids::EntryIx;
use crate::policy::guard::GuardLimits;
use crate::session::overflow::{Overflow, OverflowKind};
use crate::store::entry::{EntryKind, ReadMode, Usage};
use crate::store::index::Index;
use crate::store::source::Source;
use crate::units::Tokens;

/// The data of a session from which its prompts are counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptCounts<'a> {
    pub(super) source: &'a Source,
    pub(super) index: &'a Index,
    pub(super) context: &'a Context,
    pub(super) overflows: &'a [Overflow],
    /// Answers whose usage does not measure their prompt.
    pub(super) unreliable_counts: &'a HashSet<EntryIx>,
    /// Chars before the messages, when a run left a report.
    pub(super) fixed_chars: Option<FixedChars>,
    /// The limits of the gateway's guard, within which every prompt was sent.
    pub(super) guard: Option<GuardLimits>,
}

/// The last prompt of the path that the provider counted, or that a commit left.
pub(super) struct LastCount {
    pub(super) entry: EntryIx,
    /// Whether the count is that of a commit's plan. It then includes every message up to the entry.
    pub(super) is_planned: bool,
    pub(super) tokens: Tokens,
    /// Tokens of the answer, which the next prompt includes.
    pub(super) answer_tokens: Tokens,
}

impl PromptCounts<'_> {
    /// Returns the tokens before the messages by chars/4.
    pub(super) fn fixed_tokens(&self) -> u64 {
        Budget::fixed_only(self.fixed_chars).total()
    }

    /// Returns the prompts that the provider counted and refused, by entry. Ignores the gateway's own check, which only
    /// estimates.
    pub(super) fn refused_prompts(&self) -> HashMap<EntryIx, f64> {
        let counted = self.overflows.iter().filter(|overflow| overflow.kind != OverflowKind::Precheck);
        let prompts = counted.filter_map(|overflow| Some((overflow, overflow.prompt_tokens()?)));
        let prompts = prompts.filter(|(_, prompt)| *prompt > 0);
        let entries = prompts.flat_map(|(overflow, prompt)| {
            let all = std::iter::once(overflow.entry).chain(overflow.duplicates.iter().copied());
            all.map(move |entry| (entry, prompt as f64))
        });
        entries.collect()
    }

    /// Selects the weights of the context's messages from those of the path. A message whose content an edit replaced has
    /// the same share of its weight as of its estimate.
    pub(super) fn message_weights(&self, weights: &[Tokens]) -> Vec<Tokens> {
        let mut by_entry = vec![Tokens::ZERO; self.index.entries.len()];
        for (ix, weight) in self.context.path.iter().zip(weights) {
            by_entry[ix.index()] = *weight;
        }
        let weigh = |message: &ContextMessage| {
            let own = by_entry[message.entry.index()];
            match message.content_source {
                ContentSource::Edited(_) => {
                    let whole = self.index.entry(message.entry).message;
                    let whole = whole.map_or(0, |size| estimate_or_zero(&size)).max(1);
                    own * (estimate_or_zero(&message.size) as f64 / whole as f64)
                }
                ContentSource::Own | ContentSource::Checkpoint => own,
            }
        };
        self.context.messages.iter().map(weigh).collect()
    }

    /// Returns the last count of the path, or `None` if the context has changed since.
    pub(super) fn last_count(&self) -> Option<LastCount> {
        let (index, context) = (self.index, self.context);
        let refused = self.refused_prompts();
        for ix in context.path.iter().rev() {
            let entry = index.entry(*ix);
            let edited = index.reading == ReadMode::Projected && entry.kind == EntryKind::ContextEdit;
            if is_committed_branch(index, *ix) {
                return self.planned_count(*ix);
            }
            let changed = Some(*ix) == context.compaction || Some(*ix) == context.reset;
            if changed || edited {
                let record = self.context.path.iter().rev().skip_while(|at| *at != ix).nth(1)?;
                return is_committed_branch(index, *record).then(|| self.planned_count(*record))?;
            }
            if let Some(tokens) = refused.get(ix) {
                return Some(LastCount {
                    entry: *ix,
                    is_planned: false,
                    tokens: Tokens(*tokens),
                    answer_tokens: Tokens::ZERO,
                });
            }
            let usage = entry.message.filter(|_| entry.is_model_call()).and_then(|size| size.usage);
            let failed = || index.unanchored_usage.get(ix).copied().filter(|_| entry.is_model_call());
            let usage = usage
                .or_else(failed)
                .filter(Usage::has_prompt_tokens)
                .filter(|_| !self.unreliable_counts.contains(ix));
            if let Some(usage) = usage {
                let answer = Some(usage.output).filter(|tokens| tokens.is_finite()).unwrap_or(Tokens::ZERO);
                return Some(LastCount {
                    entry: *ix,
                    is_planned: false,
                    tokens: usage.prompt_tokens(),
                    answer_tokens: answer,
                });
            }
        }
        None
    }

    /// Returns the prompt that a commit planned, and the last entry that it wrote: a compaction follows its record.
    fn planned_count(&self, record: EntryIx) -> Option<LastCount> {
        let tokens = committed_prompt(self.index, self.source, record)?;
        let entry = self.context.compaction.filter(|compaction| *compaction > record).unwrap_or(record);
        Some(LastCount { entry, is_planned: true, tokens, answer_tokens: Tokens::ZERO })
    }
}

// The last prompt that a provider counted on a path, or why there is none.
//
// A count is only valid while its messages are still the ones sent: a compaction, reset, edit or commit ends it.

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPrompt {
    /// Prompt tokens: `input` + `cacheRead` + `cacheWrite`.
    pub prompt_tokens: u64,
    /// The assistant entry that reports them.
    pub entry: EntryIx,
}

/// The reason that no provider's count shows the size of the next prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmeasuredReason {
    /// No answer on the path reports usage.
    NoUsage,
    /// No count since the compaction; earlier messages are not sent any more.
    SinceCompaction,
    /// No count since the reset; earlier messages are not sent any more.
    SinceReset,
    /// No count since a commit wrote the branch; its copies carry the usage of the old branch.
    SinceCommit,
    /// No count since the context was edited; earlier counts are of another text (store-pi-1.5 E5).
    SinceEdit,
    /// The leaf in view is not the session's own.
    OtherLeaf,
}

impl UnmeasuredReason {
    /// Returns a few words to show instead of the number.
    pub fn label(self) -> &'static str {
        match self {
            Self::NoUsage => "no usage recorded",
            Self::SinceCompaction => "none since summary",
            Self::SinceReset => "none since reset",
            Self::SinceCommit => "none since commit",
            Self::SinceEdit => "none since edit",
            Self::OtherLeaf => "not at this leaf",
        }
    }
}

/// Returns the last counted prompt on the path. A count before the last compaction does not hold for the next prompt,
/// even if its message was kept; nor does a count copied to a new branch.
pub(super) fn last_prompt(index: &Index, context: &Context) -> Result<MeasuredPrompt, UnmeasuredReason> {
    for ix in context.path.iter().rev() {
        if Some(*ix) == context.compaction {
            return Err(UnmeasuredReason::SinceCompaction);
        }
        if Some(*ix) == context.reset {
            return Err(UnmeasuredReason::SinceReset);
        }
        if index.reading == ReadMode::Projected && index.entry(*ix).kind == EntryKind::ContextEdit {
            return Err(UnmeasuredReason::SinceEdit);
        }
        if is_committed_branch(index, *ix) {
            return Err(UnmeasuredReason::SinceCommit);
        }
        let usage = index.entry(*ix).message.and_then(|message| message.usage);
        let tokens = usage.map_or(0.0, |usage| usage.prompt_tokens().get());
        if tokens.is_finite() && tokens > 0.0 {
            return Ok(MeasuredPrompt { prompt_tokens: tokens as u64, entry: *ix });
        }
    }
    Err(UnmeasuredReason::NoUsage)
}

/// Whether a commit's branch ends here: the entries before it on the path are copies.
pub(super) fn is_committed_branch(index: &Index, ix: EntryIx) -> bool {
    receipt_kind(index, ix) == Some(ReceiptKind::Commit)
}
