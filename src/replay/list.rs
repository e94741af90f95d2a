//! The list a lane would send now: how long it is, what it holds, and where its messages stand on the path.

use crate::policy::list::Item;
use crate::replay::held::Held;
use crate::replay::lane::{Lane, Loaded, Start};
use crate::store::entry::Role;

impl Lane<'_> {
    /// Messages of the list now.
    pub(super) fn list_len(&self) -> usize {
        match &self.loaded {
            Some(loaded) => loaded.items.len() + self.upto - self.run_from,
            None => usize::from(self.run_start.front.is_some()) + self.sent(self.run_start.from, self.upto),
        }
    }

    /// A message of the list.
    pub(super) fn item_at(&self, at: usize) -> Item {
        if let Some(loaded) = &self.loaded {
            let own = loaded.items.get(at).cloned();
            return own.unwrap_or_else(|| self.arena.item(self.run_from + at - loaded.items.len()));
        }
        self.arena.item(self.place_at(at))
    }

    /// Where a message of a list stands that is that of the path.
    pub(super) fn place_at(&self, at: usize) -> usize {
        match self.run_start.front {
            Some(front) if at == 0 => front,
            front => self.behind(at - usize::from(front.is_some())),
        }
    }

    /// Where the first messages of the list behind its summary end, so many of them.
    pub(super) fn behind(&self, count: usize) -> usize {
        let from = self.run_start.from;
        if self.arena.ground.special.is_empty() {
            return from + count;
        }
        self.sums.first(from, self.upto, |held| held.count as usize > count)
    }

    /// How many messages of a stretch of the path are sent.
    pub(super) fn sent(&self, from: usize, to: usize) -> usize {
        self.sums.held(from, to).count as usize
    }

    /// The list now.
    pub(super) fn items(&self) -> Vec<Item> {
        if self.loaded.is_some() {
            return (0..self.list_len()).map(|at| self.item_at(at)).collect();
        }
        self.list_places().map(|at| self.arena.item(at)).collect()
    }

    /// Where the messages of a list stand that is no loaded one.
    pub(super) fn list_places(&self) -> impl Iterator<Item = usize> + '_ {
        let sent = (self.run_start.from..self.upto).filter(|at| !self.arena.is_left_out(*at));
        self.run_start.front.into_iter().chain(sent)
    }

    pub(super) fn role_at(&self, at: usize) -> Role {
        self.arena.size(self.place_at(at)).role
    }

    /// Where a message of the path stands in the list.
    pub(super) fn index_of(&self, place: usize) -> usize {
        if self.loaded.is_some() {
            return 0;
        }
        let from = self.run_start.from;
        usize::from(self.run_start.front.is_some()) + self.sent(from, place.max(from))
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
            return self.sums.held(self.run_start.from, self.behind(count)).tokens;
        };
        let Some(behind) = count.checked_sub(1) else { return 0.0 };
        let summary = self.arena.weigh(front, self.arena.size(front));
        summary + self.sums.held(self.run_start.from, self.behind(behind)).tokens
    }

    /// The first message that the list of this run does not have from the one before; none where it only goes on.
    pub(super) fn first_change(
        &self,
        start: Start,
        loaded: Option<&Loaded>,
        run_from: usize,
    ) -> Option<usize> {
        if loaded.is_none() && self.loaded.is_none() {
            // Results without a call at the front of a kept part go, and the summary before them stays.
            let kept = start.front == self.run_start.front && start.from == self.session_start.from;
            let only_results = kept && self.history.cleared == 0;
            let first = if only_results { usize::from(start.front.is_some()) } else { 0 };
            return (start != self.run_start).then_some(first);
        }
        let front = usize::from(start.front.is_some());
        let before = |at: usize| match loaded {
            Some(loaded) => loaded
                .items
                .get(at)
                .cloned()
                .unwrap_or_else(|| self.arena.item(run_from + at - loaded.items.len())),
            None if at < front => self.arena.item(start.front.unwrap_or(0)),
            None => self.arena.item(start.from + at - front),
        };
        let count = match loaded {
            Some(loaded) => loaded.items.len() + self.upto - run_from,
            None => front + self.upto - start.from,
        };
        (0..count).find(|at| *at >= self.list_len() || before(*at) != self.item_at(*at))
    }
}
