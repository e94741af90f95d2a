//! Our locks and the real gateway's: each keeps the other out, each takes over the other's stale lock, and three
//! writers in turn lose nothing. Says `skipped: …` where the real programs are not here.

#![cfg(unix)]

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clawscope::commit::{
    Clock, CommitError, Disk, LockState, PlannedCompaction, PreparedCommit, Refusal, SystemClock, SystemDisk,
    lock_path, lock_state, receipts, write, write_to_disk,
};
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsString, Object, Value};
use clawscope::store::entry::Role;
use clawscope::transcript::Leaf;

use crate::support::gateway::Gateways;
use crate::support::generate::{Options, transcript};
use crate::support::pi::Pi;
use crate::support::session::Session;
use clawscope::units::{Bytes, Millis, Tokens};

fn session() -> Session {
    let options = Options { steps: 3, ..Options::default() };
    let made = (0..50).map(|seed| Session::new(&transcript(seed, &options)));
    made.into_iter().find(|session| !session.results().is_empty()).expect("a session with results")
}

fn commit(session: &Session) -> Result<(), CommitError> {
    let prepared = session.prepare(vec![session.clear(session.results()[0])]).unwrap();
    write(&prepared, Millis::ZERO, &SystemClock).map(drop)
}

fn number(answer: &Value, key: &str) -> u32 {
    answer.get(key).and_then(Value::as_f64).expect(key) as u32
}

fn text(answer: &Value, key: &str) -> String {
    answer.get(key).and_then(Value::as_str).map(JsString::to_string_lossy).expect(key)
}

#[test]
fn a_run_of_the_gateway_keeps_a_commit_out_until_it_is_over() {
    let Some(gateways) = Gateways::find() else { return };
    let session = session();
    let mut gateway = gateways.start("hold", &session.path, &[]);
    let holder = number(&gateway.answer(), "pid");
    let before = session.bytes();
    let refused = commit(&session);
    assert!(
        matches!(refused, Err(CommitError::Refused(Refusal::Locked { pid: Some(pid), .. })) if pid == holder),
        "{refused:?}"
    );
    assert_eq!(session.bytes(), before);
    gateway.finish();
    commit(&session).unwrap();
}

#[test]
fn the_lock_of_a_killed_gateway_is_taken_after_a_minute() {
    let Some(gateways) = Gateways::find() else { return };
    let session = session();
    let mut gateway = gateways.start("hold", &session.path, &[]);
    gateway.answer();
    gateway.kill();
    let now = SystemClock.now_ms();
    // It may run where it is not visible from here.
    assert!(matches!(lock_state(&session.path, now).unwrap(), LockState::Held { live: false, .. }));
    assert!(matches!(commit(&session), Err(CommitError::Refused(Refusal::Locked { .. }))));
    assert!(matches!(lock_state(&session.path, now + Millis(61_000.0)).unwrap(), LockState::Stale { .. }));
}

/// Requests the lock for the gateway at the most delicate step of a commit.
#[derive(Debug)]
struct Asking<'a> {
    gateways: &'a Gateways,
    path: &'a Path,
    answers: RefCell<Vec<Value>>,
}

impl Disk for Asking<'_> {
    fn reserve(&self, file: &File, end: u64, bytes: Bytes) -> std::io::Result<()> {
        self.answers.borrow_mut().extend(self.gateways.run("try", self.path, &["400"]));
        SystemDisk.reserve(file, end, bytes)
    }
}

#[test]
fn a_commit_keeps_the_gateway_out_until_it_is_over() {
    let Some(gateways) = Gateways::find() else { return };
    let session = session();
    let disk = Asking { gateways: &gateways, path: &session.path, answers: RefCell::default() };
    let prepared = session.prepare(vec![session.clear(session.results()[0])]).unwrap();
    write_to_disk(&disk, &prepared, Millis::ZERO, &SystemClock).unwrap();
    let answers = disk.answers.borrow();
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    let expected = format!("session file locked (timeout 400ms): pid={} ", std::process::id());
    assert!(text(answer, "error").starts_with(&expected), "{answer:?}");
    // Afterwards it is free.
    let after = gateways.run("try", &session.path, &["400"]);
    assert_eq!(after[0].get("took"), Some(&Value::Bool(true)));
}

/// A disk on which the process ends before a step; its lock is left behind.
#[derive(Debug)]
struct Ends;

impl Disk for Ends {
    fn reserve(&self, _: &File, _: u64, _: Bytes) -> std::io::Result<()> {
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("killed");
        Ok(())
    }
}

