//! Commits to a session that another program keeps appending to, without the lock, as pi does.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clawscope::commit::{CommitError, ReadPrefix, Refusal, SystemClock};
use clawscope::plan::Plan;
use clawscope::policy::Policy;
use clawscope::session::LoadedSession;
use clawscope::write::growth::{GrowingWrite, RETRY_PAUSES_MS};
use clawscope::write::request::{WriteAction, WriteError, WriteRequest};

use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::inspected::{inspected, planned};
use crate::support::session::NOW;

const COMMITS: usize = 25;
/// Longest time to wait for an entry.
const DEADLINE: Duration = Duration::from_secs(20);

fn session_file(folder: &Path) -> PathBuf {
    let path = folder.join("session.jsonl");
    fs::File::create(&path).unwrap().write_all(&lines(&[USER, CALL, RESULT, ANSWER])).unwrap();
    path
}

/// The next entry of the other program, a child of the file's last one: in turn a call, its result, long enough to be
/// pruned, and an answer.
fn next_entry(path: &Path, number: usize) -> (String, String) {
    let text = fs::read_to_string(path).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let (round, id) = (number / 3, format!("w{number}"));
    let message = match number % 3 {
        0 => format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"x{round}","name":"read","arguments":{{}}}}],"stopReason":"toolUse"}}"#
        ),
        1 => format!(
            r#"{{"role":"toolResult","toolCallId":"x{round}","toolName":"read","content":[{{"type":"text","text":"{}"}}],"isError":false}}"#,
            "long ".repeat(40)
        ),
        _ => {
            r#"{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop"}"#.to_owned()
        }
    };
    let line = format!(
        r#"{{"type":"message","id":"{id}","parentId":{},"timestamp":"2026-02-21T06:00:00.000Z","message":{message}}}"#,
        last["id"]
    );
    (id, line + "\n")
}

fn append(path: &Path, line: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}

/// Appends one entry after the other until `done`, with a pause between them; returns their ids. On a machine that
/// becomes busier a commit takes longer than the pause: from the fourth entry without a commit on it doubles.
fn keep_appending(path: &Path, pause: Duration, done: &AtomicBool) -> Vec<String> {
    let mut written = Vec::new();
    while !done.load(Relaxed) {
        let (id, line) = next_entry(path, written.len());
        append(path, &line);
        written.push(id);
        let since_commit = fs::read_to_string(path).unwrap();
        let since_commit = since_commit.lines().rev().take_while(|line| line.contains("\"id\":\"w"));
        let doublings = since_commit.count().saturating_sub(3).min(8) as u32;
        std::thread::park_timeout((pause * 2_u32.pow(doublings)).min(Duration::from_secs(1)));
    }
    written
}

/// Waits until the file is longer than `bytes`.
fn wait_for_growth(path: &Path, bytes: u64) {
    let start = Instant::now();
    while fs::metadata(path).unwrap().len() <= bytes {
        assert!(start.elapsed() < DEADLINE, "nothing was appended");
        std::thread::yield_now();
    }
}

/// Commits once to a session, after it has grown since it was read if `beside`; returns the number of retries.
fn commit_once(path: &Path, beside: bool) -> Result<usize, WriteError> {
    let (session, plan) = readable_plan(path);
    let read = ReadPrefix::of(&session.source, &session.index);
    if beside {
        wait_for_growth(path, session.index.end);
    }
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session: &session, action, allow_orphan: true, now_ms: NOW };
    let mut growing = GrowingWrite::new(request, read, &RETRY_PAUSES_MS);
    growing.write(None, &SystemClock)?;
    Ok(growing.growth().retries)
}

/// Reads the session when there is something to prune in it.
fn readable_plan(path: &Path) -> (LoadedSession, Plan) {
    let start = Instant::now();
    loop {
        let session = inspected(path);
        let plan = planned(&session, &[Policy::Prune], 0.0);
        if !plan.is_empty() {
            return (session, plan);
        }
        assert!(start.elapsed() < DEADLINE, "nothing to prune was appended");
        wait_for_growth(path, session.index.end);
    }
}

/// Twice the time of one commit on this machine without a writer: a faster writer leaves no gap to write in.
fn gap(folder: &Path) -> Duration {
    let path = session_file(folder);
    for number in 0..3 {
        append(&path, &next_entry(&path, number).1);
    }
    let start = Instant::now();
    commit_once(&path, false).unwrap();
    (start.elapsed() * 2).max(Duration::from_millis(10))
}

#[test]
fn commits_during_steady_writes_succeed_and_lose_no_line() {
    let [folder, quiet] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let path = session_file(folder.path());
    let before = fs::read(&path).unwrap();
    let (done, pause) = (AtomicBool::new(false), gap(quiet.path()));
    let (retries, written) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| keep_appending(&path, pause, &done));
        let results: Vec<_> = (0..COMMITS).map(|_| commit_once(&path, true)).collect();
        done.store(true, Relaxed);
        let written = writer.join().unwrap();
        // Between the last check of the file's end and the write itself no program without a lock can be kept out; such
        // an entry is reported, and the lines of both are kept.
        let said = |result: &Result<usize, WriteError>| {
            matches!(result, Ok(_) | Err(WriteError::Commit(CommitError::Interleaved { .. })))
        };
        assert!(results.iter().all(said), "{results:?}");
        let retries: Vec<usize> = results.into_iter().flatten().collect();
        (retries, written)
    });
    assert!(retries.len() >= COMMITS - 1, "{} of {COMMITS} commits", retries.len());
    assert!(retries.iter().all(|retries| *retries > 0), "each met growth: {retries:?}");
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(&before));
    let text = String::from_utf8(bytes).unwrap();
    let ids: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a whole line"))
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .collect();
    let unique: HashSet<&String> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "no id twice");
    assert!(written.iter().all(|id| unique.contains(id)), "an entry of the other program is lost");
    // Copies of earlier receipts are not at the leaf.
    let record = |line: &&str| {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        entry["customType"] == "clawscope.commit" && entry["data"]["leaf"] == entry["id"]
    };
    assert_eq!(text.lines().filter(record).count(), COMMITS, "a commit is lost");
    println!("{COMMITS} commits beside {} entries, one each {pause:?}; retries {retries:?}", written.len());
}

#[test]
fn a_file_that_is_replaced_meanwhile_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = session_file(folder.path());
    let session = inspected(&path);
    let read = ReadPrefix::of(&session.source, &session.index);
    let plan = planned(&session, &[Policy::Prune], 0.0);
    let other = folder.path().join("other");
    fs::copy(&path, &other).unwrap();
    append(&other, &next_entry(&other, 0).1);
    fs::rename(&other, &path).unwrap();
    let replaced = fs::read(&path).unwrap();
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session: &session, action, allow_orphan: true, now_ms: NOW };
    let error = GrowingWrite::new(request, read, &RETRY_PAUSES_MS).write(None, &SystemClock).unwrap_err();
    let refused =
        matches!(&error, WriteError::Refused(Refusal::FileChanged { what: "the file was replaced", .. }));
    assert!(refused || cfg!(not(unix)), "{error}");
    assert_eq!(fs::read(&path).unwrap(), replaced);
}
