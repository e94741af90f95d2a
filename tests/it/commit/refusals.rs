//! Every reason to refuse a commit, and that the file is unchanged.

use std::fs;
use std::io::Write as _;

use clawscope::commit::{CommitError, RandomIds, Refusal, SystemClock, TranscriptStatus, prepare, write};
use clawscope::ids::EntryIx;
use clawscope::js::Value;
use clawscope::transcript::Leaf;
use clawscope::units::{Bytes, Millis};

use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::session::Session;

fn whole() -> Session {
    Session::new(&lines(&[USER, CALL, RESULT, ANSWER]))
}

/// Returns the refusal of a commit that clears the third entry; its sentence names the file.
fn refusal(session: &Session) -> Refusal {
    let change = clawscope::plan::EntryChange { entry: EntryIx(2), message: Value::Null };
    let before = session.bytes();
    let refusal = session.prepare(vec![change]).expect_err("nothing can be committed");
    assert!(refusal.to_string().starts_with(&session.path.display().to_string()), "{refusal}");
    assert_eq!(session.bytes(), before);
    refusal
}

fn refused_bytes(bytes: &[u8]) -> Refusal {
    refusal(&Session::new(bytes))
}

#[test]
fn archives_and_orphans_are_refused_unless_orphans_are_allowed() {
    let session = whole();
    let mut request = session.request(vec![session.clear(EntryIx(2))]);
    request.transcript.status = TranscriptStatus::Archive;
    assert!(matches!(prepare(&request, &mut RandomIds::default()), Err(Refusal::Archive { .. })));
    request.transcript.status = TranscriptStatus::Orphan;
    assert!(matches!(prepare(&request, &mut RandomIds::default()), Err(Refusal::Orphan { .. })));
    request.transcript.allow_orphan = true;
    assert!(prepare(&request, &mut RandomIds::default()).is_ok());
    let archive = session.path.with_file_name("s.jsonl.reset.2026-02-21T05-00-00.000Z");
    fs::rename(&session.path, &archive).unwrap();
    let mut index = session.index.clone();
    index.path = archive.into();
    request.transcript.index = &index;
    assert!(matches!(prepare(&request, &mut RandomIds::default()), Err(Refusal::Archive { .. })));
}

#[test]
#[cfg(unix)]
fn links_folders_and_read_only_files_are_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let session = whole();
    fs::set_permissions(&session.path, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(refusal(&session), Refusal::ReadOnly { .. }));
    let real = session.path.with_file_name("real.jsonl");
    fs::rename(&session.path, &real).unwrap();
    symlink(&real, &session.path).unwrap();
    assert!(matches!(refusal(&session), Refusal::Symlink { .. }));
    fs::remove_file(&session.path).unwrap();
    fs::create_dir(&session.path).unwrap();
    let folder = session.prepare(Vec::new());
    assert!(matches!(folder, Err(Refusal::NotRegular { .. })), "{folder:?}");
    fs::remove_dir(&session.path).unwrap();
    assert!(matches!(session.prepare(Vec::new()), Err(Refusal::Unreadable { .. })));
}