#[test]
fn the_gateway_takes_the_lock_of_a_killed_commit_at_once() {
    let Some(gateways) = Gateways::find() else { return };
    let session = session();
    let status = child("ends", &session.path, 1).wait().unwrap();
    assert!(!status.success() && lock_path(&session.path).unwrap().exists());
    let answer = gateways.run("try", &session.path, &["5000"]);
    assert_eq!(answer[0].get("took"), Some(&Value::Bool(true)), "{answer:?}");
    assert!(number(&answer[0], "ms") < 2000, "it waited: {answer:?}");
    let now = SystemClock.now_ms();
    let found =
        clawscope::commit::find_interrupted(&session.path, now).unwrap().expect("an interrupted commit");
    assert_eq!(found.extent, clawscope::commit::WrittenExtent::NotStarted);
    commit(&session).unwrap();
}

fn put(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// A lock, its age and that of its file (ms), and whether each program may take it.
struct Judged(&'static str, i64, i64, bool);

const MINUTE: i64 = 60_000;

/// Where clawscope differs from the gateway, it leaves the lock in place (store H9, S2).
const LOCKS: [Judged; 18] = [
    Judged(r#"{"pid": 1, "createdAt": "NOW"}"#, 0, 0, false),
    Judged(r#"{"pid": 1, "createdAt": "NOW"}"#, 30 * MINUTE - 5000, 0, false),
    Judged(r#"{"pid": 1, "createdAt": "NOW"}"#, 30 * MINUTE + 5000, 0, true),
    Judged(r#"{"pid": 1, "createdAt": "NOW", "starttime": 999999999}"#, 0, 0, true),
    Judged(r#"{"pid": 1, "createdAt": "NOW", "starttime": -1}"#, 0, 0, false),
    Judged(r#"{"pid": 1, "createdAt": "NOW", "starttime": 1.5}"#, 0, 0, false),
    Judged(r#"{"pid": 1, "createdAt": "NOW", "starttime": "1"}"#, 0, 0, false),
    Judged(r#"{"pid": OWN, "createdAt": "NOW"}"#, 0, 0, true),
    Judged(r#"{"pid": 4000000, "createdAt": "NOW"}"#, 2 * MINUTE, 0, true),
    Judged(r#"{"pid": 4000000}"#, 0, 2 * MINUTE, true),
    Judged(r#"{"createdAt": "NOW"}"#, 0, 0, false),
    Judged(r#"{"createdAt": "NOW"}"#, 31 * MINUTE, 0, true),
    Judged(r#"{"pid": 1, "createdAt": "yesterday"}"#, 0, 0, false),
    Judged(r#"{"pid": 1, "createdAt": "yesterday"}"#, 0, 31 * MINUTE, true),
    Judged(r#"{"pid": 1.5, "createdAt": "NOW"}"#, 0, 31 * MINUTE, true),
    Judged("", 0, 0, false),
    Judged("", 0, 31 * MINUTE, true),
    Judged("null", 0, 31 * MINUTE, true),
];

#[test]
#[cfg(target_os = "linux")]
fn clawscope_and_the_gateway_agree_on_stale_locks() {
    let Some(gateways) = Gateways::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let case = |judged: &Judged| {
        Value::from(Object::from([
            ("text", Value::from(judged.0)),
            ("age", Value::Number(judged.1 as f64)),
            ("file", Value::Number(judged.2 as f64)),
        ]))
    };
    let file = folder.path().join("cases.json");
    let cases = Value::Array(LOCKS.iter().map(case).collect());
    put(&file, &js::stringify(&cases));
    let answers = gateways.run("judge", &file, &[]);
    assert_eq!(answers.len(), LOCKS.len());
    for (Judged(text, age, file_age, expected), answer) in LOCKS.iter().zip(&answers) {
        let takes = answer.get("takes").and_then(Value::as_bool).unwrap();
        assert_eq!(takes, *expected, "the gateway, {text}: {answer:?}");
        let now = SystemClock.now_ms();
        let transcript = folder.path().join("t.jsonl");
        let lock = lock_path(&transcript).unwrap();
        let own = text.replace("OWN", &std::process::id().to_string());
        put(&lock, &own.replace("NOW", &js::iso_text(now - Millis(*age as f64))));
        let at = std::time::UNIX_EPOCH
            + std::time::Duration::from_millis((now - Millis(*file_age as f64)).whole().unsigned_abs());
        File::options().write(true).open(&lock).unwrap().set_modified(at).unwrap();
        let ours = matches!(lock_state(&transcript, now).unwrap(), LockState::Stale { .. });
        assert_eq!(ours, *expected, "ours, {text}");
    }
}

const TASK: &str = "CLAWSCOPE_TEST_LOCK";

/// This program again: it commits this many times, or ends in the middle of the first.
fn child(verb: &str, path: &Path, rounds: usize) -> std::process::Child {
    let mut command = Command::new(crate::support::process::this_program());
    command.args(["real_lock::child_process", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(TASK, format!("{verb} {rounds} {}", path.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts")
}

#[test]
fn child_process() {
    let Ok(reported) = std::env::var(TASK) else { return };
    let parts: Vec<&str> = reported.splitn(3, ' ').collect();
    let [verb, rounds, path] = parts[..] else { panic!("{reported}") };
    let path = PathBuf::from(path);
    if verb == "ends" {
        let session = Session::at(&path);
        let prepared = session.prepare(vec![session.clear(session.results()[0])]).unwrap();
        let _ = write_to_disk(&Ends, &prepared, Millis::ZERO, &SystemClock);
    } else {
        let mut session = Session::at(&path);
        (0..rounds.parse().unwrap()).for_each(|round| commit_one(&mut session, &format!("{verb} {round}")));
    }
}

/// Commits once, with retries: nothing is written while another program holds the lock or was faster.
fn commit_one(session: &mut Session, words: &str) {
    loop {
        session.grow();
        let prepared = prepared(session, words).map_err(CommitError::from);
        match prepared.and_then(|prepared| write(&prepared, Millis::ZERO, &SystemClock)) {
            Ok(_) => return SystemClock.pause(Millis(5.0)),
            Err(CommitError::Refused(
                Refusal::Locked { .. } | Refusal::FileChanged { .. } | Refusal::UnterminatedLine { .. },
            )) => SystemClock.pause(Millis(3.0)),
            Err(error) => panic!("{words}: {error}"),
        }
    }
}

/// Copies at most this many entries; a compaction copies none.
const MOST_COPIES: usize = 6;

/// Replaces the last result, or compacts if much follows it already.
fn prepared(session: &Session, words: &str) -> Result<PreparedCommit, Refusal> {
    let last = *session.results().last().expect("a result");
    let path = session.tree.branch(&session.index, &Leaf::Own);
    let at = path.iter().position(|ix| *ix == last).expect("on the path");
    if path.len() - at <= MOST_COPIES {
        return session.prepare(vec![session.replace(last, words)]);
    }
    // The call is removed with its results.
    let is_call = |ix: &&EntryIx| session.index.entry(**ix).role() == Some(Role::Assistant);
    let first_kept = *path[..at].iter().rfind(is_call).expect("a call");
    let compaction = PlannedCompaction {
        summary: words.into(),
        first_kept,
        tokens_before: Tokens(1.0),
        details: None,
        from_hook: false,
    };
    session.prepare_with(Vec::new(), Some(compaction))
}

/// Commits of each of two processes, and turns of the gateway: 1,000 rounds.
const COMMITS: usize = 400;
const TURNS: usize = 200;

#[test]
fn two_committing_programs_and_a_gateway_lose_no_line_in_a_thousand_rounds() {
    let Some(gateways) = Gateways::find() else { return };
    let session = session();
    let (path, old, began) = (session.path.clone(), session.bytes(), Instant::now());
    let gateway = gateways.start("append", &path, &[&TURNS.to_string()]);
    let mut children = ["one", "two"].map(|name| child(name, &path, COMMITS));
    for child in &mut children {
        assert!(child.wait().unwrap().success(), "a program that commits failed");
    }
    gateway.finish();
    let session = session.reload();
    let bytes = session.bytes();
    assert!(bytes.starts_with(&old) && bytes.ends_with(b"\n"));
    every_line_is_whole(&session, &bytes);
    every_round_is_there(&session, &bytes);
    let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|item| item.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["session.jsonl"], "a lock or a journal is left");
    let pi = Pi::find().unwrap();
    assert_eq!(pi.open(&[path], false)[0].context, session.context());
    println!("{} rounds, {} lines, {:?}", 2 * COMMITS + TURNS, session.index.line_count, began.elapsed());
}

fn every_line_is_whole(session: &Session, bytes: &[u8]) {
    assert_eq!((session.index.bad_lines, session.index.pending_bytes), (0, Bytes::ZERO));
    let mut ids = HashSet::new();
    for line in String::from_utf8_lossy(bytes).lines().skip(1) {
        let value = js::parse(line).unwrap_or_else(|_| panic!("a broken line: {line}"));
        assert!(ids.insert(text(&value, "id")), "an id occurs twice: {line}");
    }
}

/// Each commit left its record and its text, each turn its call and its result.
fn every_round_is_there(session: &Session, bytes: &[u8]) {
    let records = receipts(&session.index, &session.source).unwrap();
    assert_eq!(records.len(), 2 * COMMITS);
    let whole = String::from_utf8_lossy(bytes);
    let texts: HashSet<&str> = whole.split('"').collect();
    for (name, rounds) in [("one", COMMITS), ("two", COMMITS), ("gateway", TURNS)] {
        for round in 0..rounds {
            assert!(texts.contains(format!("{name} {round}").as_str()), "{name} {round} is lost");
        }
    }
    let calls = whole.matches("\"toolCallId\":\"gateway-").count();
    assert!(calls >= TURNS, "{calls} results");
}
