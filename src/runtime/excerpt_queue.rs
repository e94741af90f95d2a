//! Texts for rows: every request is answered, the newest first, and only older readings are dropped. The
//! state asks for each row once, so nothing may get lost while it scrolls.

use std::sync::{Arc, Mutex, PoisonError};

use crate::app::event::Event;
use crate::ids::{EntryIx, Epoch};
use crate::inspect::LoadedSession;
use crate::inspect::excerpt::read_context_excerpt;
use crate::runtime::jobs::{JobHandle, JobKind, Jobs};

/// Texts sent at a time.
const BATCH_SIZE: usize = 64;

/// A request for texts.
type ExcerptRequest = (Arc<LoadedSession>, Vec<EntryIx>);

/// Requests that wait.
#[derive(Debug, Clone, Default)]
pub(super) struct ExcerptQueue {
    pending: Arc<Mutex<Vec<ExcerptRequest>>>,
}

impl ExcerptQueue {
    /// Adds a request, and starts reading where nobody reads.
    pub(super) fn enqueue(&self, jobs: &mut Jobs, inspection: Arc<LoadedSession>, entries: Vec<EntryIx>) {
        self.with_pending(|waiting| waiting.push((inspection, entries)));
        self.start_reader(jobs);
    }

    /// Reads on, where a request came in while the last reader was ending.
    pub(super) fn start_reader(&self, jobs: &mut Jobs) {
        if self.with_pending(|waiting| waiting.is_empty()) || jobs.is_running(JobKind::Excerpts) {
            return;
        }
        let own = self.clone();
        jobs.enqueue(JobKind::Excerpts, move |ticket| own.read_all(ticket));
    }

    /// Drops requests of older readings.
    pub(super) fn drop_older(&self, older_than: Epoch) {
        self.with_pending(|waiting| waiting.retain(|(inspection, _)| inspection.epoch >= older_than));
    }

    fn read_all(&self, ticket: &JobHandle) {
        while let Some((inspection, entries)) = self.with_pending(next_batch) {
            let items = entries.iter().filter_map(|ix| {
                // A text that cannot be read leaves its row without one; opening the message says why.
                Some((*ix, read_context_excerpt(&inspection, *ix).ok()?))
            });
            ticket.send_event(Event::Excerpts { epoch: inspection.epoch, items: items.collect() });
        }
    }

    fn with_pending<T>(&self, act: impl FnOnce(&mut Vec<ExcerptRequest>) -> T) -> T {
        act(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A batch of the newest request.
fn next_batch(waiting: &mut Vec<ExcerptRequest>) -> Option<ExcerptRequest> {
    let (inspection, entries) = waiting.last_mut()?;
    let batch: Vec<EntryIx> = entries.drain(..entries.len().min(BATCH_SIZE)).collect();
    let inspection = Arc::clone(inspection);
    if entries.is_empty() {
        waiting.pop();
    }
    Some((inspection, batch))
}
