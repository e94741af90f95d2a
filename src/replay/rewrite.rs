//! What a lane writes to its transcript: compactions, and large results that are cut after an overflow.

use crate::context::before_compaction::TokensBefore;
use crate::context::tokens::chars4::estimate_message;
use crate::gateway::compaction::CompactionMode;
use crate::ids::EntryIx;
use crate::js::Throws;
use crate::policy::Step;
use crate::policy::compact::{Before, BranchEntry, assumed_summary, prepare_under};
use crate::policy::edit::Edit;
use crate::policy::truncate::recover_list;
use crate::replay::cache::Split;
use crate::replay::cost::in_file;
use crate::replay::lane::{Lane, Start};
use crate::replay::outcome::{Compacting, Trimmed};
use crate::store::entry::{EntryKind, MessageSize, Role};

/// The branch of a lane so far, as a compaction looks at it.
#[derive(Debug, Clone, Default)]
pub(super) struct Branch {
    entries: Vec<BranchEntry>,
    /// Messages of the path before each entry.
    before: Vec<usize>,
    /// The first entry that the last compaction kept.
    first_kept: Option<usize>,
}

impl Branch {
    /// Adds an entry with so many messages of the path before it.
    pub(super) fn push(&mut self, entry: BranchEntry, before: usize) {
        self.entries.push(entry);
        self.before.push(before);
    }

    /// An entry's message has other sizes now.
    pub(super) fn resize(&mut self, entry: EntryIx, size: MessageSize) {
        let own = self.entries.iter_mut().filter(|own| own.entry == entry);
        own.for_each(|own| own.message = Some(size).filter(|size| size.role != Role::Other));
    }

    /// The last compaction keeps the messages from this one on.
    pub(super) fn kept(&mut self, message: usize) {
        self.first_kept = Some(self.before.partition_point(|before| *before < message));
    }
}

impl Lane<'_> {
    /// Compacts before the entry `ix`, with a summary of assumed length; false where there is nothing to compact, or
    /// the gateway refuses to (compaction 3.1, 5.1).
    pub(super) fn compact(&mut self, ix: EntryIx, by_overflow: bool) -> bool {
        let settings = &self.settings.steps;
        let from_hook = self.session.mode == CompactionMode::Safeguard;
        let before = Before { first_kept: self.branch.first_kept, from_hook, ..Before::default() };
        let tokens = |entry: &BranchEntry| {
            let size = entry.message.ok_or(Throws)?;
            estimate_message(&size)
        };
        let keep = settings.compaction.keep_recent_tokens;
        let rules = settings.ruleset.rules();
        let prepared = prepare_under(rules, &self.branch.entries, &before, keep, tokens);
        let Ok(Some(prepared)) = prepared else { return false };
        let is_real = |entry: &BranchEntry| {
            let role = entry.message.map(|size| size.role);
            matches!(role, Some(Role::User | Role::Assistant | Role::ToolResult))
        };
        if from_hook && !self.branch.entries[prepared.history()].iter().any(is_real) {
            return false;
        }
        let (size, texture) = assumed_summary(settings.summary_tokens);
        let front = self.arena.push_assumed(ix, size, texture);
        let from = self.branch.before[prepared.cut.first_kept];
        self.compact_to(Start { front: Some(front), from }, by_overflow, None);
        let entry = BranchEntry {
            entry: ix,
            kind: EntryKind::Compaction,
            named: true,
            message: Some(size),
            no_message: false,
            projected: None,
        };
        self.branch.push(entry, self.upto);
        self.branch.first_kept = Some(prepared.cut.first_kept);
        true
    }

    /// From here on the list is a summary and what is kept (compaction 4.2). What a run did to its history is undone.
    /// `written` is the entry of a compaction that the transcript holds.
    pub(super) fn compact_to(&mut self, start: Start, by_overflow: bool, written: Option<EntryIx>) {
        let old = self.session_start;
        self.loaded = None;
        self.history = Trimmed::default();
        self.reduced = Trimmed::default();
        self.run_start = old;
        self.unpair();
        let (count, tokens) = (self.list_len(), self.held().tokens);
        let from = start.from.max(old.from);
        let summary =
            |front: Option<usize>| front.map_or(0.0, |at| self.arena.weigh(at, self.arena.size(at)));
        let read = summary(old.front) + self.sums.held(old.from.min(from), from).tokens;
        let price = self.session.price;
        let listed = price.map(|price| (read * price.input + summary(start.front) * price.output) / 1e6);
        self.session_start = start;
        self.run_start = start;
        if start.from < old.from {
            self.go_back(start.from, old.from);
        }
        self.cache.changed_from(0);
        self.compacted_in_run = true;
        let usage = written.and_then(|ix| self.session.index.beside.get(&ix).copied());
        let recorded = usage.as_ref().and_then(in_file);
        let listed = usage.zip(price).map(|(usage, price)| Split::recorded(&usage).cost(&price)).or(listed);
        let done = Compacting {
            by_overflow,
            recorded: written.is_some(),
            messages: (count + 1).saturating_sub(self.list_len()) as u32,
            tokens: tokens - self.held().tokens,
            summary_cost: recorded.filter(|usd| *usd > 0.0).or(listed),
            summary_recorded: recorded,
            times: 1,
            before: written.map(|_| TokensBefore::estimate(self.fixed() + tokens)),
        };
        self.compacted = Some(self.compacted.map_or(done, |earlier| earlier.then(done)));
    }

    /// Cuts every result over the limit in the transcript, as the gateway does after an overflow that a compaction did
    /// not help (compaction 8.17); false where none is.
    pub(super) fn truncate(&mut self) -> bool {
        if !self.steps().has(Step::Truncate) {
            return false;
        }
        let (from, to) = (self.session_start.from, self.upto);
        let written: Vec<usize> = (from..to).filter(|at| !self.arena.ground.is_missing(*at)).collect();
        let mut list = self.arena.list(written.iter().map(|at| self.arena.item(*at)).collect());
        let rules = self.settings.steps.ruleset.rules();
        recover_list(&mut list, rules, self.settings.window, &self.settings.steps.truncate);
        let cut: Vec<(usize, Edit)> = list
            .items()
            .iter()
            .enumerate()
            .flat_map(|(at, _)| list.edits(at).iter().map(move |edit| (at, edit)))
            .map(|(at, edit)| (written[at], edit.clone()))
            .collect();
        let Some(first) = cut.first().map(|(first, _)| *first) else { return false };
        let before = self.held().tokens;
        self.cache.changed_from(written.partition_point(|at| *at < first));
        let mut changed: Vec<usize> = cut.iter().map(|(at, _)| *at).collect();
        changed.dedup();
        for (at, edit) in &cut {
            self.arena.settle(*at, edit);
            let (entry, size) = (self.arena.context.messages[*at].entry, *self.arena.size(*at));
            self.branch.resize(entry, size);
        }
        self.forms.clear();
        self.measure_from(first);
        self.unpair();
        self.loaded = None;
        self.run_start = self.session_start;
        self.truncated = Some(Compacting {
            by_overflow: true,
            recorded: false,
            messages: changed.len() as u32,
            tokens: before - self.held().tokens,
            summary_cost: None,
            summary_recorded: None,
            times: 0,
            before: None,
        });
        true
    }
}
