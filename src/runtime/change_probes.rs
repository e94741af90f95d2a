//! Probes the databases of a store for commits at an interval, because neither size nor time of a file shows them
//! (sqlite I1). A change of the database's files triggers a probe at once (sqlite I2).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::store::sqlite::{DatabaseProbe, ProbeResult};

/// The time between two probes of an idle database.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// The delay of a probe after a file change: a burst takes one probe.
const CHANGE_DELAY: Duration = Duration::from_millis(40);
/// The first and the longest delay after a failed probe (sqlite H8).
const MIN_RETRY_DELAY: Duration = Duration::from_millis(250);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct ProbedDatabase {
    probe: DatabaseProbe,
    /// The time of the next probe.
    due_at: Instant,
    /// The delay after the next failed probe.
    retry_delay: Duration,
}

/// The probed databases by path.
#[derive(Debug, Default)]
pub(super) struct ChangeProbes(BTreeMap<PathBuf, ProbedDatabase>);

impl ChangeProbes {
    /// Replaces the probed databases. The first probe of a new one reports a change, so that commits between reading
    /// and probing are not lost.
    pub(super) fn set_databases(&mut self, databases: BTreeSet<PathBuf>, now: Instant) {
        self.0.retain(|path, _| databases.contains(path));
        for path in databases {
            let pulse = DatabaseProbe::new(&path);
            self.0.entry(path).or_insert(ProbedDatabase {
                probe: pulse,
                due_at: now,
                retry_delay: MIN_RETRY_DELAY,
            });
        }
    }

    /// Returns the earliest due time; `None` without databases.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.0.values().map(|followed| followed.due_at).min()
    }

    /// Schedules a probe if the changed file is a database or its write-ahead log.
    pub(super) fn schedule_soon(&mut self, path: &Path, now: Instant) {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return };
        let database = path.with_file_name(name.strip_suffix("-wal").unwrap_or(&name));
        let is_same = |own: &Path| own == database || resolve_folder(own) == resolve_folder(&database);
        for (_, followed) in self.0.iter_mut().filter(|(own, _)| is_same(own)) {
            // A failing database keeps its delay.
            if followed.retry_delay == MIN_RETRY_DELAY {
                followed.due_at = followed.due_at.min(now + CHANGE_DELAY);
            }
        }
    }

    /// Probes the due databases; returns those that changed.
    pub(super) fn probe_due(&mut self, now: Instant) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, followed) in self.0.iter_mut().filter(|(_, followed)| followed.due_at <= now) {
            match followed.probe.probe() {
                ProbeResult::Unavailable => {
                    followed.due_at = now + followed.retry_delay;
                    followed.retry_delay = (followed.retry_delay * 2).min(MAX_RETRY_DELAY);
                    continue;
                }
                ProbeResult::Changed => changed.push(path.clone()),
                ProbeResult::Unchanged => {}
            }
            followed.due_at = now + PROBE_INTERVAL;
            followed.retry_delay = MIN_RETRY_DELAY;
        }
        changed
    }
}

/// Resolves the links of the folder and appends the file name.
fn resolve_folder(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::testing::TestStore;

    #[test]
    fn a_new_database_is_reported_once_and_then_probed_on_schedule() {
        let store = TestStore::new();
        let path = store.database();
        let now = Instant::now();
        let mut pulses = ChangeProbes::default();
        assert_eq!(pulses.next_due(), None);
        pulses.set_databases(BTreeSet::from([path.clone()]), now);
        assert_eq!(pulses.probe_due(now), std::slice::from_ref(&path));
        assert_eq!(pulses.next_due(), Some(now + PROBE_INTERVAL));
        store.add_session("agent:main:main", "s1", &[]);
        assert!(pulses.probe_due(now).is_empty());
        let log = format!("{}-wal", path.display());
        pulses.schedule_soon(Path::new(&log), now);
        assert_eq!(pulses.next_due(), Some(now + CHANGE_DELAY));
        assert_eq!(pulses.probe_due(now + CHANGE_DELAY), [path]);
        assert!(pulses.probe_due(now + 2 * PROBE_INTERVAL).is_empty());
        pulses.set_databases(BTreeSet::new(), now);
        assert_eq!(pulses.next_due(), None);
    }

    #[test]
    fn an_unavailable_database_is_probed_at_growing_intervals() {
        let now = Instant::now();
        let mut pulses = ChangeProbes::default();
        pulses.set_databases(BTreeSet::from([PathBuf::from("/nowhere/x.sqlite")]), now);
        let mut at = now;
        let mut waits = Vec::new();
        for _ in 0..7 {
            assert!(pulses.probe_due(at).is_empty());
            waits.push((pulses.next_due().unwrap() - at).as_millis());
            at = pulses.next_due().unwrap();
        }
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 5000, 5000]);
    }
}
