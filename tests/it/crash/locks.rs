//! Locks that are created where the file system has no files without a name, and where it has no hard links either.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use clawscope::commit::{SystemClock, lock_path, write, write_to_disk};
use clawscope::units::Millis;

use super::cases::Case;
use super::child::{Deed, killed};
use super::disk::{Fault, Faulty, LockNames};
use super::kills::{Story, assert_whole_lock, settled};

fn names(path: &Path) -> Vec<String> {
    let items = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> = items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn commit(case: Case, path: &Path, lock_names: LockNames) {
    let disk = Faulty::counting().with(lock_names);
    write_to_disk(&disk, &case.prepare(&case.open(path)), Millis::ZERO, &SystemClock).unwrap();
}

#[test]
fn a_commit_leaves_no_other_file_however_its_lock_is_created() {
    let story = Story::of(Case::Branch);
    for lock_names in [LockNames::Unnamed, LockNames::Draft, LockNames::NoLinks] {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        commit(story.case, &path, lock_names);
        assert_eq!(story.state(&path), Some("new"), "{lock_names:?}");
        assert_eq!(names(&path), ["session.jsonl"], "{lock_names:?}");
    }
}

#[test]
fn a_kill_at_any_step_leaves_a_whole_lock_or_a_draft_that_blocks_nobody() {
    let story = Story::of(Case::Branch);
    let points = {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        let disk = Faulty::counting().with(LockNames::Draft);
        write_to_disk(&disk, &story.case.prepare(&story.case.open(&path)), Millis::ZERO, &SystemClock)
            .unwrap();
        disk.passed()
    };
    let (mut drafts, mut locks) = (0, 0);
    for point in 1..=points {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        killed(story.case, Deed::CommitByDraft, point, &path);
        assert_whole_lock(&path, point);
        locks += usize::from(lock_path(&path).unwrap().exists());
        for name in names(&path).into_iter().filter(|name| name.contains(".clawscope-lock-")) {
            let draft = fs::File::options().write(true).open(path.with_file_name(name)).unwrap();
            draft.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            drafts += 1;
        }
        settled(&story, &path, point);
        let session = story.case.open(&path);
        let prepared = super::cases::another(&session);
        let disk = Faulty::new(Fault::None, 0).with(LockNames::Draft);
        write_to_disk(&disk, &prepared, Millis::ZERO, &SystemClock).unwrap();
        assert_eq!(names(&path), ["session.jsonl"], "{point}: the draft of a killed process is removed");
    }
    println!("killed at {points} points: {locks} whole locks and {drafts} drafts were left");
    assert!(drafts > 3 && locks > 10, "{drafts} drafts, {locks} locks");
}

#[test]
fn an_empty_lock_of_another_program_still_counts_as_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = Case::Branch.set_up(folder.path());
    fs::File::create(lock_path(&path).unwrap()).unwrap();
    let session = Case::Branch.open(&path);
    let error = write(&Case::Branch.prepare(&session), Millis::ZERO, &SystemClock).unwrap_err();
    assert!(error.to_string().contains("locked by an unknown process"), "{error}");
}
