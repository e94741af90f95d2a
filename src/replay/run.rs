//! What happens between two runs: the check whether to compact, the touch, and how the next run loads its history
//! (pruning 1.1, 4.3, 4.4; compaction 2.9).

use crate::gateway::ruleset::{History, LegacyImages};
use crate::ids::EntryIx;
use crate::policy::Step;
use crate::policy::edit::Edit;
use crate::policy::history_batches::{Kept, kept_in_batches, limit_history_under};
use crate::policy::history_limit::first_kept_role;
use crate::policy::images::remove_seen_images;
use crate::policy::list::Item;
use crate::policy::media_2026_9::first_of_last_turns;
use crate::policy::repair::{pair_list, repair_list};
use crate::replay::arena::{Arena, item};
use crate::replay::lane::{Lane, Loaded, Start};
use crate::replay::outcome::Trimmed;
use crate::replay::sums::Held;
use crate::store::entry::{Role, StopReason};

impl Lane<'_> {
    /// The run before `ix` is over.
    pub(super) fn end_run(&mut self, ix: EntryIx) {
        let Some(last) = self.last else { return };
        let settings = &self.settings.steps;
        let over = settings.compaction.should_compact_under(
            settings.ruleset.rules(),
            last.tokens,
            self.session.runtime_window,
        );
        if self.compacts && last.stop != StopReason::Error && over {
            self.compact(ix, false);
        }
        if self.settings.prune_on && self.session.eligible && !self.compacted_in_run {
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
        let wiped = self.go_over_history();
        let before = (self.run_start, self.loaded.take());
        let run_before = self.run_from;
        self.load();
        let first = self.first_change(before.0, before.1.as_ref(), run_before);
        let first = first.into_iter().chain(wiped.map(|at| self.index_of(at))).min();
        if let Some(first) = first {
            self.cache.changed_from(first);
        }
    }

    /// Takes away details and seen images of what was added since the last run; the first message that differs for it.
    fn go_over_history(&mut self) -> Option<usize> {
        let (steps, loaded) = (self.steps(), self.upto);
        let mut measured = loaded;
        if steps.has(Step::Repair) {
            measured = if steps.has(Step::Guard) { self.stripped } else { loaded };
            self.arena.strip_details(loaded);
            self.stripped = loaded;
        }
        let wiped = if steps.has(Step::Images) { self.wipe_images() } else { None };
        let measured = wiped.map_or(measured, |at| at.min(measured));
        if measured < loaded {
            self.measure_from(measured);
        }
        wiped
    }

    /// Takes away the images that the model has seen by the rules of the version; the first message that held one.
    fn wipe_images(&mut self) -> Option<usize> {
        let from = self.session_start.from;
        let (until, edit) = match self.settings.steps.ruleset.rules().legacy_images {
            LegacyImages::Stay => return None,
            LegacyImages::BeforeLastAnswer => (self.last_answer.filter(|at| *at >= from), Edit::RemoveImages),
            LegacyImages::BeforeLastTurns { kept } => {
                let roles = (from..self.upto).map(|at| self.arena.size(at).role);
                (first_of_last_turns(roles, kept).map(|at| from + at), Edit::RemoveMedia)
            }
        };
        let until = until.unwrap_or(self.wiped).max(self.wiped);
        let mut first = None;
        for at in self.wiped..until {
            let holds = if edit == Edit::RemoveMedia { Arena::has_media } else { Arena::has_images };
            if holds(&self.arena, at) {
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

    /// The list a run begins with: repaired, held to the turn limit, paired again.
    fn load(&mut self) {
        self.run_from = self.upto;
        self.run_start = self.session_start;
        self.history = Trimmed::default();
        let begins_with_result = self.run_start.from < self.upto
            && self.arena.size(self.run_start.from).role == Role::ToolResult
            && self.steps().has(Step::Repair);
        if !self.is_paired || begins_with_result {
            self.load_repaired();
            return;
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
            let from = self.session_start.from + kept.from - usize::from(self.session_start.front.is_some());
            self.run_start = Start { front, from };
        } else {
            let items = (0..kept.prelude).chain(kept.from..count).map(|at| self.item_at(at)).collect();
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
            History::Batches => {
                let roles: Vec<Role> = (0..count).map(|at| self.role_at(at)).collect();
                kept_in_batches(&roles, limit)
            }
        }
    }

    /// The long way, where calls and results do not pair up by themselves.
    fn load_repaired(&mut self) {
        let steps = self.steps();
        let settings = &self.settings.steps;
        let items: Vec<Item> = (0..self.list_len()).map(|at| self.item_at(at)).collect();
        let before = items.len();
        let mut list = self.arena.list(items);
        repair_list(&mut list);
        let mut history = Trimmed::default();
        if steps.has(Step::History) {
            let tokens = |items: &[Item]| items.iter().map(|item| self.arena.weigh_item(item)).sum::<f64>();
            let (count, held) = (list.len(), tokens(&list.items));
            limit_history_under(settings.ruleset.rules(), &mut list, settings.history_limit);
            history.cleared = (count - list.len()) as u32;
            history.tokens = held - tokens(&list.items);
            pair_list(&mut list);
        }
        if steps.has(Step::Images) {
            remove_seen_images(&mut list, settings.ruleset.rules());
        }
        // An empty list is not taken over (pruning 1.1, step 8).
        if !list.is_empty() || before == 0 {
            let items = list.items;
            self.loaded = Some(self.measured(items));
            self.history = history;
        }
    }

    fn measured(&self, items: Vec<Item>) -> Loaded {
        let (mut sums, mut held) = (vec![0.0], Held::default());
        for item in &items {
            held = held + self.measure.of_item(&self.arena, item);
            sums.push(held.tokens);
        }
        Loaded { items, sums, held }
    }

    /// Messages of the list now.
    pub(super) fn list_len(&self) -> usize {
        match &self.loaded {
            Some(loaded) => loaded.items.len() + self.upto - self.run_from,
            None => usize::from(self.run_start.front.is_some()) + self.upto - self.run_start.from,
        }
    }

    /// A message of the list.
    pub(super) fn item_at(&self, at: usize) -> Item {
        if let Some(loaded) = &self.loaded {
            let own = loaded.items.get(at).cloned();
            return own.unwrap_or_else(|| item(self.run_from + at - loaded.items.len()));
        }
        item(self.place_at(at))
    }

    /// Where a message of a list stands that is that of the path.
    fn place_at(&self, at: usize) -> usize {
        match self.run_start.front {
            Some(front) if at == 0 => front,
            front => self.run_start.from + at - usize::from(front.is_some()),
        }
    }

    fn role_at(&self, at: usize) -> Role {
        self.arena.size(self.place_at(at)).role
    }

    /// Where a message of the path stands in the list.
    fn index_of(&self, place: usize) -> usize {
        match &self.loaded {
            Some(_) => 0,
            None => place.saturating_sub(self.run_start.from) + usize::from(self.run_start.front.is_some()),
        }
    }

    /// What the whole list holds.
    pub(super) fn held(&self) -> Held {
        if let Some(loaded) = &self.loaded {
            return loaded.held + self.sums.held(self.run_from, self.upto);
        }
        let front = self.run_start.front;
        let front = front.map_or_else(Held::default, |at| self.measure.of(&self.arena, at));
        front + self.sums.held(self.run_start.from, self.upto)
    }

    /// Tokens of the first messages of the list.
    pub(super) fn prefix(&self, count: usize) -> f64 {
        if let Some(loaded) = &self.loaded {
            let own = loaded.items.len();
            let rest = self.sums.held(self.run_from, self.run_from + count.saturating_sub(own));
            return loaded.sums[count.min(own)] + rest.tokens;
        }
        let Some(front) = self.run_start.front else {
            return self.sums.held(self.run_start.from, self.run_start.from + count).tokens;
        };
        let Some(behind) = count.checked_sub(1) else { return 0.0 };
        let summary = self.arena.weigh(front, self.arena.size(front));
        summary + self.sums.held(self.run_start.from, self.run_start.from + behind).tokens
    }

    /// The first message that the list of this run does not have from the one before; none where it only goes on.
    fn first_change(&self, start: Start, loaded: Option<&Loaded>, run_from: usize) -> Option<usize> {
        if loaded.is_none() && self.loaded.is_none() {
            return (start != self.run_start).then_some(0);
        }
        let front = usize::from(start.front.is_some());
        let before = |at: usize| match loaded {
            Some(loaded) => {
                loaded.items.get(at).cloned().unwrap_or_else(|| item(run_from + at - loaded.items.len()))
            }
            None if at < front => item(start.front.unwrap_or(0)),
            None => item(start.from + at - front),
        };
        let count = match loaded {
            Some(loaded) => loaded.items.len() + self.upto - run_from,
            None => front + self.upto - start.from,
        };
        (0..count).find(|at| *at >= self.list_len() || before(*at) != self.item_at(*at))
    }
}
