//! Counts that the list itself does not have, read in the background: tokens, entries and marks of every session,
//! newest first. A session is read again only when its file changed.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::app::event::Event;
use crate::commit::{Clock as _, SystemClock};
use crate::ids::SessionKey;
use crate::runtime::jobs::{JobHandle, Throttle};
use crate::session::loading::open;
use crate::session::{LoadedSession, Mark, SessionItem, load_item};
use crate::store::discovery::Store;
use crate::store::location::SharedSnapshots;
use crate::store::session::Session;
use crate::units::{Bytes, Millis, Moment};

/// Sessions read per batch, if they are short.
const BATCH_SIZE: usize = 128;
/// Bytes after which a batch ends.
const BATCH_BYTES: u64 = 4 << 20;
/// Minimum time between two reports: each redraws the list.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// The part of it that each listed session adds: a report orders the whole list again, and keys must not wait for that.
const REPORT_INTERVAL_PER_SESSION: Duration = Duration::from_micros(10);

/// Readings kept for a later recount.
const MAX_RECENT: usize = 4;

/// The state of a session's file when it was read.
#[derive(Debug, Clone, PartialEq)]
struct CountStamp {
    path: Option<PathBuf>,
    bytes: Bytes,
    modified_ms: Option<Moment>,
    /// Hash of the config, as the windows come from it.
    config_hash: u64,
}

impl CountStamp {
    fn new(session: &Session, config_hash: u64) -> Self {
        Self {
            path: session.path.clone(),
            bytes: session.bytes,
            modified_ms: session.modified_ms,
            config_hash,
        }
    }
}

/// Every count so far.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionCounts {
    counted: Arc<Mutex<HashMap<SessionKey, (CountStamp, SessionItem)>>>,
    recent: Arc<Mutex<RecentSessions>>,
}

/// The sessions written to last: a recount continues each reading and does not start over.
#[derive(Debug, Default)]
struct RecentSessions(VecDeque<LoadedSession>);

impl RecentSessions {
    fn take(&mut self, key: &SessionKey) -> Option<LoadedSession> {
        let at = self.0.iter().position(|known| known.item.key == *key)?;
        self.0.remove(at)
    }

    fn push(&mut self, session: LoadedSession) {
        self.0.push_back(session);
        if self.0.len() > MAX_RECENT {
            self.0.pop_front();
        }
    }
}

impl SessionCounts {
    /// Fills in known counts; returns the sessions to read, newest first and archives last.
    pub(super) fn apply_known(&self, store: &Store, items: &mut [SessionItem]) -> Vec<SessionKey> {
        let known = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = if known.is_empty() { HashMap::new() } else { stamps(store) };
        let mut unknown: Vec<(bool, Reverse<Option<i64>>, SessionKey)> = Vec::new();
        for item in items {
            let counted = known.get(&item.key).filter(|(stamp, _)| stamps.get(&item.key) == Some(stamp));
            match counted {
                Some((_, counted)) => copy_counts(item, counted),
                None if item.path.is_none() || item.has(Mark::Missing) => {}
                None => {
                    let aside = item.marks.iter().any(|mark| mark.is_archive());
                    unknown.push((aside, Reverse(item.updated_ms.map(Moment::whole)), item.key.clone()));
                }
            }
        }
        unknown.sort();
        unknown.into_iter().map(|(_, _, key)| key).collect()
    }

    /// Fills in the old counts of changed sessions until they are counted again; returns the sessions to count.
    pub(super) fn apply_outdated(
        &self,
        store: &Store,
        sessions: &[Session],
        items: &mut [SessionItem],
    ) -> Vec<SessionKey> {
        let known = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let configuration = hash_config(store);
        let mut unknown = Vec::new();
        for (session, item) in sessions.iter().zip(items) {
            let counted = known.get(&item.key);
            if let Some((_, counted)) = counted.filter(|(stamp, _)| stamp.path == session.path) {
                copy_counts(item, counted);
            }
            if counted.is_none_or(|(stamp, _)| *stamp != CountStamp::new(session, configuration)) {
                unknown.push(item.key.clone());
            }
        }
        unknown
    }

