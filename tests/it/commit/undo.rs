//! Undo to the branch before a commit, and redo.

use std::time::{Duration, SystemTime};

use clawscope::commit::{Refusal, SystemClock, UndoTarget, receipts, write};
use clawscope::ids::EntryIx;

use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::session::{NOW, Session};
use clawscope::units::{Millis, Tokens};

fn committed() -> Session {
    let session = Session::new(&lines(&[USER, CALL, RESULT, ANSWER]));
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    session.reload()
}

fn undo(session: Session, target: UndoTarget) -> Session {
    let prepared = session.prepare_undo(target).unwrap();
    let planned = session.planned(&prepared);
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    assert_eq!(session.context(), planned);
    session
}

fn nothing_to(session: &Session, target: UndoTarget) -> String {
    match session.prepare_undo(target) {
        Err(refusal @ Refusal::NothingToUndo { .. }) => refusal.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn undo_and_redo_append_one_line_each() {
    let old = Session::new(&lines(&[USER, CALL, RESULT, ANSWER])).context();
    let session = committed();
    let new = session.context();
    assert_ne!(old, new);
    let before = session.bytes();
    let session = undo(session, UndoTarget::LastCommit);
    assert_eq!(session.context(), old);
    assert!(session.bytes().starts_with(&before));
    assert_eq!(String::from_utf8_lossy(&session.bytes()[before.len()..]).lines().count(), 1);
    nothing_to(&session, UndoTarget::LastCommit);
    let session = undo(session, UndoTarget::LastUndo);
    assert_eq!(session.context(), new);
    // A redo is not redone, but its commit can be undone again.
    nothing_to(&session, UndoTarget::LastUndo);
    assert_eq!(undo(session, UndoTarget::LastCommit).context(), old);
}

#[test]
fn commits_are_undone_one_after_the_other() {
    let more = r#"{"type":"message","id":"r2","parentId":"a2","timestamp":"2026-02-21T05:00:05.000Z","message":{"role":"toolResult","toolCallId":"c1","content":[]}}"#;
    let session = Session::new(&lines(&[USER, CALL, RESULT, ANSWER, more]));
    let first = session.context();
    write(&session.prepare(vec![session.replace(EntryIx(4), "one")]).unwrap(), Millis::ZERO, &SystemClock)
        .unwrap();
    let session = session.reload();
    let second = session.context();
    // The second commit copies the first one's record, which must not count as another commit.
    write(&session.prepare(vec![session.replace(EntryIx(2), "two")]).unwrap(), Millis::ZERO, &SystemClock)
        .unwrap();
    let session = session.reload();
    assert_eq!(receipts(&session.index, &session.source).unwrap().len(), 2);
    let session = undo(session, UndoTarget::LastCommit);
    assert_eq!(session.context(), second);
    let session = undo(session, UndoTarget::LastCommit);
    assert_eq!(session.context(), first);
    nothing_to(&session, UndoTarget::LastCommit);
}

#[test]
fn undoing_a_commit_by_id_reports_later_messages() {
    let session = committed();
    let id = receipts(&session.index, &session.source).unwrap()[0].id.clone();
    let line = format!(
        r#"{{"type":"message","id":"u9","parentId":"{id}","timestamp":"2026-02-26T05:00:05.000Z","message":{{"role":"user","content":"more"}}}}"#
    );
    let mut bytes = session.bytes();
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let session = Session::new(&bytes);
    let prepared = session.prepare_undo(UndoTarget::Entry(id)).unwrap();
    assert!(prepared.warnings[0].starts_with("1 message written since then"), "{:?}", prepared.warnings);
    assert_eq!(prepared.parent.as_deref(), Some("a2"));
    let refusal = nothing_to(&session, UndoTarget::Entry("u9".into()));
    assert!(refusal.contains("no commit or undo with the id u9"), "{refusal}");
}

#[test]
fn an_undo_to_a_missing_leaf_is_refused() {
    let session = committed();
    let text = String::from_utf8(session.bytes()).unwrap();
    let session = Session::new(text.replace("\"fromLeaf\":\"a2\"", "\"fromLeaf\":\"zz\"").as_bytes());
    assert!(matches!(
        session.prepare_undo(UndoTarget::LastCommit),
        Err(Refusal::LeafGone { entry, .. }) if entry == "zz"
    ));
}

#[test]
fn receipts_in_the_file_record_every_change() {
    let session = undo(committed(), UndoTarget::LastCommit);
    let receipts = receipts(&session.index, &session.source).unwrap();
    let [commit, undone] = &receipts[..] else { panic!("{receipts:?}") };
    let [step] = &commit.policies[..] else { panic!("{commit:?}") };
    assert_eq!((commit.kind.as_str(), step.name.as_str()), ("commit", "prune"));
    assert_eq!((step.tokens_before, step.tokens_after), (Tokens(1000.0), Tokens(900.0)));
    assert_eq!((commit.tokens_before, commit.tokens_after), (Some(Tokens(1000.0)), Some(Tokens(900.0))));
    assert_eq!((commit.from_leaf.as_str(), commit.time), ("a2", crate::support::session::NOW));
    assert_eq!(commit.changed[0].0, "r1");
    assert_eq!((undone.kind.as_str(), undone.undoes.as_deref()), ("undo", Some(commit.id.as_str())));
    assert_eq!(undone.from_leaf, commit.id);
}

#[test]
fn a_write_of_clawscope_is_not_that_of_a_program_with_the_file_open() {
    let just_written = |session: Session| {
        let at =
            SystemTime::UNIX_EPOCH + Duration::from_millis((NOW - Millis(2_000.0)).whole().unsigned_abs());
        let file = std::fs::File::options().append(true).open(&session.path).unwrap();
        file.set_modified(at).unwrap();
        session.reload()
    };
    let warns =
        |warnings: &[String]| warnings.iter().any(|text| text.contains("A program wrote to the file 2s ago"));
    let session = just_written(Session::new(&lines(&[USER, CALL, RESULT, ANSWER])));
    let commit = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    assert!(warns(&commit.warnings), "{:?}", commit.warnings);
    let session = just_written(committed());
    let undo = session.prepare_undo(UndoTarget::LastCommit).unwrap();
    assert!(!warns(&undo.warnings), "the last program wrote days ago: {:?}", undo.warnings);
    write(&undo, Millis::ZERO, &SystemClock).unwrap();
    let redo = just_written(session).prepare_undo(UndoTarget::LastUndo).unwrap();
    assert!(!warns(&redo.warnings), "{:?}", redo.warnings);
}
