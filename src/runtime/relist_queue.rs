//! From changed files to the list. It reads a changed session at once; surveys the whole store only when sessions may
//! have appeared or vanished, with rests so that the machine stays free; and recounts a busy session once a second.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::ids::SessionKey;
use crate::runtime::work_queue::WorkQueue;
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
