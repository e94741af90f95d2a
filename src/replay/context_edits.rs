//! The effects of a runtime that projects its transcript: context edits, and a compaction check before every call
//! (store-pi-1.5 D3, F2).

use crate::context::projection::edited_size;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::policy::compact::check::is_due_between_turns;
use crate::policy::message_list::PlannedMessage;
use crate::replay::trace::Trace;
use crate::store::entry::StopReason;
use crate::units::Tokens;

impl Trace<'_> {
    /// Applies a context edit: from here on its target has other content or is omitted (store-pi-1.5 D3).
    pub(super) fn apply_context_edit(&mut self, ix: EntryIx) {
        let index = self.session.index;
        let target = index.entry(ix).reference;
        let Some(at) = target.and_then(|id| self.entry_positions.get(&id).copied()) else { return };
        let Some(message) = self.arena.context.messages.get(at).filter(|_| at < self.messages_seen) else {
            return;
        };
        if index.entry(message.entry).id != target {
            return;
        }
        // The last edit counts, and it applies to the recorded message.
        let written = self.arena.base.context.messages[at].size;
        let (entry, size) = (message.entry, edited_size(index, ix, &written));
        if let Some(first) = self.sent_list_index(at) {
            self.cache.invalidate_from(first);
        }
        self.has_context_edits = true;
        self.arena.resize(at, size);
        self.branch.resize(entry, size);
        self.pruned_totals.clear();
        self.measure_from(at);
        if let Some(loaded) = self.loaded.take() {
            self.loaded = Some(self.measure_list(loaded.messages));
        }
    }

    /// Returns the list position of a message of the path; `None` if the list does not hold it.
    fn sent_list_index(&self, at: usize) -> Option<usize> {
        match &self.loaded {
            Some(loaded) if at < self.run_base_len => {
                loaded.messages.iter().position(|item: &PlannedMessage| item.position() == Some(at))
            }
            Some(loaded) => Some(loaded.messages.len() + self.sent_count(self.run_base_len, at)),
            None => (at >= self.run_start.from).then(|| self.list_index(at)),
        }
    }

    /// Whether the runtime compacts before the next call of a run: a projecting runtime checks there too, and not only
    /// between runs (store-pi-1.5 F2).
    pub(super) fn should_compact_before(&self, expected: Tokens) -> bool {
        let settings = &self.settings.policies;
        let within = self.last_call.is_some_and(|last| last.stop_reason == StopReason::ToolUse);
        settings.ruleset.rules().pi.has(PiChange::ChecksBetweenTurns)
            && within
            && is_due_between_turns(
                &settings.compaction,
                self.runtime_context_tokens().unwrap_or(expected),
                self.last_call.map_or(self.session.runtime_window, |last| {
                    self.session.runtime_window(&last.cache_key, self.settings)
                }),
            )
    }

    /// Returns the runtime's own estimate of the context before a call: the last count plus chars / 4 of the messages
    /// since, even if inaccurate (store-pi-1.5 E5).
    fn runtime_context_tokens(&self) -> Option<Tokens> {
        let counted = self.last_call.map(|last| last.tokens).filter(|tokens| tokens.is_finite())?;
        let since = self.last_answer? + 1..self.messages_seen;
        let sent = since.filter(|at| !self.arena.is_omitted(*at));
        Some(counted + Tokens(sent.map(|at| estimate_or_zero(self.arena.size(at)) as f64).sum::<f64>()))
    }
}