    /// Reads sessions that are being written to, each from its last position, and reports them.
    pub(super) fn recount(&self, store: &Store, keys: &BTreeSet<SessionKey>, ticket: &JobHandle) {
        let configuration = hash_config(store);
        let mut items = Vec::new();
        for session in store.sessions.iter().filter(|session| keys.contains(&session.key)) {
            // Taken before reading: entries added meanwhile must count as a change.
            let stamp = CountStamp::new(&session.refreshed(), configuration);
            let before = self.recent().take(&session.key);
            let wanted = &mut |_, _| ticket.is_current();
            let Ok(loaded) = open(store, &session.key, before.as_ref(), system_now_ms(), wanted) else {
                continue;
            };
            let item = loaded.item.clone();
            self.recent().push(loaded);
            let mut known = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(item.key.clone(), (stamp, item.clone()));
            items.push(item);
        }
        ticket.send_event(Event::ItemsChanged(items));
    }

    fn recent(&self) -> MutexGuard<'_, RecentSessions> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads sessions and reports them in batches until the job is cancelled.
    pub(super) fn count_sessions(&self, store: &Store, keys: &[SessionKey], ticket: &JobHandle) {
        let stamps = stamps(store);
        let pool = counting_pool();
        // Another job may have counted it already.
        let is_known = |key: &&SessionKey| {
            let known = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(*key).is_some_and(|(stamp, _)| stamps.get(*key) == Some(stamp))
        };
        let sessions = store.sessions_by_key();
        let unread = keys.iter().filter(|key| !is_known(key));
        let unread: Vec<&Session> = unread.filter_map(|key| sessions.get(key).copied()).collect();
        let mut news = Vec::new();
        let mut throttle = Throttle::new(report_interval(store.sessions.len()));
        let read = |shared: &mut SharedSnapshots, session: &&Session| {
            let item = load_item(store, session, system_now_ms(), &mut |_, _| ticket.is_current());
            shared.end_old();
            item.ok()
        };
        let share = SharedSnapshots::on_this_thread;
        let mut left = unread.as_slice();
        while !left.is_empty() {
            let (batch, rest) = left.split_at(batch_len(left));
            left = rest;
            let items: Vec<SessionItem> = if let Some(pool) = &pool {
                pool.install(|| batch.par_iter().map_init(share, read).flatten().collect())
            } else {
                let mut shared = share();
                batch.iter().filter_map(|session| read(&mut shared, session)).collect()
            };
            if !ticket.is_current() {
                return;
            }
            let mut known = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            for item in &items {
                if let Some(stamp) = stamps.get(&item.key) {
                    known.insert(item.key.clone(), (stamp.clone(), item.clone()));
                }
            }
            drop(known);
            news.extend(items);
            if throttle.try_pass() {
                ticket.send_event(Event::ItemsCounted(std::mem::take(&mut news)));
            }
        }
        if !news.is_empty() {
            ticket.send_event(Event::ItemsCounted(news));
        }
    }
}

/// Returns the number of sessions in the next batch: a report waits for all of them.
fn batch_len(sessions: &[&Session]) -> usize {
    let mut bytes = 0;
    let fits = |session: &&&Session| {
        bytes += session.bytes.get();
        bytes <= BATCH_BYTES
    };
    sessions.iter().take(BATCH_SIZE).take_while(fits).count().max(1)
}

/// Uses half of the cores, at most 4: a session that a person opens meanwhile must not wait. `None` up to 2 cores.
fn counting_pool() -> Option<ThreadPool> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores > 2).then(|| ThreadPoolBuilder::new().num_threads((cores / 2).min(4)).build().ok())?
}

fn report_interval(sessions: usize) -> Duration {
    let added = REPORT_INTERVAL_PER_SESSION.saturating_mul(u32::try_from(sessions).unwrap_or(u32::MAX));
    REPORT_INTERVAL.max(added)
}

fn hash_config(store: &Store) -> u64 {
    let mut hasher = DefaultHasher::new();
    crate::js::stringify(&store.config.js_root).hash(&mut hasher);
    hasher.finish()
}

fn stamps(store: &Store) -> HashMap<SessionKey, CountStamp> {
    let configuration = hash_config(store);
    let stamp = |session: &Session| CountStamp::new(session, configuration);
    store.sessions.iter().map(|session| (session.key.clone(), stamp(session))).collect()
}

