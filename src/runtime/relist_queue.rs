//! From changed files to the list. It reads a changed session at once; surveys the whole store only when sessions may
//! have appeared or vanished, with rests so that the machine stays free; and recounts a busy session once a second.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ids::SessionKey;
use crate::session::invalidation::PathIndex;
use crate::store::discovery::Store;

/// Minimum time between two counts of a session.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct RelistQueue {
    /// The paths of the last listed store.
    pub(super) path_index: Arc<PathIndex>,
    pub(super) changed_paths: WorkQueue<PathBuf>,
    /// Paths that require a survey of the whole store.
    pub(super) surveys: WorkQueue<PathBuf>,
    /// The paths behind the running or the last survey.
    pub(super) survey_causes: BTreeSet<PathBuf>,
    pub(super) recounts: WorkQueue<SessionKey>,
    /// Paths that changed during a survey, which may have read them before the change.
    pub(super) changed_during_survey: BTreeSet<PathBuf>,
}

impl Default for RelistQueue {
    fn default() -> Self {
        Self {
            path_index: Arc::default(),
            changed_paths: WorkQueue::with_min_rest(Duration::ZERO),
            surveys: WorkQueue::with_min_rest(Duration::ZERO),
            survey_causes: BTreeSet::new(),
            recounts: WorkQueue::with_min_rest(COUNT_INTERVAL),
            changed_during_survey: BTreeSet::new(),
        }
    }
}

impl RelistQueue {
    pub(super) fn enqueue(&mut self, paths: Vec<PathBuf>) {
        self.changed_paths.enqueue(paths);
    }

    /// Adopts the list of a survey.
    pub(super) fn apply_listing(&mut self, store: &Store) {
        self.path_index = Arc::new(PathIndex::new(store, std::mem::take(&mut self.survey_causes)));
        self.changed_paths.enqueue(std::mem::take(&mut self.changed_during_survey));
    }

    /// Returns the time until some work may start; `None` when nothing waits for a time.
    pub(super) fn next_delay(&self) -> Option<Duration> {
        [self.changed_paths.delay(), self.surveys.delay(), self.recounts.delay()].into_iter().flatten().min()
    }
}

// A work queue with rests: requests that arrive during a run or a rest are handled together in the next run.

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

// The pace of surveys while a store changes: long work is followed by a long rest, so that a store of any size takes
// only a fraction of one core.

/// A rest takes this many times as long as the work before it: 4 leaves a fifth of a core to the work.
const REST_FACTOR: u32 = 4;

#[derive(Debug, Default)]
pub struct Backoff {
    ready_at: Option<Instant>,
    min_rest: Duration,
}

impl Backoff {
    /// Creates a pace whose rests take at least `min_rest`.
    pub fn with_min_rest(min_rest: Duration) -> Self {
        Self { ready_at: None, min_rest }
    }

    pub fn is_due(&self) -> bool {
        self.remaining().is_zero()
    }

    pub fn remaining(&self) -> Duration {
        self.ready_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Starts a rest after work that took `time`.
    pub fn record(&mut self, time: Duration) {
        self.ready_at = Some(Instant::now() + (time * REST_FACTOR).max(self.min_rest));
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

#[cfg(test)]
mod backoff_tests {
    use super::*;

    #[test]
    fn long_work_is_followed_by_a_longer_pause_and_no_work_by_none() {
        let mut pace = Backoff::default();
        assert!(pace.is_due());
        pace.record(Duration::from_hours(1));
        assert!(!pace.is_due() && pace.remaining() > Duration::from_hours(3));
        pace.record(Duration::ZERO);
        assert!(pace.is_due());
    }
}
