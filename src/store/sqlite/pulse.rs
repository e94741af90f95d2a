//! Whether anything was committed to a database since it was last asked: the one sign that a file's size and time do not
//! give (sqlite I1, I2).

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;

use super::open::connect;
use crate::store::index::FileIdentity;
use crate::store::source::identity;

/// What a database answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// Nothing was committed.
    Same,
    /// Something was committed, or it was just opened, or another file lies there by now.
    Changed,
    /// It cannot be asked now; ask again later (sqlite H8).
    Lost,
}

/// A read-only connection that is asked now and then, and holds no transaction between.
#[derive(Debug)]
pub struct Pulse {
    path: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    connection: Connection,
    identity: FileIdentity,
    version: i64,
    /// How the files stood, where it was opened as one that nobody writes.
    still: Option<Stamp>,
}

/// Lengths and times of a database and its log.
type Stamp = [Option<(u64, SystemTime)>; 2];

impl Pulse {
    /// The pulse of a database; nothing is opened yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), open: None }
    }

    /// Asks.
    pub fn beat(&mut self) -> Beat {
        let replaced = self.open.as_ref().is_some_and(|open| identity_at(&self.path) != Some(open.identity));
        if replaced {
            self.open = None;
        }
        match &mut self.open {
            Some(open) => match open.beat(&self.path) {
                Beat::Lost => {
                    self.open = None;
                    Beat::Lost
                }
                answer => answer,
            },
            None => match open(&self.path) {
                Some(open) => {
                    self.open = Some(open);
                    Beat::Changed
                }
                None => Beat::Lost,
            },
        }
    }
}

impl Open {
    fn beat(&mut self, path: &Path) -> Beat {
        if let Some(known) = &self.still {
            // Nothing that is written later is seen through it: it is opened anew when the files change.
            return if *known == stamp(path) { Beat::Same } else { Beat::Lost };
        }
        match version(&self.connection) {
            Ok(version) if version == self.version => Beat::Same,
            Ok(version) => {
                self.version = version;
                Beat::Changed
            }
            Err(_) => Beat::Lost,
        }
    }
}

fn open(path: &Path) -> Option<Open> {
    let identity = identity_at(path)?;
    let files = stamp(path);
    let (connection, still) = connect(path).ok()?;
    let version = version(&connection).ok()?;
    Some(Open { connection, identity, version, still: still.then_some(files) })
}

/// Changes with every commit of another connection, and not when the log is moved into the file.
fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0))
}

fn identity_at(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|meta| identity(&meta))
}

fn stamp(path: &Path) -> Stamp {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    [path, Path::new(&log)].map(|path| {
        let meta = std::fs::metadata(path).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::testing::TestStore;

    #[test]
    fn each_commit_is_told_once_and_reading_is_none() {
        let store = TestStore::new();
        let mut pulse = Pulse::new(store.database());
        assert_eq!([pulse.beat(), pulse.beat()], [Beat::Changed, Beat::Same]);
        store.session("agent:main:main", "s1", &[r#"{"type":"session","version":4,"id":"s1"}"#]);
        assert_eq!([pulse.beat(), pulse.beat()], [Beat::Changed, Beat::Same]);
        store.run("PRAGMA wal_checkpoint(PASSIVE)");
        assert_eq!(pulse.beat(), Beat::Same);
    }

    #[test]
    fn a_database_that_is_not_there_or_another_one_is_told_too() {
        let store = TestStore::new();
        let mut pulse = Pulse::new(store.database());
        assert_eq!(pulse.beat(), Beat::Changed);
        let other = TestStore::new();
        std::fs::rename(other.closed(), store.database()).unwrap();
        assert_eq!([pulse.beat(), pulse.beat()], [Beat::Changed, Beat::Same]);
        assert_eq!(Pulse::new("/nowhere/x.sqlite").beat(), Beat::Lost);
    }
}
