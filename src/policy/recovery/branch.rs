//! The branch that recovery attempts change, as sizes only: each compaction or truncation edits it in memory.

use std::collections::HashMap;
use std::ops::Range;

use crate::context::tokens::estimate_message;
use crate::gateway::compaction::CompactionMode;
use crate::gateway::ruleset::{Aggregate, Compaction, Rules};
use crate::ids::EntryIx;
use crate::js::JsException;
use crate::policy::compact::{BranchEntry, Preparation, PreviousCompaction, prepare_under};
use crate::policy::recovery::CompactionOutcome;
use crate::policy::truncate::{Reduction, ResultEditor, reduce_results, result_budget, sized_result_chars};
use crate::store::entry::{CharCount, EntryKind, MessageSize, Role, StopReason};
use crate::store::measure::CompactChars;
use crate::units::{Chars, Tokens};

/// Chars per token of an assumed summary.
const CHARS_PER_TOKEN: f64 = 4.0;

/// The entries of a branch, root first, and the start of the part that its last compaction kept.
#[derive(Debug, Clone, Default)]
pub struct Branch {
    /// Simulated entries have the index of the entry that they repeat.
    pub entries: Vec<BranchEntry>,
    /// Position of the first entry that the last compaction kept; `None` when it is not on the branch.
    pub first_kept: Option<usize>,
    /// The weights of the messages in the provider's count; other messages have the default.
    pub weights: HashMap<EntryIx, MessageWeight>,
    /// Tokens of the last compaction's summary in the provider's count, if the recovery wrote it.
    pub summary_tokens: Option<Tokens>,
}

/// The weight of a message in the provider's count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageWeight {
    /// Tokens per estimated token.
    pub factor: f64,
    /// Tokens of the message as it is sent at most: the gateway's guard may shorten it.
    pub most: Tokens,
}

impl Default for MessageWeight {
    fn default() -> Self {
        Self { factor: 1.0, most: Tokens(f64::INFINITY) }
    }
}

