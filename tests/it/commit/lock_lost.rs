//! A lock that changes hands during a commit, and another program's view of the commit meanwhile.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use clawscope::commit::{
    CommitError, Disk, InterruptedCommit, Place, SystemDisk, WrittenExtent, find_interrupted, lock_path,
    transcripts_with_journal, write_to_disk,
};
use clawscope::ids::EntryIx;
use clawscope::units::{Bytes, Millis};

use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::session::{NOW, Session, TestClock};

const STRANGER: &str = "{\"pid\": 1}";

fn session() -> Session {
    Session::new(&lines(&[USER, CALL, RESULT, ANSWER]))
}

fn commit(session: &Session, disk: &dyn Disk) -> Result<(), CommitError> {
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).expect("a plan");
    write_to_disk(disk, &prepared, Millis::ZERO, &TestClock::default()).map(drop)
}

fn journals(session: &Session) -> usize {
    let folder = session.path.parent().expect("a folder").canonicalize().expect("a folder");
    transcripts_with_journal(&folder).expect("a folder").len()
}

/// A disk on which another program takes over the lock as soon as the journal exists.
#[derive(Debug)]
struct TakesOver<'a> {
    transcript: &'a Path,
    /// Whether the lock is only removed, without another in its place.
    only_removes: bool,
}

impl Disk for TakesOver<'_> {
    fn create(&self, at: Place<'_>, private: bool) -> io::Result<File> {
        let file = SystemDisk.create(at, private)?;
        if private {
            let lock = lock_path(self.transcript)?;
            fs::remove_file(&lock)?;
            if !self.only_removes {
                File::create(&lock)?.write_all(STRANGER.as_bytes())?;
            }
        }
        Ok(file)
    }
}

#[test]
fn a_lost_lock_stops_the_write_and_the_other_lock_is_kept() {
    let session = session();
    let before = session.bytes();
    let disk = TakesOver { transcript: &session.path, only_removes: false };
    let error = commit(&session, &disk).expect_err("the lock is lost");
    assert!(matches!(&error, CommitError::LockLost { path } if **path == session.path), "{error:?}");
    assert!(error.to_string().contains("another program took over the lock. Nothing was written"));
    assert_eq!(session.bytes(), before);
    assert_eq!(journals(&session), 0, "there is nothing to finish");
    let lock = lock_path(&session.path).expect("a path");
    assert_eq!(fs::read_to_string(&lock).expect("the lock of the other program"), STRANGER);
}

#[test]
fn a_removed_lock_is_lost_too() {
    let session = session();
    let before = session.bytes();
    let disk = TakesOver { transcript: &session.path, only_removes: true };
    assert!(matches!(commit(&session, &disk), Err(CommitError::LockLost { .. })));
    assert_eq!((session.bytes(), journals(&session)), (before, 0));
    commit(&session, &SystemDisk).expect("the next commit finds the file free");
}

/// A disk that takes the first 7 bytes of the lines and cannot take them back. Meanwhile it reads the commit as another
/// program would.
#[derive(Debug)]
struct Breaks<'a> {
    transcript: &'a Path,
    reserved: Cell<bool>,
    seen: RefCell<Vec<Option<InterruptedCommit>>>,
}

impl Disk for Breaks<'_> {
    fn reserve(&self, file: &File, end: u64, bytes: Bytes) -> io::Result<()> {
        self.reserved.set(true);
        SystemDisk.reserve(file, end, bytes)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        if !self.reserved.get() {
            return SystemDisk.write(file, bytes);
        }
        file.write_all(&bytes[..7])?;
        self.seen.borrow_mut().push(find_interrupted(self.transcript, NOW)?);
        Ok(7)
    }

    fn truncate(&self, _file: &File, _bytes: Bytes) -> io::Result<()> {
        Err(io::Error::other("broken"))
    }
}

/// A session with 7 bytes of a commit after it, and the states seen while they were written.
fn broken_off() -> (Session, Vec<Option<InterruptedCommit>>) {
    let session = session();
    let disk = Breaks { transcript: &session.path, reserved: Cell::default(), seen: RefCell::default() };
    let error = commit(&session, &disk).expect_err("the disk is broken");
    assert!(matches!(error, CommitError::Write { restored: false, .. }), "{error:?}");
    let seen = disk.seen.take();
    (session, seen)
}

fn extent(session: &Session) -> Option<WrittenExtent> {
    find_interrupted(&session.path, NOW).expect("readable").map(|interrupted| interrupted.extent)
}

#[test]
fn a_commit_counts_as_interrupted_only_after_its_lock_is_given_back() {
    let (session, seen) = broken_off();
    assert_eq!(seen, [None], "it is being written");
    assert!(matches!(extent(&session), Some(WrittenExtent::Partial { written: Bytes(7), .. })));
}

#[test]
#[cfg(unix)]
fn a_link_in_the_place_of_the_lock_hides_no_interrupted_commit() {
    let (session, _) = broken_off();
    let lock = lock_path(&session.path).expect("a path");
    std::os::unix::fs::symlink("nowhere", &lock).expect("a link");
    assert!(matches!(extent(&session), Some(WrittenExtent::Partial { written: Bytes(7), .. })));
}

#[test]
fn the_lock_of_another_commit_hides_no_interrupted_one() {
    let (session, _) = broken_off();
    let lock = lock_path(&session.path).expect("a path");
    let pid = std::process::id();
    let time = clawscope::js::iso_text(NOW);
    let text = format!("{{\"pid\": {pid}, \"createdAt\": \"{time}\"}}");
    File::create(&lock).and_then(|mut file| file.write_all(text.as_bytes())).expect("a lock");
    assert!(matches!(extent(&session), Some(WrittenExtent::Partial { written: Bytes(7), .. })));
}
