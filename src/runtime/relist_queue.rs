//! From changed files to the list. It reads a changed session at once; surveys the whole store only when sessions may
//! have appeared or vanished, with rests so that the machine stays free; and recounts a busy session once a second.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::app::event::Event;
use crate::ids::SessionKey;
use crate::runtime::clock::system_now_ms;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::{JobKind, JobMessage};
use crate::runtime::work_queue::WorkQueue;
use crate::session::invalidation::{Invalidation, PathIndex};
use crate::store::discovery::Store;
use crate::store::session::Session;

/// Minimum time between two counts of a session.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct RelistQueue {
    /// The paths of the last listed store.
    path_index: Arc<PathIndex>,
    changed_paths: WorkQueue<PathBuf>,
    /// Paths that require a survey of the whole store.
    surveys: WorkQueue<PathBuf>,
    /// The paths behind the running or the last survey.
    survey_causes: BTreeSet<PathBuf>,
    recounts: WorkQueue<SessionKey>,
    /// Paths that changed during a survey, which may have read them before the change.
    changed_during_survey: BTreeSet<PathBuf>,
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

impl EventLoop {
    /// Starts the queued work that may start.
    pub(super) fn start_due_work(&mut self) {
        let running =
            [JobKind::Invalidate, JobKind::List, JobKind::Recount].map(|kind| self.jobs.is_running(kind));
        let relisting = &mut self.relist_queue;
        if !running[0] {
            relisting.changed_paths.finish();
        }
        if !running[1] {
            relisting.surveys.finish();
        }
        if !running[2] {
            relisting.recounts.finish();
        }
        let Some(store) = self.store_loader.store.clone() else { return };
        if let Some(paths) = self.relist_queue.changed_paths.try_start() {
            self.start_invalidation(Arc::clone(&store), paths);
        }
        if let Some(keys) = self.relist_queue.recounts.try_start() {
            let counts = self.session_counts.clone();
            self.jobs
                .start_after_current(JobKind::Recount, move |ticket| counts.recount(&store, &keys, ticket));
        }
        if !running[1]
            && let Some(because) = self.relist_queue.surveys.try_start()
        {
            self.relist_queue.survey_causes.extend(because);
            let demo = self.app.listing.as_ref().is_some_and(|listing| listing.demo);
            self.list(demo);
        }
    }

    fn start_invalidation(&mut self, store: Arc<Store>, paths: BTreeSet<PathBuf>) {
        let places = Arc::clone(&self.relist_queue.path_index);
        self.jobs.start_after_current(JobKind::Invalidate, move |ticket| {
            let touched = places.invalidated_by(&store, &paths, system_now_ms());
            ticket.send_message(JobMessage::Invalidated(Box::new(touched), store, paths));
        });
    }

    /// Applies the effect of changed files to the list.
    pub(super) fn apply_invalidation(
        &mut self,
        touched: Invalidation,
        store: &Arc<Store>,
        paths: BTreeSet<PathBuf>,
    ) {
        if !self.store_loader.store.as_ref().is_some_and(|now| Arc::ptr_eq(now, store)) {
            // A newer list arrived meanwhile: the paths are checked against it.
            self.relist_queue.changed_paths.enqueue(paths);
            return;
        }
        if touched.rescan {
            self.relist_queue.surveys.enqueue(paths.iter().cloned());
        }
        if self.jobs.is_running(JobKind::List) {
            self.relist_queue.changed_during_survey.extend(paths);
        }
        let (sessions, mut items): (Vec<Session>, Vec<_>) =
            touched.sessions.into_iter().filter(|(session, _)| self.store_loader.includes(session)).unzip();
        if items.is_empty() {
            return;
        }
        let unknown = self.session_counts.apply_outdated(store, &sessions, &mut items);
        self.relist_queue.recounts.enqueue(unknown);
        self.dispatch(Event::ItemsChanged(items));
    }
}
