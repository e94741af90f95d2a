//! A work queue with rests: requests that arrive during a run or a rest are handled together in the next run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::runtime::backoff::Backoff;

/// The pending requests for one kind of work.
#[derive(Debug)]
pub(super) struct WorkQueue<T> {
    pending: BTreeSet<T>,
    /// The start of the running work.
    started: Option<Instant>,
    backoff: Backoff,
}

impl<T: Ord> WorkQueue<T> {
    /// Creates a queue that rests at least `least` between runs.
    pub(super) fn with_min_rest(least: Duration) -> Self {
        Self { pending: BTreeSet::new(), started: None, backoff: Backoff::with_min_rest(least) }
    }

    pub(super) fn enqueue(&mut self, more: impl IntoIterator<Item = T>) {
        self.pending.extend(more);
    }

    /// Takes all pending requests if nothing runs and the rest is over.
    pub(super) fn try_start(&mut self) -> Option<BTreeSet<T>> {
        if self.started.is_some() || self.pending.is_empty() || !self.backoff.is_due() {
            return None;
        }
        self.started = Some(Instant::now());
        Some(std::mem::take(&mut self.pending))
    }

    /// Ends the run and starts the rest.
    pub(super) fn finish(&mut self) {
        if let Some(began) = self.started.take() {
            self.backoff.record(began.elapsed());
        }
    }

    /// Returns the time until the next run; `None` when nothing waits or work runs.
    pub(super) fn delay(&self) -> Option<Duration> {
        (self.started.is_none() && !self.pending.is_empty()).then(|| self.backoff.remaining())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_during_a_run_or_pause_are_batched() {
        let mut round = WorkQueue::with_min_rest(Duration::ZERO);
        assert_eq!((round.try_start(), round.delay()), (None, None));
        round.enqueue([1]);
        assert_eq!(round.delay(), Some(Duration::ZERO));
        assert_eq!(round.try_start(), Some(BTreeSet::from([1])));
        round.enqueue([2, 3]);
        round.enqueue([2]);
        assert_eq!((round.try_start(), round.delay()), (None, None), "it runs");
        round.finish();
        std::thread::park_timeout(round.delay().unwrap_or_default());
        while !round.backoff.is_due() {}
        assert_eq!(round.try_start(), Some(BTreeSet::from([2, 3])));
        let mut slow = WorkQueue::with_min_rest(Duration::from_hours(1));
        slow.enqueue([1]);
        assert!(slow.try_start().is_some());
        slow.finish();
        slow.enqueue([2]);
        assert!(
            slow.try_start().is_none() && slow.delay().is_some_and(|wait| wait > Duration::from_mins(59)),
            "it rests"
        );
    }
}