impl Branch {
    fn last_compaction(&self) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.kind == EntryKind::Compaction)
    }

    /// Returns the entries that reach the model: the summary, the kept part and everything after (compaction 4.2, 4.3).
    fn context(&self) -> impl Iterator<Item = &BranchEntry> {
        let at = self.last_compaction();
        let (from, to) = (at.map_or(0, |at| self.first_kept.unwrap_or(at)), at.unwrap_or(0));
        let summary = at.map(|at| &self.entries[at]);
        let after = &self.entries[at.map_or(0, |at| at + 1)..];
        let sent = |entry: &&BranchEntry| match entry.kind {
            EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary => {
                entry.message.is_some()
            }
            _ => false,
        };
        summary.into_iter().chain(self.entries[from..to].iter().chain(after).filter(sent))
    }

    /// Sums the tokens of the messages in the provider's count; a message that cannot be estimated counts 0.
    pub(super) fn tokens(&self) -> Tokens {
        self.context().map(|entry| self.weighted_tokens(entry)).sum()
    }

    /// Returns the tokens of a message as it is sent.
    fn weighted_tokens(&self, entry: &BranchEntry) -> Tokens {
        let written = self.summary_tokens.filter(|_| entry.kind == EntryKind::Compaction);
        written.unwrap_or_else(|| self.whole_tokens(entry).min(self.weight(entry).most))
    }

    /// Returns the tokens of a whole message, as a summary call reads it.
    fn whole_tokens(&self, entry: &BranchEntry) -> Tokens {
        entry.message.map_or(Tokens::ZERO, |size| tokens(&size) * self.weight(entry).factor)
    }

    fn weight(&self, entry: &BranchEntry) -> MessageWeight {
        self.weights.get(&entry.entry).copied().unwrap_or_default()
    }

    /// Appends the provider's refusal, which is stored after the prompt (compaction 8.8).
    pub(super) fn push_error(&mut self) {
        let Some(last) = self.entries.last().copied() else { return };
        self.entries.push(BranchEntry { message: Some(empty_answer()), ..empty_entry(last.entry) });
    }

    /// Whether the newest answer is a refusal once the runtime has taken two out: the one that ends the branch, and one
    /// right before the prompt (releases R79).
    pub(super) fn leaves_refusal(&self) -> bool {
        let is_answer = |entry: &&BranchEntry| entry.role() == Some(Role::Assistant);
        let answers: Vec<&BranchEntry> = self.context().filter(is_answer).collect();
        let is_refusal =
            |entry: &&BranchEntry| entry.message.is_some_and(|size| size.stop_reason == StopReason::Error);
        answers.len() > 2 && answers.iter().rev().take(3).all(is_refusal)
    }

    /// Repeats the prompt. It then appears twice, unless the first one was still unanswered (compaction 8.20).
    pub(super) fn push_prompt(&mut self) {
        let is_user = |entry: &BranchEntry| entry.role() == Some(Role::User);
        let last_is_prompt = self.entries.last().is_some_and(is_user);
        let prompt = self.entries.iter().rfind(|entry| is_user(entry)).copied();
        self.entries.extend(prompt.filter(|_| !last_is_prompt));
    }

    /// Compacts the branch if there is anything to compact. `summary_tokens` is the assumed length of the summary;
    /// `one_call` is the input that one summary call accepts. Both are in the provider's count.
    pub(super) fn compact(
        &mut self,
        rules: &Rules,
        keep_tokens: Tokens,
        mode: CompactionMode,
        summary_tokens: Tokens,
        one_call: f64,
    ) -> CompactionOutcome {
        let from_hook = mode == CompactionMode::Safeguard;
        let ends_compacted = self.entries.last().is_some_and(|entry| entry.kind == EntryKind::Compaction);
        if ends_compacted && (from_hook || rules.compaction != Compaction::FromFirstKept) {
            return CompactionOutcome::AlreadyCompacted;
        }
        // After a refusal the gateway compacts to the room of the request, whatever the last usage was (compaction 12,
        // row "Cut point").
        let before = PreviousCompaction {
            first_kept: self.first_kept,
            from_hook,
            counted: Some(Tokens::ZERO),
            ..PreviousCompaction::default()
        };
        let estimate =
            |entry: &BranchEntry| entry.message.as_ref().map_or(Ok(Tokens::ZERO), estimate_message);
        let prepared = match prepare_under(rules, &self.entries, &before, keep_tokens, estimate) {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return CompactionOutcome::NothingToCompact,
            Err(JsException) => return CompactionOutcome::Throws,
        };
        if let Some(refused) = self.give_up_reason(rules, &prepared, mode, one_call) {
            return refused;
        }
        let summarised = self.summarised(prepared.history().start..prepared.turn_prefix().end).count();
        let merges_summary = prepared.previous_compaction.is_some();
        let lost =
            if rules.compaction == Compaction::AfterPrevious { self.lost_messages(&prepared) } else { 0 };
        let first_kept = prepared.cut.first_kept;
        let kept_tokens = self.entries[first_kept..]
            .iter()
            .filter_map(|entry| entry.message)
            .map(|size| tokens(&size))
            .sum();
        let is_user = |entry: &BranchEntry| entry.role() == Some(Role::User);
        let request_kept = self.entries.iter().rposition(is_user).is_none_or(|at| at >= first_kept);
        self.first_kept = Some(first_kept);
        self.push_summary(summary_tokens);
        CompactionOutcome::Done {
            summarised,
            merges_summary,
            first_kept: prepared.first_kept,
            kept_tokens,
            lost,
            request_kept,
        }
    }

    /// Returns why the safeguard or the runtime gives up on a preparation; `None` when it continues.
    fn give_up_reason(
        &self,
        rules: &Rules,
        prepared: &Preparation,
        mode: CompactionMode,
        one_call: f64,
    ) -> Option<CompactionOutcome> {
        let is_real = |entry: &BranchEntry| {
            let role = entry.message.map(|size| size.role);
            matches!(role, Some(Role::User | Role::Assistant | Role::ToolResult))
        };
        match mode {
            CompactionMode::Safeguard => {
                let counts_prefix = rules.compaction == Compaction::FromFirstKept;
                let prefix = prepared.turn_prefix().filter(|_| counts_prefix);
                let real = prepared.history().chain(prefix).any(|at| is_real(&self.entries[at]));
                let users = self.entries[prepared.start..].iter();
                let turns = users.filter(|entry| entry.role() == Some(Role::User)).count();
                (!real).then_some(CompactionOutcome::Cancelled { turns })
            }
            CompactionMode::Default => {
                // The beginning of a split turn has a call of its own.
                let calls = [prepared.history(), prepared.turn_prefix()];
                let tokens =
                    calls.map(|range| self.tokens_to_summarise(range)).into_iter().max_by(Tokens::total_cmp);
                let tokens = tokens.filter(|tokens| *tokens > Tokens(one_call));
                tokens.map(|tokens| CompactionOutcome::SummaryTooLarge { tokens })
            }
        }
    }

    fn summarised(&self, range: Range<usize>) -> impl Iterator<Item = &BranchEntry> {
        let entries = self.entries[range].iter();
        entries.filter(|entry| entry.message.is_some() && entry.kind != EntryKind::Compaction)
    }

    fn tokens_to_summarise(&self, range: Range<usize>) -> Tokens {
        self.summarised(range).map(|entry| self.whole_tokens(entry)).sum()
    }

    fn push_summary(&mut self, tokens: Tokens) {
        let Some(last) = self.entries.last().copied() else { return };
        let size = MessageSize {
            role: Role::CompactionSummary,
            pi_chars: CharCount::new(Ok(tokens.to_chars(CHARS_PER_TOKEN))),
            ..empty_answer()
        };
        self.summary_tokens = Some(tokens);
        self.entries.push(BranchEntry {
            kind: EntryKind::Compaction,
            message: Some(size),
            ..empty_entry(last.entry)
        });
    }

    /// Counts messages that the previous compaction kept and this one silently drops (compaction 3.3).
    fn lost_messages(&self, prepared: &Preparation) -> usize {
        let kept = prepared.previous_compaction.zip(self.first_kept);
        kept.map_or(0, |(at, from)| {
            self.entries[from.min(at)..at].iter().filter(|entry| entry.message.is_some()).count()
        })
    }

    pub(super) fn largest_result(&self) -> Chars {
        self.context().filter_map(result_chars).fold(Chars::ZERO, Chars::max)
    }

    /// Returns the entries that reach the model.
    pub(super) fn sent_entries(&self) -> Vec<BranchEntry> {
        self.context().copied().collect()
    }

    /// Copies the branch from a position on, as a rewrite does that keeps old ids: without labels and branch
    /// summaries. Returns whether the part that the last compaction kept is lost (compaction 8.17).
    pub(super) fn rewrite_from(&mut self, first: usize) -> bool {
        let copied = |(at, entry): &(usize, &BranchEntry)| {
            *at < first || !matches!(entry.kind, EntryKind::BranchSummary | EntryKind::Label)
        };
        let compaction = self.last_compaction();
        let loses =
            compaction.is_some_and(|at| first <= at && self.first_kept.is_some_and(|from| from >= first));
        if loses {
            self.first_kept = None;
        }
        self.entries = self.entries.iter().enumerate().filter(copied).map(|(_, entry)| *entry).collect();
        loses
    }
}

