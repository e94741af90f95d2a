//! Starts the work that changed files queued, and applies its results to the list.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::app::event::Event;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::{JobKind, JobMessage};
use crate::runtime::session_counts::system_now_ms;
use crate::session::invalidation::Invalidation;
use crate::store::discovery::Store;
use crate::store::session::Session;

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
            let demo = self.app.store.listing.as_ref().is_some_and(|listing| listing.demo);
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
