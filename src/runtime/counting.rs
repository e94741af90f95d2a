//! What the list does not tell by itself, read in the background: tokens, entries and marks of every
//! session, newest first. A session is read again only when its file changed.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::app::event::Event;
use crate::ids::SessionKey;
use crate::inspect::open::open;
use crate::inspect::{Mark, SessionItem};
use crate::runtime::clock::system_ms;
use crate::runtime::jobs::Ticket;
use crate::store::survey::Store;

/// Sessions read before the list is told.
const BATCH: usize = 8;

/// What a session's file was when it was read.
#[derive(Debug, Clone, PartialEq)]
struct Stamp {
    path: Option<PathBuf>,
    bytes: u64,
    modified_ms: Option<i64>,
    /// Hash of the configuration, which windows come from.
    configuration: u64,
}

/// Everything counted so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    known: Arc<Mutex<HashMap<SessionKey, (Stamp, SessionItem)>>>,
}

impl Counts {
    /// Fills in what is known already; the keys of the sessions that are to be read, newest first.
    pub(super) fn fill(&self, store: &Store, items: &mut [SessionItem]) -> Vec<SessionKey> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(store);
        let mut unknown: Vec<(bool, Reverse<Option<i64>>, SessionKey)> = Vec::new();
        for item in items {
            let counted = known.get(&item.key).filter(|(stamp, _)| stamps.get(&item.key) == Some(stamp));
            match counted {
                Some((_, counted)) => take_over(item, counted),
                None if item.path.is_none() || item.has(Mark::Missing) => {}
                None => {
                    let aside = item.marks.iter().any(|mark| mark.is_archive());
                    unknown.push((aside, Reverse(item.updated_ms), item.key.clone()));
                }
            }
        }
        unknown.sort();
        unknown.into_iter().map(|(_, _, key)| key).collect()
    }

    /// Reads sessions and tells of them in batches, until nobody wants it any more.
    pub(super) fn read(&self, store: &Store, keys: &[SessionKey], ticket: &Ticket) {
        let stamps = stamps(store);
        let pool = pool();
        // Another reader may have been faster.
        let is_known = |key: &&SessionKey| {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(*key).is_some_and(|(stamp, _)| stamps.get(*key) == Some(stamp))
        };
        let keys: Vec<&SessionKey> = keys.iter().filter(|key| !is_known(key)).collect();
        for batch in keys.chunks(BATCH) {
            let count = |key: &&SessionKey| {
                let opened = open(store, key, None, system_ms(), &mut |_, _| ticket.is_wanted());
                opened.ok().map(|inspection| inspection.session)
            };
            let items: Vec<SessionItem> = match &pool {
                Some(pool) => pool.install(|| batch.par_iter().filter_map(count).collect()),
                None => batch.iter().filter_map(count).collect(),
            };
            if !ticket.is_wanted() {
                return;
            }
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for item in &items {
                if let Some(stamp) = stamps.get(&item.key) {
                    known.insert(item.key.clone(), (stamp.clone(), item.clone()));
                }
            }
            drop(known);
            ticket.send(Event::Counted(items));
        }
    }
}

/// Half of the cores: the session that someone opens meanwhile must not wait.
fn pool() -> Option<ThreadPool> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores > 2).then(|| ThreadPoolBuilder::new().num_threads((cores / 2).min(4)).build().ok())?
}

fn stamps(store: &Store) -> HashMap<SessionKey, Stamp> {
    let mut hasher = DefaultHasher::new();
    crate::js::stringify(&store.config.js).hash(&mut hasher);
    let configuration = hasher.finish();
    let stamp = |session: &crate::store::session::Session| Stamp {
        path: session.path.clone(),
        bytes: session.bytes,
        modified_ms: session.modified_ms,
        configuration,
    };
    store.sessions.iter().map(|session| (session.key.clone(), stamp(session))).collect()
}

/// What reading told stays; what the row and the files say now is newer.
fn take_over(item: &mut SessionItem, counted: &SessionItem) {
    item.provider.clone_from(&counted.provider);
    item.model.clone_from(&counted.model);
    item.title.clone_from(&counted.title);
    item.window = counted.window;
    item.tokens = counted.tokens;
    item.entries = counted.entries;
    item.compactions = item.compactions.or(counted.compactions);
    item.updated_ms = counted.updated_ms.max(item.updated_ms.filter(|_| counted.updated_ms.is_none()));
    for mark in [Mark::Overflow, Mark::Damaged] {
        item.set_mark(mark, counted.has(mark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use crate::inspect::list::list;
    use crate::inspect::place::{OpenPlace, Place};
    use crate::runtime::jobs::{Jobs, Kind, Said};
    use crate::store::demo::NOW_MS;

    #[tokio::test]
    async fn the_whole_demo_is_counted_once_and_again_only_what_changed() {
        let place = OpenPlace::new(&Place::Demo, Environment::default()).unwrap();
        let mut listed = list(&place, NOW_MS);
        let counts = Counts::default();
        let keys = counts.fill(&listed.store, &mut listed.items);
        let missing = listed.items.iter().filter(|item| item.has(Mark::Missing)).count();
        assert_eq!(keys.len() + missing, listed.items.len());
        let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
        let mut jobs = Jobs::new(sender);
        let (own, store) = (counts.clone(), Arc::clone(&listed.store));
        jobs.start(Kind::Count, move |ticket| own.read(&store, &keys, ticket));
        let mut told = 0;
        while let Some(report) = reports.recv().await {
            match jobs.take(report) {
                Some(Said::Event(event)) => {
                    if let Event::Counted(items) = *event {
                        told += items.len();
                    }
                }
                Some(Said::Done { panicked }) => {
                    assert!(!panicked);
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(told + missing, listed.items.len());

        let mut again = list(&place, NOW_MS);
        assert_eq!(counts.fill(&again.store, &mut again.items), []);
        let overflowed = again.items.iter().filter(|item| item.has(Mark::Overflow)).count();
        assert!(
            overflowed >= 2
                && again.items.iter().all(|item| item.entries.is_some() || item.has(Mark::Missing))
        );
        let changed = again.items.iter().find(|item| item.key.0.contains("cron:")).unwrap().clone();
        let mut file = std::fs::OpenOptions::new().append(true).open(changed.path.unwrap()).unwrap();
        std::io::Write::write_all(&mut file, b"{\"type\":\"custom\"}\n").unwrap();
        let mut grown = list(&place, NOW_MS);
        assert_eq!(counts.fill(&grown.store, &mut grown.items), [changed.key]);
    }
}
