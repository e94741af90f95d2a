//! Growth that a plan survives, and growth that makes it outdated.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::commit::UndoTarget;
use crate::gateway::env::Environment;
use crate::policy::prune::Gate;
use crate::session::list::list_sessions;
use crate::session::loading::open;
use crate::session::store_location::{StoreLocation, StoreRequest};
use crate::store::demo::NOW_MS;
use crate::store::load::load_bytes;
use crate::units::{Millis, Moment};
use crate::write::request::{preview, write};

/// A clock that appends a line to a file at each of its first pauses, as another program would.
#[derive(Debug)]
struct OtherWriter {
    path: PathBuf,
    lines: RefCell<Vec<String>>,
}

impl Clock for OtherWriter {
    fn now_ms(&self) -> Moment {
        NOW_MS
    }

    fn pause(&self, _: Millis) {
        if let Some(line) = self.lines.borrow_mut().pop() {
            append(&self.path, &line);
        }
    }
}

fn append(path: &Path, line: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn message(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-03-05T10:00:00.000Z","message":{{"role":"user","content":"more"}}}}"#
    )
}

/// A session of a copy of the demo store, with its plan.
fn session() -> (StoreLocation, LoadedSession) {
    let place = StoreLocation::new(&StoreRequest::Demo, Environment::default()).unwrap();
    let listed = list_sessions(&place, NOW_MS);
    let item = listed.items.iter().find(|item| item.key.0.contains("telegram:direct:8812")).unwrap();
    let session = open(&listed.store, &item.key, None, NOW_MS, &mut |_, _| true).unwrap();
    (place, session)
}

fn plan(session: &LoadedSession) -> crate::plan::Plan {
    session.plan(&session.configured_settings, Gate::Open { idle_ms: Millis::ZERO }).unwrap()
}

fn leaf_id(session: &LoadedSession) -> String {
    session.index.display_id(session.index.last().unwrap())
}

/// Commits a plan after `first` was appended; `later` lines come in the pauses.
fn commit_beside(
    session: &LoadedSession,
    first: &str,
    later: &[String],
) -> (Result<WriteResult, WriteError>, Growth) {
    let plan = plan(session);
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session, action, allow_orphan: false, now_ms: NOW_MS };
    let read = ReadPrefix::of(&session.source, &session.index);
    let path = session.source.path().to_path_buf();
    append(&path, first);
    let clock = OtherWriter { path, lines: RefCell::new(later.iter().rev().cloned().collect()) };
    let mut growing = GrowingWrite::new(request, read, &RETRY_PAUSES_MS);
    let written = growing.write(None, &clock).map(|(_, written)| written);
    (written, growing.growth())
}

fn refusal(result: Result<WriteResult, WriteError>) -> Refusal {
    match result {
        Err(WriteError::Refused(refusal) | WriteError::Commit(CommitError::Refused(refusal))) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_commit_copies_entries_added_meanwhile() {
    let (_place, session) = session();
    let before = std::fs::read(session.source.path()).unwrap();
    let leaf = leaf_id(&session);
    // The second entry comes in two pieces: the try in between meets a line without an end.
    let second = message("n2", "n1");
    let (written, growth) = commit_beside(&session, &message("n1", &leaf), &[second]);
    let written = written.unwrap();
    assert_eq!((growth, written.following), (Growth { entries: 2, retries: 1 }, None));
    assert_eq!(
        growth.describe().as_deref(),
        Some("the session grew by 2 entries while committing; retried 1 time")
    );
    let bytes = std::fs::read(session.source.path()).unwrap();
    assert!(bytes.starts_with(&before), "nothing that stood there changed");
    let index = load_bytes("after.jsonl", &bytes, &mut LineIds);
    let context = build_context(&index, &Tree::new(&index), &Leaf::Own).unwrap();
    assert_eq!(
        context.messages.len(),
        session.context.messages.len() + 2,
        "the new messages are in the context"
    );
    assert_eq!(index.display_id(index.last().unwrap()), written.leaf);
}

#[test]
fn a_line_that_is_being_written_is_waited_for() {
    let (_place, session) = session();
    let whole = message("n1", &leaf_id(&session));
    let (half, rest) = whole.split_at(whole.len() / 2);
    OpenOptions::new().append(true).open(session.source.path()).unwrap().write_all(half.as_bytes()).unwrap();
    let plan = plan(&session);
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session: &session, action, allow_orphan: false, now_ms: NOW_MS };
    let read = ReadPrefix::of(&session.source, &session.index);
    let path = session.source.path().to_path_buf();
    let clock = OtherWriter { path, lines: RefCell::new(vec![rest.to_owned()]) };
    let mut growing = GrowingWrite::new(request, read, &RETRY_PAUSES_MS);
    growing.write(None, &clock).unwrap();
    assert_eq!(growing.growth(), Growth { entries: 1, retries: 1 });
}

#[test]
fn growth_that_changes_the_context_is_refused_with_its_entry() {
    let compaction = |leaf: &str| {
        format!(
            r#"{{"type":"compaction","id":"k1","parentId":"{leaf}","timestamp":"2026-03-05T10:00:00.000Z","summary":"all","firstKeptEntryId":"{leaf}","tokensBefore":9}}"#
        )
    };
    let branch = |_: &str| message("b1", "nowhere");
    for (line, what) in [
        (&compaction as &dyn Fn(&str) -> String, "it was compacted"),
        (&branch, "another branch became active"),
    ] {
        let (_place, session) = session();
        let first = line(&leaf_id(&session));
        let (result, _) = commit_beside(&session, &first, &[]);
        let refusal = refusal(result);
        assert!(
            matches!(refusal, Refusal::PlanOutdated { entries: 1, what: found, .. } if found == what),
            "{refusal}"
        );
        let bytes = std::fs::read_to_string(session.source.path()).unwrap();
        assert!(bytes.ends_with(&format!("{first}\n")), "nothing was written");
    }
}

#[test]
fn a_session_that_grows_at_every_try_is_refused() {
    let (_place, session) = session();
    let leaf = leaf_id(&session);
    let (first, pauses) = (message("n0", &leaf), [Millis::ZERO; 2]);
    let plan = plan(&session);
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session: &session, action, allow_orphan: false, now_ms: NOW_MS };
    let read = ReadPrefix::of(&session.source, &session.index);
    let path = session.source.path().to_path_buf();
    append(&path, &first);
    let clock = OtherWriter { path: path.clone(), lines: RefCell::default() };
    let mut growing = GrowingWrite::new(request, read, &pauses);
    let mut grown = 0;
    let result: Result<(), _> = growing.repeat(&clock, |request, transcript| {
        let prepared = prepare_on(request, transcript)?;
        grown += 1;
        append(&path, &message(&format!("m{grown}"), "n0"));
        crate::commit::write(&prepared, Millis::ZERO, &clock)?;
        Ok(())
    });
    let error = result.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().contains("grew by 2 entries while clawscope tried 3 times"), "{error}");
}

