//! The databases of a store, asked now and then whether anything was committed: neither the size nor the time of a file
//! says so (sqlite I1). A change of the files beside one is a reason to ask at once (sqlite I2).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::store::sqlite::{Beat, Pulse};

/// How often a database is asked that nothing points to.
const EVERY: Duration = Duration::from_secs(1);
/// How soon after a change of its files it is asked: a burst is one question.
const SOON: Duration = Duration::from_millis(40);
/// How long one that cannot be asked is left alone at first, and at most (sqlite H8).
const BACK_OFF: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);

/// One database.
#[derive(Debug)]
struct Followed {
    pulse: Pulse,
    /// When it is asked next.
    due: Instant,
    /// How long it is left alone after failing once more.
    back_off: Duration,
}

/// Every database that is followed.
#[derive(Debug, Default)]
pub(super) struct Pulses(BTreeMap<PathBuf, Followed>);

impl Pulses {
    /// Follows these and no others. One that is new is told as changed once: what was written between reading it and now
    /// is not missed.
    pub(super) fn set(&mut self, databases: BTreeSet<PathBuf>, now: Instant) {
        self.0.retain(|path, _| databases.contains(path));
        for path in databases {
            let pulse = Pulse::new(&path);
            self.0.entry(path).or_insert(Followed { pulse, due: now, back_off: BACK_OFF });
        }
    }

    /// When one of them is to be asked; none when there is none.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.values().map(|followed| followed.due).min()
    }

    /// A file changed: if it is a database here, or lies beside one as its log, that one is asked soon.
    pub(super) fn wake(&mut self, path: &Path, now: Instant) {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return };
        let database = path.with_file_name(name.strip_suffix("-wal").unwrap_or(&name));
        let is_same = |own: &Path| own == database || real(own) == real(&database);
        for (_, followed) in self.0.iter_mut().filter(|(own, _)| is_same(own)) {
            // One that is being left alone stays so.
            if followed.back_off == BACK_OFF {
                followed.due = followed.due.min(now + SOON);
            }
        }
    }

    /// Asks those whose time has come; answers which of them changed.
    pub(super) fn ask(&mut self, now: Instant) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, followed) in self.0.iter_mut().filter(|(_, followed)| followed.due <= now) {
            match followed.pulse.beat() {
                Beat::Lost => {
                    followed.due = now + followed.back_off;
                    followed.back_off = (followed.back_off * 2).min(LONGEST);
                    continue;
                }
                Beat::Changed => changed.push(path.clone()),
                Beat::Same => {}
            }
            followed.due = now + EVERY;
            followed.back_off = BACK_OFF;
        }
        changed
    }
}

/// The folder without links, with the name.
fn real(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::testing::TestStore;

    #[test]
    fn a_new_database_is_told_once_and_then_asked_when_its_time_has_come() {
        let store = TestStore::new();
        let path = store.database();
        let now = Instant::now();
        let mut pulses = Pulses::default();
        assert_eq!(pulses.due(), None);
        pulses.set(BTreeSet::from([path.clone()]), now);
        assert_eq!(pulses.ask(now), std::slice::from_ref(&path));
        assert_eq!(pulses.due(), Some(now + EVERY));
        store.session("agent:main:main", "s1", &[]);
        assert!(pulses.ask(now).is_empty());
        let log = format!("{}-wal", path.display());
        pulses.wake(Path::new(&log), now);
        assert_eq!(pulses.due(), Some(now + SOON));
        assert_eq!(pulses.ask(now + SOON), [path]);
        assert!(pulses.ask(now + 2 * EVERY).is_empty());
        pulses.set(BTreeSet::new(), now);
        assert_eq!(pulses.due(), None);
    }

    #[test]
    fn one_that_cannot_be_asked_is_left_alone_longer_each_time() {
        let now = Instant::now();
        let mut pulses = Pulses::default();
        pulses.set(BTreeSet::from([PathBuf::from("/nowhere/x.sqlite")]), now);
        let mut at = now;
        let mut waits = Vec::new();
        for _ in 0..7 {
            assert!(pulses.ask(at).is_empty());
            waits.push((pulses.due().unwrap() - at).as_millis());
            at = pulses.due().unwrap();
        }
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 5000, 5000]);
    }
}