/// Estimates tokens; 0 when that fails.
fn tokens(size: &MessageSize) -> Tokens {
    estimate_message(size).ok().filter(|tokens| tokens.is_finite()).unwrap_or(Tokens::ZERO)
}

fn empty_entry(entry: EntryIx) -> BranchEntry {
    BranchEntry {
        entry,
        kind: EntryKind::Message,
        has_id: true,
        message: None,
        lacks_message: false,
        projected: None,
    }
}

fn empty_answer() -> MessageSize {
    MessageSize { role: Role::Assistant, stop_reason: StopReason::Error, ..MessageSize::EMPTY }
}

// The tool results that the gateway cuts in the file after an overflow, by their sizes (compaction 8.16–8.18, releases
// R35–R38).

/// Chars that every text block keeps in releases that look at each result alone (compaction 8.18).
const MIN_BLOCK_CHARS: Chars = Chars(2217.0);

/// Shortens the results that a release cuts for a window, where one result may have `limit` chars; releases with a
/// budget for all results cut for that too. Returns the positions of the shortened, in order.
pub(super) fn cut_results(
    entries: &mut [BranchEntry],
    rules: &Rules,
    window: Tokens,
    limit: Chars,
) -> Vec<usize> {
    let chars: Vec<Option<Chars>> = entries.iter().map(result_chars).collect();
    let Some(budget) = result_budget(rules, window, Some(limit), false) else {
        let over: Vec<usize> =
            (0..chars.len()).filter(|at| chars[*at].is_some_and(|chars| chars > limit)).collect();
        for at in over.iter().copied() {
            if let Some(size) = &mut entries[at].message {
                shorten(size, limit.max(MIN_BLOCK_CHARS * f64::from(size.text_blocks.max(1))));
            }
        }
        return over;
    };
    let is_result: Vec<bool> = chars.iter().map(Option::is_some).collect();
    let chars = chars.into_iter().map(Option::unwrap_or_default).collect();
    let mut editor = BranchEditor { entries, rule: budget.rule, previous: None };
    let mut cut: Vec<usize> =
        reduce_results(&mut editor, &is_result, chars, &budget).iter().map(|done| done.at).collect();
    cut.sort_unstable();
    cut.dedup();
    cut
}

/// Counts the chars of a tool result's text. A malformed result falls back to `text_chars`.
pub(super) fn result_chars(entry: &BranchEntry) -> Option<Chars> {
    let size = entry.message.filter(|_| entry.role() == Some(Role::ToolResult))?;
    Some(chars_of(&size))
}

fn chars_of(size: &MessageSize) -> Chars {
    sized_result_chars(size).unwrap_or_else(|| size.text_chars.get())
}

/// Reduces the sizes of a tool result as if its text were cut to `limit` chars.
fn shorten(size: &mut MessageSize, limit: Chars) {
    let chars = chars_of(size);
    let gone = chars - chars.min(limit);
    size.joined_chars -= gone;
    size.text_chars -= CompactChars::from(gone).min(size.text_chars);
    size.pi_chars = CharCount::new(size.pi_chars.value().map(|chars| chars - gone));
}

/// Changes results of a branch by size alone.
struct BranchEditor<'b> {
    entries: &'b mut [BranchEntry],
    rule: Aggregate,
    /// The entry before the last change.
    previous: Option<BranchEntry>,
}

impl ResultEditor for BranchEditor<'_> {
    fn change(&mut self, at: usize, by: Reduction) -> Chars {
        let entry = &mut self.entries[at];
        self.previous = Some(*entry);
        if let Some(size) = &mut entry.message {
            shorten(size, by.longest(self.rule));
        }
        result_chars(entry).unwrap_or_default()
    }

    fn revert(&mut self, at: usize) {
        if let Some(previous) = self.previous.take() {
            self.entries[at] = previous;
        }
    }
}
