//! The owner of a session's lock, and the reaction of a commit.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clawscope::commit::{
    Clock, CommitError, Disk, LockState, Refusal, StaleReason, SystemClock, SystemDisk, lock_path,
    lock_state, write, write_to_disk,
};
use clawscope::ids::EntryIx;
use clawscope::js;

use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::session::{NOW, Session, TestClock};

/// A process that runs until it is dropped.
struct Owner(Child);

impl Owner {
    fn start() -> Self {
        // It waits for the end of its input, which closes when this is dropped.
        Self(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a process"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn end(mut self) -> u32 {
        drop(self.0.stdin.take());
        self.0.wait().expect("its end");
        self.0.id()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn session() -> Session {
    Session::new(&lines(&[USER, CALL, RESULT, ANSWER]))
}

fn put(session: &Session, text: &str) -> PathBuf {
    let path = lock_path(&session.path).unwrap();
    fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    path
}

fn payload(pid: u32, since: i64) -> String {
    format!("{{\n  \"pid\": {pid},\n  \"createdAt\": \"{}\"\n}}", js::iso_text(since))
}

fn commit(session: &Session, wait_ms: u64, clock: &TestClock) -> Result<(), CommitError> {
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    write(&prepared, wait_ms, clock).map(drop)
}

#[test]
fn the_lock_of_a_running_process_is_waited_for_and_never_taken() {
    let (session, owner) = (session(), Owner::start());
    let lock = put(&session, &payload(owner.pid(), NOW - 5000));
    let held = LockState::Held { pid: Some(owner.pid()), since_ms: Some(NOW - 5000), live: true };
    assert_eq!(lock_state(&session.path, NOW).unwrap(), held);
    let before = session.bytes();
    for wait_ms in [0, 500] {
        let clock = TestClock::default();
        let error = commit(&session, wait_ms, &clock).unwrap_err();
        let CommitError::Refused(Refusal::Locked { pid, since_ms, .. }) = &error else { panic!("{error:?}") };
        assert_eq!((*pid, *since_ms), (Some(owner.pid()), Some(NOW - 5000)));
        assert!(
            error
                .to_string()
                .contains(&format!("locked by process {} since 2026-02-25T06:13:15.000Z", owner.pid()))
        );
        assert_eq!(clock.now_ms() - NOW, wait_ms as i64);
    }
    assert!(lock.exists());
    assert_eq!(session.bytes(), before);
}

#[test]
fn the_lock_of_a_process_that_ended_is_taken_once_it_cannot_be_of_another_container() {
    let session = session();
    let pid = Owner::start().end();
    let lock = put(&session, &payload(pid, NOW - 5000));
    let held = LockState::Held { pid: Some(pid), since_ms: Some(NOW - 5000), live: false };
    assert_eq!(lock_state(&session.path, NOW).unwrap(), held);
    assert!(matches!(
        commit(&session, 0, &TestClock::default()),
        Err(CommitError::Refused(Refusal::Locked { .. }))
    ));
    put(&session, &payload(pid, NOW - 60_000));
    assert_eq!(
        lock_state(&session.path, NOW).unwrap(),
        LockState::Stale { reasons: vec![StaleReason::DeadPid] }
    );
    commit(&session, 0, &TestClock::default()).unwrap();
    assert!(!lock.exists());
}

#[test]
fn waiting_ends_when_the_lock_is_released() {
    let session = session();
    let pid = Owner::start().end();
    put(&session, &payload(pid, NOW - 59_000));
    let clock = TestClock::default();
    commit(&session, 10_000, &clock).unwrap();
    // Pauses of 50, 100, 150, 200, 250 and 300 ms, as in the gateway.
    assert_eq!(clock.now_ms() - NOW, 1050, "it was taken at the first look after the minute was over");
}

#[test]
#[cfg(target_os = "linux")]
fn the_lock_of_another_process_with_the_same_id_is_taken() {
    let (session, owner) = (session(), Owner::start());
    let start = format!(",\n  \"starttime\": {}\n}}", 1);
    put(&session, &payload(owner.pid(), NOW - 5000).replace("\n}", &start));
    assert_eq!(
        lock_state(&session.path, NOW).unwrap(),
        LockState::Stale { reasons: vec![StaleReason::RecycledPid] }
    );
    commit(&session, 0, &TestClock::default()).unwrap();
}

#[test]
fn a_lock_older_than_half_an_hour_is_taken_from_any_owner() {
    let (session, owner) = (session(), Owner::start());
    put(&session, &payload(owner.pid(), NOW - 30 * 60_000 - 1));
    assert_eq!(
        lock_state(&session.path, NOW).unwrap(),
        LockState::Stale { reasons: vec![StaleReason::TooOld] }
    );
    commit(&session, 0, &TestClock::default()).unwrap();
}

#[test]
fn a_malformed_lock_is_respected_while_young_and_taken_when_old() {
    let session = session();
    let lock = put(&session, "{\"pid\":");
    let written = fs::metadata(&lock).unwrap().modified().unwrap();
    let written = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    let clock = TestClock::default();
    clock.0.set(written + 30 * 60_000);
    let error = commit(&session, 0, &clock).unwrap_err().to_string();
    assert!(error.contains("locked by an unknown process."), "{error}");
    clock.0.set(written + 30 * 60_000 + 1);
    let reasons = vec![StaleReason::MissingPid, StaleReason::InvalidCreatedAt];
    assert_eq!(lock_state(&session.path, clock.now_ms()).unwrap(), LockState::Stale { reasons });
    commit(&session, 0, &clock).unwrap();
    assert_eq!(lock_state(&session.path, NOW).unwrap(), LockState::Free);
}

#[test]
fn a_lock_that_cannot_be_made_is_reported_with_its_path() {
    let session = session();
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    fs::create_dir(lock_path(&session.path).unwrap()).unwrap();
    let error = write(&prepared, 0, &TestClock::default()).unwrap_err();
    assert!(matches!(error, CommitError::Lock { .. }), "{error:?}");
    assert!(error.to_string().contains("session.jsonl.lock"));
}

#[test]
fn a_commit_does_not_touch_sessions_json() {
    let session = session();
    let rows = session.path.with_file_name("sessions.json");
    fs::File::create(&rows).unwrap().write_all(b"{}").unwrap();
    commit(&session, 0, &TestClock::default()).unwrap();
    assert_eq!(fs::read(&rows).unwrap(), b"{}");
    let mut names: Vec<_> =
        fs::read_dir(session.path.parent().unwrap()).unwrap().map(|item| item.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["session.jsonl", "sessions.json"]);
}

/// A disk that shows the transcript to another program while its first bytes are there and the others are not.
#[derive(Debug)]
struct Halfway<'a> {
    path: &'a Path,
    reserved: Cell<bool>,
    refused: RefCell<Option<Refusal>>,
}

impl Disk for Halfway<'_> {
    fn reserve(&self, file: &File, end: u64, bytes: u64) -> io::Result<()> {
        self.reserved.set(true);
        SystemDisk.reserve(file, end, bytes)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        let first = if self.reserved.take() { 7 } else { 0 };
        file.write_all(&bytes[..first])?;
        if first > 0 {
            let seen = Session::at(self.path);
            *self.refused.borrow_mut() = seen.prepare(vec![seen.clear(EntryIx(2))]).err();
        }
        file.write(&bytes[first..]).map(|count| first + count)
    }
}

#[test]
fn a_commit_in_progress_is_not_reported_as_interrupted() {
    let session = session();
    let disk = Halfway { path: &session.path, reserved: Cell::default(), refused: RefCell::default() };
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    write_to_disk(&disk, &prepared, 0, &SystemClock).unwrap();
    let refused = disk.refused.take();
    assert!(matches!(refused, Some(Refusal::UnterminatedLine { .. })), "{refused:?}");
}
