//! What a runtime that projects its transcript does to a lane: edits of the context, and a look at the window before every
//! call (store-pi-1.5 D3, F2).

use crate::context::projection::{edited_size, own_size};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::policy::compact::check::compacts_between_turns;
use crate::policy::list::Item;
use crate::replay::lane::Lane;
use crate::store::entry::{EntryKind, MessageSize, Reading, StopReason};
use crate::store::index::Index;

/// The sizes of a message as the runtime of its transcript counts them.
pub(super) fn size_as(index: &Index, ix: EntryIx, size: &MessageSize) -> MessageSize {
    if index.pi.has(PiChange::CutsByContext) { own_size(index, ix, size) } else { size.read_as(index.pi) }
}

/// Whether an entry is an edit of the context to the runtime of its transcript.
pub(super) fn is_edit(index: &Index, ix: EntryIx) -> bool {
    index.reading == Reading::Projected && index.entry(ix).kind == EntryKind::ContextEdit
}

impl Lane<'_> {
    /// An edit of the context as it was written: from here on its target has another content, or weighs nothing
    /// (store-pi-1.5 D3).
    pub(super) fn take_edit(&mut self, ix: EntryIx) {
        let index = self.session.index;
        let target = index.entry(ix).reference;
        let Some(at) = target.and_then(|id| self.places.get(&id).copied()) else { return };
        let Some(message) = self.arena.context.messages.get(at).filter(|_| at < self.upto) else { return };
        if index.entry(message.entry).id != target {
            return;
        }
        // The last edit counts, and it is one of the message as it was written.
        let written = self.arena.ground.context.messages[at].size;
        let (entry, size) = (message.entry, edited_size(index, ix, &written));
        if let Some(first) = self.sent_at(at) {
            self.cache.changed_from(first);
        }
        self.is_edited = true;
        self.arena.resize(at, size);
        self.branch.resize(entry, size);
        self.forms.clear();
        self.measure_from(at);
        if let Some(loaded) = self.loaded.take() {
            self.loaded = Some(self.measured(loaded.items));
        }
    }

    /// Where a message of the path stands in the list; none where it is no part of it.
    fn sent_at(&self, at: usize) -> Option<usize> {
        match &self.loaded {
            Some(loaded) if at < self.run_from => {
                loaded.items.iter().position(|item: &Item| item.position() == Some(at))
            }
            Some(loaded) => Some(loaded.items.len() + at - self.run_from),
            None => (at >= self.run_start.from).then(|| self.index_of(at)),
        }
    }

    /// Whether the runtime compacts before the next call of a run: one that projects looks then too, and not only between
    /// runs (store-pi-1.5 F2).
    pub(super) fn compacts_before(&self, expected: f64) -> bool {
        let settings = &self.settings.steps;
        let within = self.last.is_some_and(|last| last.stop == StopReason::ToolUse);
        settings.ruleset.rules().pi.has(PiChange::ChecksBetweenTurns)
            && within
            && compacts_between_turns(
                &settings.compaction,
                self.counted_by_runtime().unwrap_or(expected),
                self.last.map_or(self.session.runtime_window, |last| {
                    self.session.runtime_window(&last.mind, self.settings)
                }),
            )
    }

    /// What the runtime itself takes the context for before a call: the last count, and chars / 4 of what came since, however
    /// far off that is (store-pi-1.5 E5).
    fn counted_by_runtime(&self) -> Option<f64> {
        let counted = self.last.map(|last| last.tokens).filter(|tokens| tokens.is_finite())?;
        let since = self.last_answer? + 1..self.upto;
        let sent = since.filter(|at| !self.arena.is_left_out(*at));
        Some(counted + sent.map(|at| estimate_or_zero(self.arena.size(at)) as f64).sum::<f64>())
    }
}
