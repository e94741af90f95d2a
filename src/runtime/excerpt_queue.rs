//! Excerpts for rows: every request is answered, the newest first; only those of older epochs are dropped. The state
//! requests each row once, so a request must not get lost while the person scrolls.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ids::{EntryIx, Epoch};
use crate::runtime::jobs::{JobHandle, JobKind, Jobs};
use crate::runtime::perform::read_excerpts;
use crate::session::LoadedSession;

/// Excerpts per event.
const BATCH_SIZE: usize = 64;

type ExcerptRequest = (Arc<LoadedSession>, Vec<EntryIx>);

#[derive(Debug, Clone, Default)]
pub(super) struct ExcerptQueue {
    pending: Arc<Mutex<Vec<ExcerptRequest>>>,
}

impl ExcerptQueue {
    /// Adds a request, and starts a reader if none runs.
    pub(super) fn enqueue(&self, jobs: &mut Jobs, session: Arc<LoadedSession>, entries: Vec<EntryIx>) {
        self.with_pending(|waiting| waiting.push((session, entries)));
        self.start_reader(jobs);
    }

    /// Starts a reader if a request arrived while the last one was ending.
    pub(super) fn start_reader(&self, jobs: &mut Jobs) {
        if self.with_pending(|waiting| waiting.is_empty()) || jobs.is_running(JobKind::Excerpts) {
            return;
        }
        let own = self.clone();
        jobs.enqueue(JobKind::Excerpts, move |ticket| own.read_all(ticket));
    }

    /// Drops requests of older epochs.
    pub(super) fn drop_older(&self, older_than: Epoch) {
        self.with_pending(|waiting| waiting.retain(|(session, _)| session.epoch >= older_than));
    }

    fn read_all(&self, ticket: &JobHandle) {
        while let Some((session, entries)) = self.with_pending(next_batch) {
            ticket.send_event(read_excerpts(&session, &entries));
        }
    }

    fn with_pending<T>(&self, act: impl FnOnce(&mut Vec<ExcerptRequest>) -> T) -> T {
        act(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes a batch from the newest request.
fn next_batch(waiting: &mut Vec<ExcerptRequest>) -> Option<ExcerptRequest> {
    let (session, entries) = waiting.last_mut()?;
    let batch: Vec<EntryIx> = entries.drain(..entries.len().min(BATCH_SIZE)).collect();
    let session = Arc::clone(session);
    if entries.is_empty() {
        waiting.pop();
    }
    Some((session, batch))
}
