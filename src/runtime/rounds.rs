//! Work that waits for its turn: what is asked of it meanwhile is done together, and it rests as long as it should.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::runtime::pace::Pace;

/// What waits for one kind of work.
#[derive(Debug)]
pub(super) struct Round<T> {
    waiting: BTreeSet<T>,
    /// When the work that runs began.
    began: Option<Instant>,
    pace: Pace,
}

impl<T: Ord> Round<T> {
    /// Work that rests at least so long.
    pub(super) fn every(least: Duration) -> Self {
        Self { waiting: BTreeSet::new(), began: None, pace: Pace::every(least) }
    }

    /// Asks for more.
    pub(super) fn ask(&mut self, more: impl IntoIterator<Item = T>) {
        self.waiting.extend(more);
    }

    /// What waits, where the work may begin now: it is not running, and its rest is over.
    pub(super) fn begin(&mut self) -> Option<BTreeSet<T>> {
        if self.began.is_some() || self.waiting.is_empty() || !self.pace.is_due() {
            return None;
        }
        self.began = Some(Instant::now());
        Some(std::mem::take(&mut self.waiting))
    }

    /// The work is over.
    pub(super) fn end(&mut self) {
        if let Some(began) = self.began.take() {
            self.pace.took(began.elapsed());
        }
    }

    /// How long until it may begin; none while nothing waits, or it runs.
    pub(super) fn wait(&self) -> Option<Duration> {
        (self.began.is_none() && !self.waiting.is_empty()).then(|| self.pace.wait())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_while_it_runs_or_rests_is_done_together_afterwards() {
        let mut round = Round::every(Duration::ZERO);
        assert_eq!((round.begin(), round.wait()), (None, None));
        round.ask([1]);
        assert_eq!(round.wait(), Some(Duration::ZERO));
        assert_eq!(round.begin(), Some(BTreeSet::from([1])));
        round.ask([2, 3]);
        round.ask([2]);
        assert_eq!((round.begin(), round.wait()), (None, None), "it runs");
        round.end();
        std::thread::park_timeout(round.wait().unwrap_or_default());
        while !round.pace.is_due() {}
        assert_eq!(round.begin(), Some(BTreeSet::from([2, 3])));
        let mut slow = Round::every(Duration::from_hours(1));
        slow.ask([1]);
        assert!(slow.begin().is_some());
        slow.end();
        slow.ask([2]);
        assert!(
            slow.begin().is_none() && slow.wait().is_some_and(|wait| wait > Duration::from_mins(59)),
            "it rests"
        );
    }
}