/// Copies the counts from the reading, and keeps newer facts from the list and the files.
fn copy_counts(item: &mut SessionItem, counted: &SessionItem) {
    item.provider.clone_from(&counted.provider);
    item.model.clone_from(&counted.model);
    item.title.clone_from(&counted.title);
    item.window = counted.window;
    item.set_mark(Mark::AssumedWindow, counted.has(Mark::AssumedWindow));
    item.tokens = counted.tokens;
    item.entries = counted.entries;
    item.overflows = counted.overflows;
    item.state = counted.state;
    item.usage = counted.usage;
    item.compactions = item.compactions.or(counted.compactions);
    item.updated_ms = counted.updated_ms.or(item.updated_ms);
    for mark in [Mark::Overflow, Mark::Refused, Mark::Failing, Mark::Damaged] {
        item.set_mark(mark, counted.has(mark));
    }
}

/// A clock at a fixed offset from the system's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    offset_ms: Millis,
}

impl Clock {
    /// Returns a clock that reads `now_ms` now; without it, the system's time.
    pub(super) fn starting_at(now_ms: Option<Moment>) -> Self {
        Self { offset_ms: now_ms.map_or(Millis::ZERO, |now_ms| now_ms - system_now_ms()) }
    }

    pub(super) fn now_ms(self) -> Moment {
        system_now_ms() + self.offset_ms
    }
}

/// The system's time. Locks use it even in the demo, whose clock differs.
pub(super) fn system_now_ms() -> Moment {
    SystemClock.now_ms()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use crate::runtime::jobs::{JobKind, JobMessage, Jobs};
    use crate::session::list::list_sessions;
    use crate::session::store_location::{StoreLocation, StoreRequest};
    use crate::store::demo::NOW_MS;

    #[test]
    fn a_longer_list_is_reported_less_often() {
        assert_eq!([100, 5_000].map(report_interval), [REPORT_INTERVAL; 2]);
        assert_eq!(report_interval(100_000), Duration::from_secs(1));
    }

    #[test]
    fn a_batch_has_many_short_sessions_or_one_long_one() {
        let place = StoreLocation::new(&StoreRequest::Demo, Environment::default()).unwrap();
        let store = list_sessions(&place, NOW_MS).store;
        let of = |bytes: u64| Session { bytes: Bytes(bytes), ..store.sessions[0].clone() };
        let len = |sizes: &[u64]| {
            let sessions: Vec<Session> = sizes.iter().copied().map(of).collect();
            batch_len(&sessions.iter().collect::<Vec<_>>())
        };
        assert_eq!(len(&[1_000; 500]), BATCH_SIZE);
        assert_eq!([len(&[BATCH_BYTES * 9, 1]), len(&[1, BATCH_BYTES, 1])], [1, 1]);
    }

    #[tokio::test]
    async fn every_session_of_the_demo_is_counted_once_and_only_changed_ones_again() {
        let place = StoreLocation::new(&StoreRequest::Demo, Environment::default()).unwrap();
        let mut listed = list_sessions(&place, NOW_MS);
        let counts = SessionCounts::default();
        let keys = counts.apply_known(&listed.store, &mut listed.items);
        let missing = listed.items.iter().filter(|item| item.has(Mark::Missing)).count();
        assert_eq!(keys.len() + missing, listed.items.len());
        let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
        let mut jobs = Jobs::new(sender);
        let (own, store) = (counts.clone(), Arc::clone(&listed.store));
        jobs.start(JobKind::Count, move |ticket| own.count_sessions(&store, &keys, ticket));
        let mut reported = 0;
        while let Some(report) = reports.recv().await {
            match jobs.accept(report) {
                Some(JobMessage::Event(event)) => {
                    if let Event::ItemsCounted(items) = *event {
                        reported += items.len();
                    }
                }
                Some(JobMessage::Done { panicked }) => {
                    assert!(!panicked);
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(reported + missing, listed.items.len());

        let mut again = list_sessions(&place, NOW_MS);
        assert_eq!(counts.apply_known(&again.store, &mut again.items), []);
        let overflowed = again.items.iter().filter(|item| item.has(Mark::Overflow)).count();
        assert!(
            overflowed >= 2
                && again.items.iter().all(|item| item.entries.is_some() || item.has(Mark::Missing))
        );
        let changed = again.items.iter().find(|item| item.key.0.contains("cron:")).unwrap().clone();
        let mut file = std::fs::OpenOptions::new().append(true).open(changed.path.unwrap()).unwrap();
        std::io::Write::write_all(&mut file, b"{\"type\":\"custom\"}\n").unwrap();
        let mut grown = list_sessions(&place, NOW_MS);
        assert_eq!(counts.apply_known(&grown.store, &mut grown.items), [changed.key]);
    }
}