#[test]
fn a_rewritten_file_and_an_undo_that_would_leave_more_are_refused() {
    let (_place, session) = session();
    let path = session.source.path().to_path_buf();
    let leaf = leaf_id(&session);
    let plan = plan(&session);
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session: &session, action, allow_orphan: false, now_ms: NOW_MS };
    let read = ReadPrefix::of(&session.source, &session.index);
    // Same length in the middle, and one more line: both ends are as they were.
    let text = std::fs::read_to_string(&path).unwrap();
    let at = text.len() / 2 + text[text.len() / 2..].find(char::is_alphabetic).unwrap();
    let letter = if &text[at..=at] == "x" { "y" } else { "x" };
    let rewritten = format!("{}{letter}{}{}\n", &text[..at], &text[at + 1..], message("n1", &leaf));
    std::fs::File::create(&path).unwrap().write_all(rewritten.as_bytes()).unwrap();
    let clock = OtherWriter { path: path.clone(), lines: RefCell::default() };
    let result = GrowingWrite::new(request, read, &RETRY_PAUSES_MS).write(None, &clock);
    let refusal = refusal(result.map(|(_, written)| written));
    assert!(matches!(refusal, Refusal::FileChanged { what: "the file was rewritten", .. }), "{refusal}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), rewritten);

    let undo = WriteAction::Undo(UndoTarget::LastCommit);
    let request = WriteRequest { session: &session, action: undo, allow_orphan: false, now_ms: NOW_MS };
    let mut after = Context::clone(&session.context);
    assert_eq!(why_outdated(&request, &after), None);
    let last = *after.messages.last().unwrap();
    after.messages.push(last);
    assert_eq!(why_outdated(&request, &after), Some("the undo would leave new messages behind"));
}

/// A clock that appends a line when it is first read, which is when the lock is taken.
#[derive(Debug)]
struct WriterAtTheLock {
    path: PathBuf,
    line: RefCell<Option<String>>,
}

impl Clock for WriterAtTheLock {
    fn now_ms(&self) -> Moment {
        if let Some(line) = self.line.take() {
            append(&self.path, &line);
        }
        NOW_MS
    }

    fn pause(&self, _: Millis) {}
}

#[test]
fn the_receipt_names_growth_during_the_write_itself() {
    let (_place, session) = session();
    let plan = plan(&session);
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session: &session, action, allow_orphan: false, now_ms: NOW_MS };
    let line = RefCell::new(Some(message("n1", &leaf_id(&session))));
    let clock = WriterAtTheLock { path: session.source.path().to_path_buf(), line };
    let outcome = write(&request, None, &clock, &Environment::default()).unwrap();
    let words = " bytes. The session grew by 1 entry while committing; retried 1 time.";
    assert!(outcome.message.ends_with(words), "{}", outcome.message);
}

#[test]
fn entries_appended_during_the_preview_are_committed_too() {
    let (_place, session) = session();
    let plan = plan(&session);
    let action = WriteAction::Commit { plan: &plan, summary: None };
    let request = WriteRequest { session: &session, action, allow_orphan: false, now_ms: NOW_MS };
    let shown = preview(&request, NOW_MS).unwrap();
    let path = session.source.path().to_path_buf();
    append(&path, &message("n1", &leaf_id(&session)));
    let clock = OtherWriter { path, lines: RefCell::default() };
    assert!(
        write(&request, None, &clock, &Environment::default())
            .unwrap_err()
            .to_string()
            .contains("Reload the session")
    );
    let outcome = write(&request, shown.read.as_ref(), &clock, &Environment::default()).unwrap();
    assert!(outcome.message.contains("grew by 1 entry"), "{}", outcome.message);
}
