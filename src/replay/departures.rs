//! Finds where the record departs from a replay under its own settings, so that a replay under other settings starts
//! from what happened and not from an ideal gateway.
//!
//! The recorded gateway sometimes made no compaction where its rules ask for one: it did not recognise a refusal, or its
//! compaction failed. It also compacted for reasons that a replay does not know. Without these departures any change at
//! all would seem to repair the first kind, and would lose the second.

use crate::gateway::ruleset::Compaction;
use crate::ids::EntryIx;
use crate::replay::calls::{Departures, Due, ModelCall, PendingCompaction, RecordUse};
use crate::replay::trace::Trace;
use crate::store::entry::Role;

/// Missing compactions after which a session without any is taken for one in which they fail.
const MIN_FAILURES: usize = 2;

impl Trace<'_> {
    /// Whether the gateway makes a compaction that a rule asks for.
    fn happens(&mut self, due: Due) -> bool {
        match &mut self.record_use {
            RecordUse::None => true,
            RecordUse::Follow(known) => !known.always_fails && !known.missed.contains(&due),
            RecordUse::Derive { found, compacted } => {
                compacted.contains(&due.0) || {
                    found.missed.insert(due);
                    false
                }
            }
        }
    }

    /// Compacts where a rule asks for it, unless the recorded gateway did not. If there is nothing to summarise although
    /// the transcript has a compaction here, applies that one.
    pub(super) fn compact_when_due(&mut self, ix: EntryIx, by_overflow: bool) -> bool {
        if !self.happens((self.calls_made + usize::from(by_overflow), by_overflow)) {
            return false;
        }
        if self.compact(ix, by_overflow) {
            self.pending = PendingCompaction { has_compacted: true, ..PendingCompaction::default() };
            return true;
        }
        self.pending.found_nothing = by_overflow;
        self.apply_pending()
    }

    /// Compacts after a call that did not fit, unless the recorded gateway did not. The call's answer is in the transcript by
    /// then, where the kept part may begin with it; pi 1.x and its gateways leave it out before they compact.
    pub(super) fn compact_after_overflow(&mut self, call: &ModelCall) -> bool {
        let answer = self.session.branch[call.path_index];
        let is_left_out = self.settings.policies.ruleset.rules().compaction == Compaction::Projected;
        let is_answer = answer.role() == Some(Role::Assistant) && !is_left_out;
        if is_answer {
            self.branch.push(answer, self.messages_seen);
        }
        let is_done = self.compact_when_due(call.entry, true);
        if is_answer && !is_done {
            self.branch.pop();
        }
        is_done
    }

    /// Whether a trace that decides itself when to compact takes over the compaction of the transcript at `place`.
    pub(super) fn takes_over(&mut self, place: usize) -> bool {
        let asked = match &self.record_use {
            RecordUse::None => return false,
            RecordUse::Follow(known) => known.underived.contains(&place) || self.pending.found_nothing,
            RecordUse::Derive { .. } => self.pending.found_nothing,
        };
        let derived = std::mem::take(&mut self.pending).has_compacted;
        // An earlier compaction replaces it if no more messages are left.
        let replaced = self.session_start.summary.is_some()
            && self.kept_from(place).is_some_and(|kept| self.session_start.from >= kept);
        if asked && !replaced {
            return true;
        }
        self.pending.place = Some(place).filter(|_| !derived);
        false
    }

    /// Notes a compaction of the transcript that no rule asked for before the next call. Returns whether that changed the
    /// list.
    pub(super) fn settle_pending(&mut self) -> bool {
        let place = self.pending.place;
        let applied = match (&mut self.record_use, place) {
            (RecordUse::Derive { found, .. }, Some(place)) => {
                found.underived.insert(place);
                self.apply_pending()
            }
            _ => false,
        };
        self.pending.place = None;
        self.pending.found_nothing = false;
        applied
    }

    /// Whether results are truncated after a refusal: not if the record shows that nothing followed it.
    pub(super) fn may_truncate(&self, call: &ModelCall) -> bool {
        let due = (self.calls_made + 1, true);
        call.retried
            || match &self.record_use {
                RecordUse::None => true,
                RecordUse::Follow(known) => !known.missed.contains(&due),
                RecordUse::Derive { found, .. } => !found.missed.contains(&due),
            }
    }

    fn apply_pending(&mut self) -> bool {
        let Some(place) = self.pending.place.take() else { return false };
        self.branch.push(self.session.branch[place], self.messages_seen);
        self.push_compaction(place, self.session.path[place]);
        true
    }

    /// Returns the departures that this trace found, after its last call.
    pub(super) fn into_departures(mut self) -> Departures {
        self.settle_pending();
        match self.record_use {
            RecordUse::Derive { found, compacted } => {
                let failures = found.missed.iter().filter(|(_, by_overflow)| !by_overflow).count();
                let fails = compacted.is_empty() && failures >= MIN_FAILURES;
                Departures { always_fails: fails, ..found }
            }
            _ => Departures::default(),
        }
    }
}
