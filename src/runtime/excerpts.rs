//! Texts for rows: every request is answered, the newest first, and only older readings are dropped. The
//! state asks for each row once, so nothing may get lost while it scrolls.

use std::sync::{Arc, Mutex, PoisonError};

use crate::app::event::Event;
use crate::ids::{EntryIx, Epoch};
use crate::inspect::Inspection;
use crate::inspect::excerpt::excerpt_of;
use crate::runtime::jobs::{Jobs, Kind, Ticket};

/// Texts sent at a time.
const BATCH: usize = 64;

/// A request for texts.
type Request = (Arc<Inspection>, Vec<EntryIx>);

/// Requests that wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Excerpts {
    waiting: Arc<Mutex<Vec<Request>>>,
}

impl Excerpts {
    /// Adds a request, and starts reading where nobody reads.
    pub(super) fn ask(&self, jobs: &mut Jobs, inspection: Arc<Inspection>, entries: Vec<EntryIx>) {
        self.with(|waiting| waiting.push((inspection, entries)));
        self.run(jobs);
    }

    /// Reads on, where a request came in while the last reader was ending.
    pub(super) fn run(&self, jobs: &mut Jobs) {
        if self.with(|waiting| waiting.is_empty()) || jobs.is_running(Kind::Excerpts) {
            return;
        }
        let own = self.clone();
        jobs.add(Kind::Excerpts, move |ticket| own.read_all(ticket));
    }

    /// Drops requests of older readings.
    pub(super) fn forget(&self, older_than: Epoch) {
        self.with(|waiting| waiting.retain(|(inspection, _)| inspection.epoch >= older_than));
    }

    fn read_all(&self, ticket: &Ticket) {
        while let Some((inspection, entries)) = self.with(next) {
            let items = entries.iter().filter_map(|ix| {
                // A text that cannot be read leaves its row without one; opening the message says why.
                Some((*ix, excerpt_of(&inspection, *ix).ok()?))
            });
            ticket.send(Event::Excerpts { epoch: inspection.epoch, items: items.collect() });
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Vec<Request>) -> T) -> T {
        act(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A batch of the newest request.
fn next(waiting: &mut Vec<Request>) -> Option<Request> {
    let (inspection, entries) = waiting.last_mut()?;
    let batch: Vec<EntryIx> = entries.drain(..entries.len().min(BATCH)).collect();
    let inspection = Arc::clone(inspection);
    if entries.is_empty() {
        waiting.pop();
    }
    Some((inspection, batch))
}
