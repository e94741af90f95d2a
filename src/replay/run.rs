//! The work between two runs: the checks whether to compact, the cache touch, and the next run's load of its history
//! (pruning 1.1, 4.3, 4.4; compaction 2.9).

use crate::gateway::ruleset::{HistoryLimitRule, LegacyImages};
use crate::ids::EntryIx;
use crate::policy::edit::Edit;
use crate::policy::history_range::{
    RetainedRange, first_kept, limit_history_under, retained_in_batches, retained_with_prelude,
};
use crate::policy::images::remove_seen_images;
use crate::policy::media_2026_9::first_of_last_turns;
use crate::policy::message_list::PlannedMessage;
use crate::policy::repair::{pair_list, repair_list};
use crate::policy::truncate::reduce_list;
use crate::policy::{Fate, Policy};
use crate::replay::list::ListBefore;
use crate::replay::outcome::TrimStats;
use crate::replay::range_totals::{ListStart, RangeTotals};
use crate::replay::trace::{LastModelCall, LoadedHistory, Trace};
use crate::store::entry::{Role, StopReason};
use crate::units::Tokens;

impl Trace<'_> {
    /// Ends the run before the entry `ix`.
    pub(super) fn end_run(&mut self, ix: EntryIx) {
        let Some(last) = self.last_call else { return };
        if self.may_compact && (self.is_due_after(&last) || self.is_due_before_turn(ix)) {
            self.compact_when_due(ix, false);
        }
        if self.settings.prune_on && self.is_eligible() && !self.compacted_in_run {
            self.assumed_touch = Some(last.ended);
        }
    }

    /// Ends the path: after the last answer of a run the runtime compares it with its trigger at once, before anyone writes
    /// again.
    pub(super) fn end_path(&mut self) {
        let last = self.last_call.filter(|last| last.stop_reason == StopReason::Stop && !self.awaits_call);
        let is_due = last.is_some_and(|last| self.may_compact && self.is_due_after(&last));
        if let Some(end) = self.session.path.last().filter(|_| is_due) {
            self.compact_when_due(*end, false);
        }
    }

    /// Whether the runtime's threshold asks for a compaction after this call.
    fn is_due_after(&self, last: &LastModelCall) -> bool {
        let settings = &self.settings.policies;
        let over = settings.compaction.should_compact_under(
            settings.ruleset.rules(),
            last.tokens,
            self.session.runtime_window(&last.cache_key, self.settings),
        );
        // One compaction between two calls is enough.
        last.stop_reason != StopReason::Error && over && self.compacted.is_none()
    }

    /// Begins a run with the message `ix`, which is not part of the history that it loads.
    pub(super) fn begin_run(&mut self, ix: EntryIx) {
        self.awaits_call = true;
        self.compacted_in_run = false;
        let touches = self.session.cache_touches;
        let known = touches.partition_point(|(touched, _)| *touched < ix);
        let recorded = known.checked_sub(1).map(|at| touches[at].1);
        self.last_touch = if touches.is_empty() { self.assumed_touch } else { recorded };
        let paired_until = self.arena.paired_until;
        let changed = self.prepare_history();
        let before = ListBefore {
            start: self.run_start,
            loaded: self.loaded.take(),
            run_from: self.run_base_len,
            paired_until,
        };
        self.load_list();
        let first = self.first_list_change(&before);
        let first = first.into_iter().chain(changed.map(|at| self.list_index(at))).min();
        if let Some(first) = first {
            self.cache.invalidate_from(first);
        }
    }

    /// Strips details and seen images from the messages added since the last run and pairs them. Returns the first
    /// message that is sent differently because of it.
    fn prepare_history(&mut self) -> Option<usize> {
        let (policies, loaded) = (self.policies(), self.messages_seen);
        let mut measured = loaded;
        if policies.has(Policy::Repair) {
            measured = if policies.has(Policy::Guard) { self.stripped_until } else { loaded };
            self.arena.strip_details(loaded);
            self.stripped_until = loaded;
        }
        let paired = if policies.has(Policy::Repair) { self.repair_until(loaded) } else { None };
        let wiped = if policies.has(Policy::Images) { self.strip_seen_images() } else { None };
        let changed = paired.into_iter().chain(wiped).min();
        let measured = changed.map_or(measured, |at| at.min(measured));
        if measured < loaded {
            self.measure_from(measured);
        }
        changed
    }

    /// Pairs calls and results up to `loaded`. Returns the first message that repair adds or drops.
    fn repair_until(&mut self, loaded: usize) -> Option<usize> {
        let from = self.arena.paired_until.max(self.session_start.from);
        self.arena.paired_until = loaded;
        self.arena.base.first_repair_change(from, loaded)
    }

    /// Undoes the repairs of runs, so that the list is the transcript's again.
    pub(super) fn reset_repairs(&mut self) {
        let from = self.session_start.from;
        let until = self.arena.paired_until;
        self.arena.paired_until = until.min(from);
        if let Some(first) = self.arena.base.first_repair_change(from, until) {
            self.measure_from(first);
        }
    }

    /// Pairs the messages between two compactions again, because the later compaction kept more than the earlier one.
    pub(super) fn extend_repairs(&mut self, from: usize, old: usize) {
        self.arena.paired_until = self.arena.paired_until.min(from);
        if let Some(first) = self.arena.base.first_repair_change(from, old) {
            self.measure_from(first);
        }
    }

    /// Removes the images that the model has seen, under the version's rule. Returns the first message that contained one.
    fn strip_seen_images(&mut self) -> Option<usize> {
        let from = self.session_start.from;
        let rule = self.settings.policies.ruleset.rules().legacy_images;
        let (until, edit) = match rule {
            LegacyImages::Stay => return None,
            LegacyImages::BeforeLastAnswer { .. } => {
                (self.last_answer.filter(|at| *at >= from), Edit::RemoveImages)
            }
            LegacyImages::BeforeLastTurns { turns, references } => {
                let sent: Vec<usize> =
                    (from..self.messages_seen).filter(|at| !self.arena.is_omitted(*at)).collect();
                let roles = sent.iter().map(|at| self.arena.size(*at).role);
                let edit = if references { Edit::RemoveMedia } else { Edit::RemoveImages };
                (first_of_last_turns(roles, turns).map(|at| sent[at]), edit)
            }
        };
        let until = until.unwrap_or(self.images_removed_until).max(self.images_removed_until);
        let mut first = None;
        let by_turns = !matches!(rule, LegacyImages::BeforeLastAnswer { .. });
        let results = rule == LegacyImages::BeforeLastAnswer { results: true };
        for at in self.images_removed_until..until {
            let holds = if by_turns { self.arena.has_media(at) } else { self.arena.has_images(at, results) };
            if holds {
                self.arena.apply_edit(at, &edit);
                first = first.or(Some(at));
            }
        }
        self.images_removed_until = until;
        first
    }

    /// Measures the messages from `first` on again, because they changed.
    pub(super) fn measure_from(&mut self, first: usize) {
        self.list_edits_from(first);
        let (arena, measure) = (&self.arena, &self.measure);
        self.prefix_sums.measure_from(first, |at| measure.message_totals(arena, at));
    }

    /// Loads the list that a run begins with: repaired, cut to the turn limit, paired again, and its results cut to a
    /// budget.
    fn load_list(&mut self) {
        self.load_history();
        self.reduce_trim = self.reduce_results();
    }

    /// Holds the list's results to the budget of all results (releases R36–R38). Each run truncates again from the
    /// transcript, as after a restart; where the version keeps sent results, nothing is truncated.
    fn reduce_results(&mut self) -> TrimStats {
        let settings = &self.settings.policies;
        if !settings.enabled.has(Policy::Reduce) || settings.reduce.keeps_sent {
            return TrimStats::default();
        }
        let totals = self.totals();
        if totals.result_chars <= settings.reduce.all_chars && totals.oversized == 0 {
            return TrimStats::default();
        }
        let rules = settings.ruleset.rules();
        let mut list = self.arena.list(self.messages());
        let fates = reduce_list(&mut list, rules, self.settings.window, &settings.truncate, &settings.reduce);
        let count = |fate: Fate| fates.iter().filter(|one| one.fate == fate).count() as u32;
        let (trimmed, cleared) = (count(Fate::Truncated), count(Fate::Cleared));
        if trimmed + cleared == 0 {
            return TrimStats::default();
        }
        let (items, _) = list.into_parts();
        let loaded = self.measure_list(items);
        let tokens = totals.tokens - loaded.totals.tokens;
        self.loaded = Some(loaded);
        TrimStats { trimmed, cleared, tokens }
    }

    /// Loads the list before the budget of all results.
    fn load_history(&mut self) {
        self.run_base_len = self.messages_seen;
        self.run_start = self.session_start;
        self.history_trim = TrimStats::default();
        if self.policies().has(Policy::Repair) {
            let is_result = |at: &usize| self.arena.size(*at).role == Role::ToolResult;
            let first = (self.run_start.from..self.messages_seen)
                .find(|at| !is_result(at))
                .unwrap_or(self.messages_seen);
            let begins_with_result = first > self.run_start.from;
            if !self.is_paired || begins_with_result && !self.arena.base.has_local_repairs {
                self.load_repaired();
                return;
            }
            // The runtime does not take over an empty list (pruning 1.1, step 8).
            if first < self.messages_seen || self.run_start.summary.is_some() {
                self.run_start.from = first;
            }
        }
        let count = self.list_len();
        let kept = self.history_range(count);
        if kept.from >= count || kept.from <= kept.prelude {
            return;
        }
        let dropped = (kept.prelude..kept.from).len() as u32;
        let tokens = self.prefix_tokens(kept.from) - self.prefix_tokens(kept.prelude);
        self.history_trim = TrimStats { trimmed: 0, cleared: dropped, tokens };
        let front = usize::from(self.run_start.summary.is_some());
        if kept.prelude <= front {
            let front = self.run_start.summary.filter(|_| kept.prelude > 0);
            let from = self.arena_index(kept.from);
            self.run_start = ListStart { summary: front, from };
        } else {
            let items = self.messages();
            let items =
                items.into_iter().enumerate().filter(|(at, _)| kept.contains(*at)).map(|(_, item)| item);
            let items = items.collect();
            self.loaded = Some(self.measure_list(items));
        }
    }

    /// Returns the part of `count` messages that the turn limit keeps.
    fn history_range(&self, count: usize) -> RetainedRange {
        let settings = &self.settings.policies;
        let limit = settings.history_limit;
        let all = RetainedRange { prelude: 0, from: 0 };
        if !settings.enabled.has(Policy::History) || limit.is_nan() || limit <= 0.0 {
            return all;
        }
        match settings.ruleset.rules().history_limit {
            HistoryLimitRule::None => all,
            HistoryLimitRule::Exact => {
                RetainedRange { prelude: 0, from: first_kept((0..count).map(|at| self.role_at(at)), limit) }
            }
            rule => {
                let roles: Vec<Role> = (0..count).map(|at| self.role_at(at)).collect();
                if rule == HistoryLimitRule::Batches {
                    retained_in_batches(&roles, limit)
                } else {
                    retained_with_prelude(&roles, limit)
                }
            }
        }
    }

    /// Loads the list by a full repair, where calls and results do not pair up by themselves.
    fn load_repaired(&mut self) {
        let policies = self.policies();
        let settings = &self.settings.policies;
        let items = self.messages();
        let before = items.len();
        let mut list = self.arena.list(items);
        repair_list(&mut list, self.session.repair);
        let mut history = TrimStats::default();
        if policies.has(Policy::History) {
            let tokens = |items: &[PlannedMessage]| {
                items.iter().map(|item| self.arena.estimate_message_tokens(item)).sum::<Tokens>()
            };
            let (count, tokens_before) = (list.len(), tokens(list.messages()));
            limit_history_under(settings.ruleset.rules(), &mut list, settings.history_limit, count);
            history.cleared = (count - list.len()) as u32;
            history.tokens = tokens_before - tokens(list.messages());
            pair_list(&mut list, self.session.repair);
        }
        if policies.has(Policy::Images) {
            remove_seen_images(&mut list, settings.ruleset.rules());
        }
        // The runtime does not take over an empty list (pruning 1.1, step 8).
        if !list.is_empty() || before == 0 {
            let (items, _) = list.into_parts();
            self.loaded = Some(self.measure_list(items));
            self.history_trim = history;
        }
    }

    pub(super) fn measure_list(&self, items: Vec<PlannedMessage>) -> LoadedHistory {
        let (mut sums, mut totals) = (vec![Tokens::ZERO], RangeTotals::default());
        for item in &items {
            let own = match (item.position(), &item.change) {
                (Some(at), None) if at < self.messages_seen => self.prefix_sums.message(at),
                _ => self.measure.planned_totals(&self.arena, item),
            };
            totals = totals + own;
            sums.push(totals.tokens);
        }
        LoadedHistory { messages: items, prefix_tokens: sums, totals }
    }
}
