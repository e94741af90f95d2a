//! The changes that a trace makes to its transcript: compactions, and truncations of large results after an overflow.

use crate::context::tokens::chars4::estimate_message;
use crate::context::tokens_before::TokensBefore;
use crate::gateway::compaction::CompactionMode;
use crate::gateway::ruleset::Compaction;
use crate::ids::EntryIx;
use crate::js::JsException;
use crate::policy::Policy;
use crate::policy::compact::{BranchEntry, Preparation, PreviousCompaction, assumed_summary, prepare_under};
use crate::policy::edit::Edit;
use crate::policy::truncate::truncate_after_overflow;
use crate::replay::bill::file_cost;
use crate::replay::cache::TokenSplit;
use crate::replay::outcome::{CompactionEvent, TrimStats};
use crate::replay::range_totals::ListStart;
use crate::replay::trace::Trace;
use crate::store::entry::{EntryKind, Role};
use crate::units::Tokens;

impl Trace<'_> {
    /// Compacts before the entry `ix`, with a summary of assumed length. Returns false if there is nothing to compact,
    /// or if the gateway refuses to (compaction 3.1, 5.1).
    pub(super) fn compact(&mut self, ix: EntryIx, by_overflow: bool) -> bool {
        let settings = &self.settings.policies;
        let from_hook = self.session.mode == CompactionMode::Safeguard;
        // After a refusal the gateway compacts to the room of the request instead.
        let counted = self.last_call.filter(|_| !by_overflow).map_or(Tokens::ZERO, |last| last.tokens);
        let before = PreviousCompaction {
            first_kept: self.branch.first_kept,
            from_hook,
            counted: Some(counted),
            ..PreviousCompaction::default()
        };
        let tokens = |entry: &BranchEntry| {
            let size = entry.message.ok_or(JsException)?;
            estimate_message(&size)
        };
        let keep = settings.compaction.keep_recent_tokens;
        let rules = settings.ruleset.rules();
        let is_counted = rules.compaction == Compaction::FromFirstKept;
        let least = if is_counted { self.branch.keep_at_count(keep, counted) } else { keep };
        if self.branch.keeps_all(least) {
            return false;
        }
        let counts_entries = rules.compaction != Compaction::Projected;
        let prepared = prepare_under(rules, &self.branch.entries, &before, keep, tokens);
        let is_real = |entry: &BranchEntry| {
            let role = entry.message.map(|size| size.role);
            matches!(role, Some(Role::User | Role::Assistant | Role::ToolResult))
        };
        let takes_history = |prepared: &Preparation| {
            !from_hook || self.branch.entries[prepared.history()].iter().any(is_real)
        };
        let Some(prepared) = prepared.ok().flatten().filter(takes_history) else {
            if counts_entries {
                self.branch.note_refusal(least);
            }
            return false;
        };
        let (size, features) = assumed_summary(settings.summary_tokens);
        let front = self.arena.push_assumed_summary(ix, size, features);
        let from = self.branch.messages_before[prepared.cut.first_kept];
        self.compact_to(ListStart { summary: Some(front), from }, by_overflow, None);
        let entry = BranchEntry {
            entry: ix,
            kind: EntryKind::Compaction,
            has_id: true,
            message: Some(size),
            lacks_message: false,
            projected: None,
        };
        self.branch.push(entry, self.messages_seen);
        self.branch.first_kept = Some(prepared.cut.first_kept);
        true
    }

    /// Replaces the list with a summary and the kept messages (compaction 4.2), and undoes the changes that a run made to
    /// its history. `written` is the entry of a compaction in the transcript.
    pub(super) fn compact_to(&mut self, start: ListStart, by_overflow: bool, written: Option<EntryIx>) {
        let old = self.session_start;
        self.loaded = None;
        self.history_trim = TrimStats::default();
        self.reduce_trim = TrimStats::default();
        self.run_start = old;
        self.reset_repairs();
        let (count, tokens) = (self.list_len(), self.totals().tokens);
        let from = start.from.max(old.from);
        let summary = |front: Option<usize>| {
            front.map_or(0.0, |at| self.arena.estimate_tokens(at, self.arena.size(at)).get())
        };
        let read = summary(old.summary) + self.prefix_sums.range(old.from.min(from), from).tokens.get();
        let price = self.session.price.map(|price| price.at(read));
        let listed = price.map(|price| (read * price.input + summary(start.summary) * price.output) / 1e6);
        self.session_start = start;
        self.run_start = start;
        // No later prompt has these messages; a long session has many.
        self.pruned_totals.retain(|(at, ..), _| *at >= start.from);
        if start.from < old.from {
            self.extend_repairs(start.from, old.from);
        }
        self.cache.invalidate_from(0);
        self.compacted_in_run = true;
        let usage = written.and_then(|ix| self.session.index.unanchored_usage.get(&ix).copied());
        let recorded = usage.as_ref().and_then(file_cost);
        let listed =
            usage.zip(price).map(|(usage, price)| TokenSplit::from_usage(&usage).cost(&price)).or(listed);
        let done = CompactionEvent {
            by_overflow,
            is_recorded: written.is_some(),
            messages: (count + 1).saturating_sub(self.list_len()) as u32,
            tokens: tokens - self.totals().tokens,
            summary_cost: recorded.filter(|usd| *usd > 0.0).or(listed),
            summary_recorded: recorded,
            count: 1,
            tokens_before: written.map(|_| TokensBefore::estimate(Tokens(self.fixed() + tokens.get()))),
        };
        self.compacted = Some(self.compacted.map_or(done, |earlier| earlier.followed_by(done)));
    }

    /// Truncates every result over the limit in the transcript, as the gateway does after an overflow that a compaction
    /// did not resolve (compaction 8.17). Returns false if no result is over the limit.
    pub(super) fn truncate(&mut self) -> bool {
        if !self.policies().has(Policy::Truncate) {
            return false;
        }
        let (from, to) = (self.session_start.from, self.messages_seen);
        let written: Vec<usize> = (from..to).filter(|at| !self.arena.base.is_missing(*at)).collect();
        let mut list = self.arena.list(written.iter().map(|at| self.arena.planned_message(*at)).collect());
        let rules = self.settings.policies.ruleset.rules();
        truncate_after_overflow(&mut list, rules, self.settings.window, &self.settings.policies.truncate);
        let cut: Vec<(usize, Edit)> = list
            .messages()
            .iter()
            .enumerate()
            .flat_map(|(at, _)| list.edits(at).iter().map(move |edit| (at, edit)))
            .map(|(at, edit)| (written[at], edit.clone()))
            .collect();
        let Some(first) = cut.first().map(|(first, _)| *first) else { return false };
        let before = self.totals().tokens;
        self.cache.invalidate_from(written.partition_point(|at| *at < first));
        let mut changed: Vec<usize> = cut.iter().map(|(at, _)| *at).collect();
        changed.dedup();
        for (at, edit) in &cut {
            self.arena.apply_edit(*at, edit);
            let (entry, size) = (self.arena.context.messages[*at].entry, *self.arena.size(*at));
            self.branch.resize(entry, size);
        }
        self.pruned_totals.clear();
        self.measure_from(first);
        self.reset_repairs();
        self.loaded = None;
        self.run_start = self.session_start;
        self.truncated = Some(CompactionEvent {
            by_overflow: true,
            is_recorded: false,
            messages: changed.len() as u32,
            tokens: before - self.totals().tokens,
            summary_cost: None,
            summary_recorded: None,
            count: 0,
            tokens_before: None,
        });
        true
    }
}