#[test]
fn a_file_the_runtime_would_rewrite_or_erase_is_refused() {
    let join = |lines: &[&str]| (lines.join("\n") + "\n").into_bytes();
    assert!(matches!(refused_bytes(&join(&[USER, CALL, RESULT])), Refusal::NoHeader { .. }));
    assert!(matches!(refused_bytes(b"\n"), Refusal::NoHeader { .. }));
    for (header, found) in [(r#""version":2,"#, 2.0), ("", 1.0), (r#""version":4,"#, 4.0)] {
        let header = format!(r#"{{"type":"session",{header}"id":"s"}}"#);
        let refusal = refused_bytes(&join(&[&header, USER, CALL, RESULT, ANSWER]));
        assert!(matches!(refusal, Refusal::Version { version, .. } if version == found), "{refusal:?}");
    }
    let bad = refused_bytes(&lines(&[USER, "{\"type\":", CALL, RESULT]));
    assert!(matches!(bad, Refusal::UnparsableLine { line: Some(3), .. }), "{bad:?}");
    let null = refused_bytes(&lines(&[USER, CALL, RESULT, "null"]));
    assert!(matches!(null, Refusal::UnparsableLine { line: Some(5), .. }), "{null:?}");
    assert!(matches!(refused_bytes(&lines(&[USER])), Refusal::NoAssistant { .. }));
}

#[test]
fn a_last_line_without_a_line_end_means_a_running_writer() {
    let whole = lines(&[USER, CALL, RESULT, ANSWER]);
    for cut in [2, 30] {
        let refusal = refused_bytes(&whole[..whole.len() - cut]);
        assert!(matches!(refusal, Refusal::UnterminatedLine { .. }), "{cut}: {refusal:?}");
    }
    let mut blank = whole;
    blank.extend_from_slice(b"  ");
    assert!(matches!(refused_bytes(&blank), Refusal::UnterminatedLine { .. }));
}

#[test]
fn a_last_line_without_a_line_end_is_completed() {
    let whole = lines(&[USER, CALL, RESULT, ANSWER]);
    let session = Session::new(&whole[..whole.len() - 1]);
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let (planned, added) = (session.planned(&prepared), prepared.bytes());
    assert_eq!((added[0], Bytes::from_len(added.len())), (b'\n', prepared.byte_len()));
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    assert_eq!(session.bytes(), [&whole[..whole.len() - 1], &added].concat());
    assert_eq!(session.context(), planned);
    assert_eq!((session.index.bad_lines, session.index.pending_bytes), (0, Bytes::ZERO));
}

#[test]
fn cycles_duplicate_ids_and_leaves_without_id_are_refused() {
    let circle = USER.replace("\"parentId\":null", "\"parentId\":\"a1\"");
    assert!(matches!(refused_bytes(&lines(&[&circle, CALL, RESULT, ANSWER])), Refusal::Cycle { .. }));
    let own = USER.replace("\"parentId\":null", "\"parentId\":\"u1\"");
    assert!(
        matches!(refused_bytes(&lines(&[&own, CALL, RESULT, ANSWER])), Refusal::Cycle { entry, .. } if entry == "u1")
    );
    let double = refused_bytes(&lines(&[USER, CALL, RESULT, CALL, ANSWER]));
    assert!(matches!(double, Refusal::DuplicateId { first: 3, second: 5, .. }), "{double:?}");
    assert!(matches!(refused_bytes(&lines(&[USER, CALL, RESULT, "5"])), Refusal::NoLeaf { .. }));
    assert!(matches!(refused_bytes(&lines(&[USER, CALL, RESULT, "{\"id\":7}"])), Refusal::NoLeaf { .. }));
    let empty = r#"{"type":"message","id":"m","parentId":"a2"}"#;
    assert!(matches!(refused_bytes(&lines(&[USER, CALL, RESULT, ANSWER, empty])), Refusal::NoContext { .. }));
}

#[test]
fn only_the_content_of_messages_on_the_active_branch_is_changed() {
    let session = whole();
    assert!(matches!(session.prepare(Vec::new()), Err(Refusal::NothingToWrite { .. })));
    assert!(matches!(
        session.prepare(vec![session.replace(EntryIx(2), "long")]),
        Err(Refusal::NothingToWrite { .. })
    ));
    let mut other = session.clear(EntryIx(2));
    other.message.as_object_mut().unwrap().set("isError", true.into());
    assert!(
        matches!(session.prepare(vec![other]), Err(Refusal::NotOnlyContent { entry, .. }) if entry == "r1")
    );
    let mut far = session.clear(EntryIx(2));
    far.entry = EntryIx(99);
    assert!(matches!(session.prepare(vec![far]), Err(Refusal::NotOnPath { .. })));
    let mut request = session.request(vec![session.clear(EntryIx(2))]);
    let earlier = Leaf::Id("r1".into());
    request.leaf = &earlier;
    assert!(matches!(prepare(&request, &mut RandomIds::default()), Err(Refusal::LeafNotOwn { .. })));
}

#[test]
fn a_change_that_loses_a_tool_call_is_refused() {
    let session = whole();
    let mut change = session.replace(EntryIx(1), "no call any more");
    change.entry = EntryIx(1);
    let refusal = session.prepare(vec![change]).unwrap_err();
    assert!(
        matches!(&refusal, Refusal::Unpaired { what, .. } if what == "a result of call c1 without the call"),
        "{refusal:?}"
    );
}

fn append(session: &Session, text: &str) {
    fs::OpenOptions::new().append(true).open(&session.path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_written() {
    let session = whole();
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    append(&session, "{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"n\",\"parentId\":\"a2\"}\n");
    assert!(matches!(refusal(&session), Refusal::FileChanged { what: "the file grew or shrank", .. }));
    let before = session.bytes();
    let error = write(&prepared, Millis::ZERO, &SystemClock).unwrap_err();
    assert!(matches!(error, CommitError::Refused(Refusal::FileChanged { .. })), "{error:?}");
    assert_eq!(session.bytes(), before);
    assert!(!session.path.with_file_name("session.jsonl.lock").exists(), "the lock is given back");
}

#[test]
#[cfg(unix)]
fn a_file_that_took_the_place_of_the_one_read_is_not_written() {
    let session = whole();
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let other = session.path.with_file_name("other");
    fs::copy(&session.path, &other).unwrap();
    fs::rename(&other, &session.path).unwrap();
    assert!(matches!(refusal(&session), Refusal::FileChanged { what: "the file was replaced", .. }));
    let before = session.bytes();
    assert!(
        write(&prepared, Millis::ZERO, &SystemClock)
            .unwrap_err()
            .to_string()
            .contains("the file was replaced after clawscope read it")
    );
    assert_eq!(session.bytes(), before);
}

#[test]
fn the_same_commit_is_not_written_twice() {
    let session = whole();
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    let before = session.bytes();
    assert!(matches!(
        write(&prepared, Millis::ZERO, &SystemClock),
        Err(CommitError::Refused(Refusal::FileChanged { .. }))
    ));
    assert_eq!(session.bytes(), before);
}

#[test]
#[cfg(unix)]
fn a_commit_keeps_permissions_and_a_rolled_back_one_keeps_the_time() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let session = whole();
    fs::set_permissions(&session.path, fs::Permissions::from_mode(0o640)).unwrap();
    let session = session.reload();
    let mut prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let kept = |metadata: &fs::Metadata| (metadata.mode(), metadata.uid(), metadata.gid(), metadata.ino());
    let before = fs::metadata(&session.path).unwrap();
    let messages = std::mem::take(&mut prepared.messages);
    write(&prepared, Millis::ZERO, &SystemClock).unwrap_err();
    let after = fs::metadata(&session.path).unwrap();
    assert_eq!((kept(&after), after.modified().unwrap()), (kept(&before), before.modified().unwrap()));
    prepared.messages = messages;
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    let after = fs::metadata(&session.path).unwrap();
    assert_eq!(kept(&after), kept(&before));
    assert!(after.modified().unwrap() > before.modified().unwrap(), "an append is seen as one");
}

#[test]
fn a_commit_that_does_not_read_back_as_planned_is_rolled_back() {
    let session = whole();
    let mut prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let last = prepared.messages.len() - 1;
    prepared.messages.swap(0, last);
    let before = session.bytes();
    let error = write(&prepared, Millis::ZERO, &SystemClock).unwrap_err();
    assert!(
        matches!(&error, CommitError::NotVerified { what, restored: true, .. } if what.to_string().contains("message 1")),
        "{error:?}"
    );
    assert!(error.to_string().ends_with("The file is the same as before."), "{error}");
    assert_eq!(session.bytes(), before);
}
