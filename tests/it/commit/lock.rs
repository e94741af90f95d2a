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
use clawscope::units::{Bytes, Millis, Moment};

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

fn payload(pid: u32, since: Moment) -> String {
    format!("{{\n  \"pid\": {pid},\n  \"createdAt\": \"{}\"\n}}", js::iso_text(since))
}

fn commit(session: &Session, wait_ms: Millis, clock: &TestClock) -> Result<(), CommitError> {
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    write(&prepared, wait_ms, clock).map(drop)
}

#[test]
fn the_lock_of_a_running_process_is_waited_for_and_never_taken() {
    let (session, owner) = (session(), Owner::start());
    let lock = put(&session, &payload(owner.pid(), NOW - Millis(5000.0)));
    let held = LockState::Held { pid: Some(owner.pid()), since_ms: Some(NOW - Millis(5000.0)), live: true };
    assert_eq!(lock_state(&session.path, NOW).unwrap(), held);
    let before = session.bytes();
    for wait_ms in [0.0, 500.0].map(Millis) {
        let clock = TestClock::default();
        let error = commit(&session, wait_ms, &clock).unwrap_err();
        let CommitError::Refused(Refusal::Locked { pid, since_ms, .. }) = &error else { panic!("{error:?}") };
        assert_eq!((*pid, *since_ms), (Some(owner.pid()), Some(NOW - Millis(5000.0))));
        assert!(
            error
                .to_string()
                .contains(&format!("locked by process {} since 2026-02-25T06:13:15.000Z", owner.pid()))
        );
        assert_eq!(clock.now_ms() - NOW, wait_ms);
    }
    assert!(lock.exists());
    assert_eq!(session.bytes(), before);
}

#[test]
fn the_lock_of_a_process_that_ended_is_taken_once_it_cannot_be_of_another_container() {
    let session = session();
    let pid = Owner::start().end();
    let lock = put(&session, &payload(pid, NOW - Millis(5000.0)));
    let held = LockState::Held { pid: Some(pid), since_ms: Some(NOW - Millis(5000.0)), live: false };
    assert_eq!(lock_state(&session.path, NOW).unwrap(), held);
    assert!(matches!(
        commit(&session, Millis::ZERO, &TestClock::default()),
        Err(CommitError::Refused(Refusal::Locked { .. }))
    ));
    put(&session, &payload(pid, NOW - Millis(60_000.0)));
    assert_eq!(
        lock_state(&session.path, NOW).unwrap(),
        LockState::Stale { reasons: vec![StaleReason::DeadPid] }
    );
    commit(&session, Millis::ZERO, &TestClock::default()).unwrap();
    assert!(!lock.exists());
}

#[test]
fn waiting_ends_when_the_lock_is_released() {
    let session = session();
    let pid = Owner::start().end();
    put(&session, &payload(pid, NOW - Millis(59_000.0)));
    let clock = TestClock::default();
    commit(&session, Millis(10_000.0), &clock).unwrap();
    // Pauses of 50, 100, 150, 200, 250 and 300 ms, as in the gateway.
    assert_eq!(
        clock.now_ms() - NOW,
        Millis(1050.0),
        "it was taken at the first look after the minute was over"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn the_lock_of_another_process_with_the_same_id_is_taken() {
    let (session, owner) = (session(), Owner::start());
    let start = format!(",\n  \"starttime\": {}\n}}", 1);
    put(&session, &payload(owner.pid(), NOW - Millis(5000.0)).replace("\n}", &start));
    assert_eq!(
        lock_state(&session.path, NOW).unwrap(),
        LockState::Stale { reasons: vec![StaleReason::RecycledPid] }
    );
    commit(&session, Millis::ZERO, &TestClock::default()).unwrap();
}

#[test]
fn a_lock_older_than_half_an_hour_is_taken_from_any_owner() {
    let (session, owner) = (session(), Owner::start());
    put(&session, &payload(owner.pid(), NOW - Millis(30.0 * 60_000.0 + 1.0)));
    assert_eq!(
        lock_state(&session.path, NOW).unwrap(),
        LockState::Stale { reasons: vec![StaleReason::TooOld] }
    );
    commit(&session, Millis::ZERO, &TestClock::default()).unwrap();
}

#[test]
fn a_malformed_lock_is_respected_while_young_and_taken_when_old() {
    let session = session();
    let lock = put(&session, "{\"pid\":");
    let written = fs::metadata(&lock).unwrap().modified().unwrap();
    let written = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let half_an_hour = Moment(written as f64) + Millis(30.0 * 60_000.0);
    let clock = TestClock::default();
    clock.0.set(half_an_hour);
    let error = commit(&session, Millis::ZERO, &clock).unwrap_err().to_string();
    assert!(error.contains("locked by an unknown process."), "{error}");
    clock.0.set(half_an_hour + Millis(1.0));
    let reasons = vec![StaleReason::MissingPid, StaleReason::InvalidCreatedAt];
    assert_eq!(lock_state(&session.path, clock.now_ms()).unwrap(), LockState::Stale { reasons });
    commit(&session, Millis::ZERO, &clock).unwrap();
    assert_eq!(lock_state(&session.path, NOW).unwrap(), LockState::Free);
}

#[test]
fn a_lock_that_cannot_be_made_is_reported_with_its_path() {
    let session = session();
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    fs::create_dir(lock_path(&session.path).unwrap()).unwrap();
    let error = write(&prepared, Millis::ZERO, &TestClock::default()).unwrap_err();
    assert!(matches!(error, CommitError::Lock { .. }), "{error:?}");
    assert!(error.to_string().contains("session.jsonl.lock"));
}

#[test]
fn a_commit_does_not_touch_sessions_json() {
    let session = session();
    let rows = session.path.with_file_name("sessions.json");
    fs::File::create(&rows).unwrap().write_all(b"{}").unwrap();
    commit(&session, Millis::ZERO, &TestClock::default()).unwrap();
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
    fn reserve(&self, file: &File, end: u64, bytes: Bytes) -> io::Result<()> {
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
    write_to_disk(&disk, &prepared, Millis::ZERO, &SystemClock).unwrap();
    let refused = disk.refused.take();
    assert!(matches!(refused, Some(Refusal::UnterminatedLine { .. })), "{refused:?}");
}
