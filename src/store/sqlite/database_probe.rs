//! Detects commits to a database since the last probe. A file's size and time do not show them, because a commit may
//! only touch the write-ahead log (sqlite I1, I2).

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;

use super::open::connect;
use crate::store::index::FileIdentity;
use crate::store::source::file_identity;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeResult {
    /// No commit.
    Unchanged,
    /// A commit, a first connection, or another file at the path.
    Changed,
    /// The database cannot be read now; probe again later (sqlite H8).
    Unavailable,
}

/// A read-only connection that holds no transaction between probes.
#[derive(Debug)]
pub struct DatabaseProbe {
    path: PathBuf,
    open: Option<ProbeConnection>,
}

#[derive(Debug)]
struct ProbeConnection {
    connection: Connection,
    identity: FileIdentity,
    data_version: i64,
    /// Stamps of the files, for a connection that treats them as immutable.
    immutable_stamp: Option<FileStamps>,
}

/// Lengths and times of a database and its write-ahead log.
type FileStamps = [Option<(u64, SystemTime)>; 2];

impl DatabaseProbe {
    /// Prepares a probe; nothing is opened yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), open: None }
    }

    /// Compares the database with its state at the last probe.
    pub fn probe(&mut self) -> ProbeResult {
        let replaced =
            self.open.as_ref().is_some_and(|open| read_identity(&self.path) != Some(open.identity));
        if replaced {
            self.open = None;
        }
        match &mut self.open {
            Some(open) => match open.probe(&self.path) {
                ProbeResult::Unavailable => {
                    self.open = None;
                    ProbeResult::Unavailable
                }
                answer => answer,
            },
            None => match open_connection(&self.path) {
                Some(open) => {
                    self.open = Some(open);
                    ProbeResult::Changed
                }
                None => ProbeResult::Unavailable,
            },
        }
    }
}

impl ProbeConnection {
    fn probe(&mut self, path: &Path) -> ProbeResult {
        if let Some(known) = &self.immutable_stamp {
            // An immutable connection never shows later writes, so changed files need a new connection.
            return if *known == read_stamps(path) {
                ProbeResult::Unchanged
            } else {
                ProbeResult::Unavailable
            };
        }
        match read_data_version(&self.connection) {
            Ok(version) if version == self.data_version => ProbeResult::Unchanged,
            Ok(version) => {
                self.data_version = version;
                ProbeResult::Changed
            }
            Err(_) => ProbeResult::Unavailable,
        }
    }
}

fn open_connection(path: &Path) -> Option<ProbeConnection> {
    let identity = read_identity(path)?;
    let files = read_stamps(path);
    let (connection, still) = connect(path).ok()?;
    let version = read_data_version(&connection).ok()?;
    Some(ProbeConnection {
        connection,
        identity,
        data_version: version,
        immutable_stamp: still.then_some(files),
    })
}

/// Returns a number that changes with every commit of another connection, but not with a checkpoint.
fn read_data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0))
}

fn read_identity(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|meta| file_identity(&meta))
}

fn read_stamps(path: &Path) -> FileStamps {
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
    fn each_commit_is_reported_once_and_reads_are_not() {
        let store = TestStore::new();
        let mut pulse = DatabaseProbe::new(store.database());
        assert_eq!([pulse.probe(), pulse.probe()], [ProbeResult::Changed, ProbeResult::Unchanged]);
        store.add_session("agent:main:main", "s1", &[r#"{"type":"session","version":4,"id":"s1"}"#]);
        assert_eq!([pulse.probe(), pulse.probe()], [ProbeResult::Changed, ProbeResult::Unchanged]);
        store.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
        assert_eq!(pulse.probe(), ProbeResult::Unchanged);
    }

    #[test]
    fn a_missing_or_replaced_database_is_reported() {
        let store = TestStore::new();
        let mut pulse = DatabaseProbe::new(store.database());
        assert_eq!(pulse.probe(), ProbeResult::Changed);
        let other = TestStore::new();
        std::fs::rename(other.close(), store.database()).unwrap();
        assert_eq!([pulse.probe(), pulse.probe()], [ProbeResult::Changed, ProbeResult::Unchanged]);
        assert_eq!(DatabaseProbe::new("/nowhere/x.sqlite").probe(), ProbeResult::Unavailable);
    }
}
