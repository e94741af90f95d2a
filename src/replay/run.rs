//! What happens between two runs: the check whether to compact, the touch, and how the next run loads its history
//! (pruning 1.1, 4.3, 4.4; compaction 2.9).

use crate::gateway::ruleset::{History, LegacyImages};
use crate::ids::EntryIx;
use crate::policy::edit::Edit;
use crate::policy::history_batches::{Kept, kept_in_batches, kept_with_prelude, limit_history_under};
use crate::policy::history_limit::first_kept_role;
use crate::policy::images::remove_seen_images;
use crate::policy::list::Item;
use crate::policy::media_2026_9::first_of_last_turns;
use crate::policy::repair::{pair_list, repair_list};
use crate::policy::truncate::reduce_list;
use crate::policy::{Fate, Step};
use crate::replay::held::Held;
use crate::replay::lane::{Lane, Loaded, Start};
use crate::replay::outcome::Trimmed;
use crate::store::entry::{Role, StopReason};

impl Lane<'_> {
    /// The run before `ix` is over.
    pub(super) fn end_run(&mut self, ix: EntryIx) {
        let Some(last) = self.last else { return };
        let settings = &self.settings.steps;
        let over = settings.compaction.should_compact_under(
            settings.ruleset.rules(),
            last.tokens,
            self.session.runtime_window(&last.mind, self.settings),
        );
        if self.compacts && last.stop != StopReason::Error && over {
            self.compact(ix, false);
        }
        if self.settings.prune_on && self.is_eligible() && !self.compacted_in_run {
            self.assumed_touch = Some(last.ended);
        }
    }

    /// A run begins with the message `ix`, which is not part of what it loads.
    pub(super) fn begin_run(&mut self, ix: EntryIx) {
        self.is_open = true;
        self.compacted_in_run = false;
        let touches = self.session.touches;
        let known = touches.partition_point(|(touched, _)| *touched < ix);
        let recorded = known.checked_sub(1).map(|at| touches[at].1);
        self.touch = if touches.is_empty() { self.assumed_touch } else { recorded };
        let changed = self.go_over_history();
        let before = (self.run_start, self.loaded.take());
        let run_before = self.run_from;
        self.load();
        let first = self.first_change(before.0, before.1.as_ref(), run_before);
        let first = first.into_iter().chain(changed.map(|at| self.index_of(at))).min();
        if let Some(first) = first {
            self.cache.changed_from(first);
        }
    }

    /// Takes away details and seen images of what was added since the last run, and pairs it; the first message that is sent
    /// otherwise for it.
    fn go_over_history(&mut self) -> Option<usize> {
        let (steps, loaded) = (self.steps(), self.upto);
        let mut measured = loaded;
        if steps.has(Step::Repair) {
            measured = if steps.has(Step::Guard) { self.stripped } else { loaded };
            self.arena.strip_details(loaded);
            self.stripped = loaded;
        }
        let paired = if steps.has(Step::Repair) { self.pair_until(loaded) } else { None };
        let wiped = if steps.has(Step::Images) { self.wipe_images() } else { None };
        let changed = paired.into_iter().chain(wiped).min();
        let measured = changed.map_or(measured, |at| at.min(measured));
        if measured < loaded {
            self.measure_from(measured);
        }
        changed
    }

    /// Pairs the calls and results of the list up to a message; the first that is added or dropped for it.
    fn pair_until(&mut self, loaded: usize) -> Option<usize> {
        let from = self.arena.paired.max(self.session_start.from);
        self.arena.paired = loaded;
        self.arena.ground.first_special(from, loaded)
    }

    /// The list is that of the transcript again, as no run has loaded it.
    pub(super) fn unpair(&mut self) {
        let from = self.session_start.from;
        let until = self.arena.paired;
        self.arena.paired = until.min(from);
        if let Some(first) = self.arena.ground.first_special(from, until) {
            self.measure_from(first);
        }
    }

    /// What a compaction kept begins before what an earlier one did: what stands between them is paired anew too.
    pub(super) fn go_back(&mut self, from: usize, old: usize) {
        self.arena.paired = self.arena.paired.min(from);
        if let Some(first) = self.arena.ground.first_special(from, old) {
            self.measure_from(first);
        }
    }

    /// Takes away the images that the model has seen by the rules of the version; the first message that held one.
    fn wipe_images(&mut self) -> Option<usize> {
        let from = self.session_start.from;
        let rule = self.settings.steps.ruleset.rules().legacy_images;
        let (until, edit) = match rule {
            LegacyImages::Stay => return None,
            LegacyImages::BeforeLastAnswer { .. } => {
                (self.last_answer.filter(|at| *at >= from), Edit::RemoveImages)
            }
            LegacyImages::BeforeLastTurns { turns, references } => {
                let sent: Vec<usize> = (from..self.upto).filter(|at| !self.arena.is_left_out(*at)).collect();
                let roles = sent.iter().map(|at| self.arena.size(*at).role);
                let edit = if references { Edit::RemoveMedia } else { Edit::RemoveImages };
                (first_of_last_turns(roles, turns).map(|at| sent[at]), edit)
            }
        };
        let until = until.unwrap_or(self.wiped).max(self.wiped);
        let mut first = None;
        let by_turns = !matches!(rule, LegacyImages::BeforeLastAnswer { .. });
        let results = rule == LegacyImages::BeforeLastAnswer { results: true };
        for at in self.wiped..until {
            let holds = if by_turns { self.arena.has_media(at) } else { self.arena.has_images(at, results) };
            if holds {
                self.arena.settle(at, &edit);
                first = first.or(Some(at));
            }
        }
        self.wiped = until;
        first
    }

    /// Messages from this one on are not what they were.
    pub(super) fn measure_from(&mut self, first: usize) {
        self.list_edits_from(first);
        let (arena, measure) = (&self.arena, &self.measure);
        self.sums.measure_from(first, |at| measure.of(arena, at));
    }

    /// The list a run begins with: repaired, held to the turn limit, paired again, its results held to a budget.
    fn load(&mut self) {
        self.load_history();
        self.reduced = self.reduce_results();
    }

    /// Holds the results of the list to the budget of all (releases R36–R38). What a run before was sent is cut anew from what the
    /// transcript holds, as after a restart; where the version keeps it, nothing is.
    fn reduce_results(&mut self) -> Trimmed {
        let settings = &self.settings.steps;
        if !settings.steps.has(Step::Reduce) || settings.reduce.keeps_sent {
            return Trimmed::default();
        }
        let held = self.held();
        if held.results <= settings.reduce.all_chars && held.large == 0 {
            return Trimmed::default();
        }
        let rules = settings.ruleset.rules();
        let mut list = self.arena.list(self.items());
        let fates = reduce_list(&mut list, rules, self.settings.window, &settings.truncate, &settings.reduce);
        let count = |fate: Fate| fates.iter().filter(|one| one.fate == fate).count() as u32;
        let (trimmed, cleared) = (count(Fate::Truncated), count(Fate::Cleared));
        if trimmed + cleared == 0 {
            return Trimmed::default();
        }
        let (items, _) = list.into_parts();
        let loaded = self.measured(items);
        let tokens = held.tokens - loaded.held.tokens;
        self.loaded = Some(loaded);
        Trimmed { trimmed, cleared, tokens }
    }

    /// The same before its results are held to a budget.
    fn load_history(&mut self) {
        self.run_from = self.upto;
        self.run_start = self.session_start;
        self.history = Trimmed::default();
        if self.steps().has(Step::Repair) {
            let is_result = |at: &usize| self.arena.size(*at).role == Role::ToolResult;
            let first = (self.run_start.from..self.upto).find(|at| !is_result(at)).unwrap_or(self.upto);
            let begins_with_result = first > self.run_start.from;
            if !self.is_paired || begins_with_result && !self.arena.ground.is_local {
                self.load_repaired();
                return;
            }
            // An empty list is not taken over (pruning 1.1, step 8).
            if first < self.upto || self.run_start.front.is_some() {
                self.run_start.from = first;
            }
        }
        let count = self.list_len();
        let kept = self.kept(count);
        if kept.from >= count || kept.from <= kept.prelude {
            return;
        }
        let dropped = (kept.prelude..kept.from).len() as u32;
        let tokens = self.prefix(kept.from) - self.prefix(kept.prelude);
        self.history = Trimmed { trimmed: 0, cleared: dropped, tokens };
        let front = usize::from(self.run_start.front.is_some());
        if kept.prelude <= front {
            let front = self.run_start.front.filter(|_| kept.prelude > 0);
            let from = self.place_at(kept.from);
            self.run_start = Start { front, from };
        } else {
            let items = self.items();
            let items = items.into_iter().enumerate().filter(|(at, _)| kept.keeps(*at)).map(|(_, item)| item);
            let items = items.collect();
            self.loaded = Some(self.measured(items));
        }
    }

    /// What the turn limit keeps of so many messages.
    fn kept(&self, count: usize) -> Kept {
        let settings = &self.settings.steps;
        let limit = settings.history_limit;
        let all = Kept { prelude: 0, from: 0 };
        if !settings.steps.has(Step::History) || limit.is_nan() || limit <= 0.0 {
            return all;
        }
        match settings.ruleset.rules().history {
            History::None => all,
            History::Exact => {
                Kept { prelude: 0, from: first_kept_role((0..count).map(|at| self.role_at(at)), limit) }
            }
            rule => {
                let roles: Vec<Role> = (0..count).map(|at| self.role_at(at)).collect();
                if rule == History::Batches {
                    kept_in_batches(&roles, limit)
                } else {
                    kept_with_prelude(&roles, limit)
                }
            }
        }
    }

    /// The long way, where calls and results do not pair up by themselves.
    fn load_repaired(&mut self) {
        let steps = self.steps();
        let settings = &self.settings.steps;
        let items = self.items();
        let before = items.len();
        let mut list = self.arena.list(items);
        repair_list(&mut list);
        let mut history = Trimmed::default();
        if steps.has(Step::History) {
            let tokens = |items: &[Item]| items.iter().map(|item| self.arena.weigh_item(item)).sum::<f64>();
            let (count, held) = (list.len(), tokens(list.items()));
            limit_history_under(settings.ruleset.rules(), &mut list, settings.history_limit);
            history.cleared = (count - list.len()) as u32;
            history.tokens = held - tokens(list.items());
            pair_list(&mut list);
        }
        if steps.has(Step::Images) {
            remove_seen_images(&mut list, settings.ruleset.rules());
        }
        // An empty list is not taken over (pruning 1.1, step 8).
        if !list.is_empty() || before == 0 {
            let (items, _) = list.into_parts();
            self.loaded = Some(self.measured(items));
            self.history = history;
        }
    }

    /// What a run begins with, measured.
    pub(super) fn measured(&self, items: Vec<Item>) -> Loaded {
        let (mut sums, mut held) = (vec![0.0], Held::default());
        for item in &items {
            let own = match (item.position(), &item.change) {
                (Some(at), None) if at < self.upto => self.sums.at(at),
                _ => self.measure.of_item(&self.arena, item),
            };
            held = held + own;
            sums.push(held.tokens);
        }
        Loaded { items, sums, held }
    }
}
