//! Other programs that write to the same file, without the lock, at every step of a commit (store H10).

use clawscope::commit::{
    Clock as _, CommitError, LockState, Refusal, SystemClock, find_interrupted, lock_state, write_to_disk,
};
use clawscope::units::{Bytes, Millis};

use super::cases::{Case, another};
use super::disk::{Fault, Faulty};
use super::kills::Story;
use crate::support::session::Session;

const LINE: &str = "{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"zz\",\"parentId\":\"a9\",\"timestamp\":\"2026-02-21T06:00:00.000Z\"}\n";

#[test]
fn another_writer_at_any_step_loses_no_line() {
    let story = Story::of(Case::Branch);
    let added = &story.new[story.old.len()..];
    let (mut refused, mut both, mut after) = (0, 0, 0);
    for point in 1..=story.points {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        let disk = Faulty::new(Fault::Append(path.clone(), LINE.to_owned()), point);
        let result =
            write_to_disk(&disk, &story.case.prepare(&story.case.open(&path)), Millis::ZERO, &SystemClock);
        let bytes = std::fs::read(&path).unwrap();
        let is = |parts: &[&[u8]]| bytes == [&story.old[..], &parts.concat()].concat();
        match result {
            Err(CommitError::Refused(Refusal::FileChanged { .. })) => {
                assert!(is(&[LINE.as_bytes()]), "{point}");
                refused += 1;
            }
            Err(CommitError::Interleaved { .. }) => {
                assert!(is(&[LINE.as_bytes(), added]) || is(&[added, LINE.as_bytes()]), "{point}");
                both += 1;
            }
            // It was appended after everything was written and read back.
            Ok(_) => {
                assert!(is(&[added, LINE.as_bytes()]), "{point}");
                after += 1;
            }
            other => panic!("{point}: {other:?}"),
        }
        let session = Session::at(&path);
        assert_eq!(
            (session.index.bad_lines, session.index.pending_bytes),
            (0, Bytes::ZERO),
            "{point}: a line is broken"
        );
        assert!(
            find_interrupted(&path, SystemClock.now_ms()).unwrap().is_none(),
            "{point}: a journal is left"
        );
        assert_eq!(lock_state(&path, SystemClock.now_ms()).unwrap(), LockState::Free, "{point}");
    }
    println!(
        "another writer at {} points: {refused} refused, {both} reported, {after} after the end",
        story.points
    );
    assert!(refused > 3 && both > 10 && after > 0);
}

#[test]
fn a_file_replaced_meanwhile_is_never_reported_as_written() {
    let story = Story::of(Case::Branch);
    let mut seen = 0;
    for point in 1..=story.points {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        let disk = Faulty::new(Fault::Replace(path.clone()), point);
        let result =
            write_to_disk(&disk, &story.case.prepare(&story.case.open(&path)), Millis::ZERO, &SystemClock);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes == story.old || bytes == story.new, "{point}: a part of the lines");
        match &result {
            Ok(_) => assert_eq!(bytes, story.new, "{point}: said to be written"),
            Err(_) => seen += 1,
        }
        assert!(find_interrupted(&path, SystemClock.now_ms()).unwrap().is_none(), "{point}: {result:?}");
        let session = Session::at(&path);
        write_to_disk(&Faulty::counting(), &another(&session), Millis::ZERO, &SystemClock).unwrap();
    }
    assert!(seen > 10, "{seen}");
}
