//! The message list that a trace would send now: its length, its totals, and the positions of its messages on the path.

use std::borrow::Cow;

use crate::policy::message_list::PlannedMessage;
use crate::replay::range_totals::{ListStart, RangeTotals};
use crate::replay::trace::{LoadedHistory, Trace};
use crate::store::entry::Role;
use crate::units::Tokens;

impl Trace<'_> {
    pub(super) fn list_len(&self) -> usize {
        match &self.loaded {
            Some(loaded) => loaded.messages.len() + self.sent_count(self.run_base_len, self.messages_seen),
            None => {
                usize::from(self.run_start.summary.is_some())
                    + self.sent_count(self.run_start.from, self.messages_seen)
            }
        }
    }

    pub(super) fn message_at(&self, at: usize) -> PlannedMessage {
        if let Some(loaded) = &self.loaded {
            let own = loaded.messages.get(at).cloned();
            return own.unwrap_or_else(|| {
                self.arena.planned_message(self.index_after(self.run_base_len, at - loaded.messages.len()))
            });
        }
        self.arena.planned_message(self.arena_index(at))
    }

    /// Returns the arena index of a list position, where the list is a summary and a range of the path.
    pub(super) fn arena_index(&self, at: usize) -> usize {
        match self.run_start.summary {
            Some(front) if at == 0 => front,
            front => self.arena_index_after(at - usize::from(front.is_some())),
        }
    }

    /// Returns the end of the first `count` messages after the list's summary.
    pub(super) fn arena_index_after(&self, count: usize) -> usize {
        self.index_after(self.run_start.from, count)
    }

    /// Returns the end of the first `count` messages from an arena index on.
    fn index_after(&self, from: usize, count: usize) -> usize {
        if self.arena.base.repair_changes.is_empty() {
            return from + count;
        }
        self.prefix_sums.find_first(from, self.messages_seen, |totals| totals.count as usize > count)
    }

    /// Counts the messages of `from..to` that are sent.
    pub(super) fn sent_count(&self, from: usize, to: usize) -> usize {
        self.prefix_sums.range(from, to).count as usize
    }

    pub(super) fn messages(&self) -> Vec<PlannedMessage> {
        self.list_messages(&self.run_start, self.loaded.as_ref(), self.run_base_len, self.arena.paired_until)
            .map(Cow::into_owned)
            .collect()
    }

    /// Returns the messages of a run's list: those that it loaded, or its start, and those sent after them.
    fn list_messages<'a>(
        &'a self,
        start: &ListStart,
        loaded: Option<&'a LoadedHistory>,
        run_from: usize,
        paired_until: usize,
    ) -> impl Iterator<Item = Cow<'a, PlannedMessage>> + 'a {
        let from = if loaded.is_some() { run_from } else { start.from };
        let front = start.summary.filter(|_| loaded.is_none());
        let sent = (from..self.messages_seen).filter(move |at| !self.arena.is_omitted_by(*at, paired_until));
        let behind = front.into_iter().chain(sent).map(|at| Cow::Owned(self.arena.planned_message(at)));
        loaded.into_iter().flat_map(|loaded| loaded.messages.iter().map(Cow::Borrowed)).chain(behind)
    }

    /// Returns the arena indices of a list that is not loaded.
    pub(super) fn arena_indices(&self) -> impl Iterator<Item = usize> + '_ {
        let sent = (self.run_start.from..self.messages_seen).filter(|at| !self.arena.is_omitted(*at));
        self.run_start.summary.into_iter().chain(sent)
    }

    pub(super) fn role_at(&self, at: usize) -> Role {
        self.arena.size(self.arena_index(at)).role
    }

    /// Returns the list position of a message of the path; 0 where the list is loaded, which invalidates all of it.
    pub(super) fn list_index(&self, place: usize) -> usize {
        if self.loaded.is_some() {
            return 0;
        }
        let from = self.run_start.from;
        usize::from(self.run_start.summary.is_some()) + self.sent_count(from, place.max(from))
    }

    pub(super) fn totals(&self) -> RangeTotals {
        if let Some(loaded) = &self.loaded {
            return loaded.totals + self.prefix_sums.range(self.run_base_len, self.messages_seen);
        }
        let front = self.run_start.summary;
        let front =
            front.map_or_else(RangeTotals::default, |at| self.measure.message_totals(&self.arena, at));
        front + self.prefix_sums.range(self.run_start.from, self.messages_seen)
    }

    /// Tokens of the first `count` messages of the list.
    pub(super) fn prefix_tokens(&self, count: usize) -> Tokens {
        if let Some(loaded) = &self.loaded {
            let own = loaded.messages.len();
            let end = self.index_after(self.run_base_len, count.saturating_sub(own));
            let rest = self.prefix_sums.range(self.run_base_len, end);
            return loaded.prefix_tokens[count.min(own)] + rest.tokens;
        }
        let Some(front) = self.run_start.summary else {
            return self.prefix_sums.range(self.run_start.from, self.arena_index_after(count)).tokens;
        };
        let Some(behind) = count.checked_sub(1) else { return Tokens::ZERO };
        let summary = self.arena.estimate_tokens(front, self.arena.size(front));
        summary + self.prefix_sums.range(self.run_start.from, self.arena_index_after(behind)).tokens
    }

    /// Returns the first message at which this run's list differs from the previous run's; `None` if it only grew.
    pub(super) fn first_list_change(&self, before: &ListBefore) -> Option<usize> {
        let start = before.start;
        if before.loaded.is_none() && self.loaded.is_none() {
            // Leading results without a call are dropped from the kept part; the summary before them does not change.
            let kept = start.summary == self.run_start.summary && start.from == self.session_start.from;
            let only_results = kept && self.history_trim.cleared == 0;
            let first = if only_results { usize::from(start.summary.is_some()) } else { 0 };
            return (start != self.run_start).then_some(first);
        }
        let own = (&self.run_start, self.loaded.as_ref(), self.run_base_len, self.arena.paired_until);
        let mut own = self.list_messages(own.0, own.1, own.2, own.3);
        let mut old =
            self.list_messages(&start, before.loaded.as_ref(), before.run_from, before.paired_until);
        old.position(|message| own.next() != Some(message))
    }
}

/// The list of the run before.
pub(super) struct ListBefore {
    pub(super) start: ListStart,
    pub(super) loaded: Option<LoadedHistory>,
    /// Messages that the session had when that run began.
    pub(super) run_from: usize,
    /// Messages that were paired then.
    pub(super) paired_until: usize,
}
