//! A sessions folder that someone moves away during a commit, with a link to another folder in its place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clawscope::commit::{CommitError, Refusal, SystemClock, lock_path, recover_commit, write_to_disk};
use clawscope::units::Millis;

use super::cases::Case;
use super::child::{Deed, killed};
use super::disk::{Fault, Faulty, LockNames};
use super::kills::Story;

/// A folder of sessions, and another one with a file of the same name and content.
struct Folders {
    _root: tempfile::TempDir,
    folder: PathBuf,
    moved: PathBuf,
    other: PathBuf,
}

impl Folders {
    fn new(case: Case) -> (Self, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let [folder, moved, other] = ["sessions", "moved", "other"].map(|name| root.path().join(name));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&other).unwrap();
        let path = case.set_up(&folder);
        (Self { _root: root, folder, moved, other }, path)
    }

    /// Copies the files of the sessions folder to the other one.
    fn copy(&self) {
        for item in fs::read_dir(&self.folder).unwrap().map(Result::unwrap) {
            fs::copy(item.path(), self.other.join(item.file_name())).unwrap();
        }
    }

    fn swap(&self) -> Fault {
        Fault::Swap([&self.folder, &self.moved, &self.other].map(PathBuf::clone))
    }

    /// The folder that was opened.
    fn opened(&self) -> &Path {
        if self.moved.exists() { &self.moved } else { &self.folder }
    }
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let items = fs::read_dir(folder).unwrap().map(Result::unwrap);
    items.map(|item| (item.file_name().into_string().unwrap(), fs::read(item.path()).unwrap())).collect()
}

fn names(folder: &Path) -> Vec<String> {
    contents(folder).into_keys().collect()
}

/// Swaps the folder at every point of a commit; returns the numbers of commits that were written and that were refused.
fn swap_everywhere(story: &Story, lock_names: LockNames) -> (usize, usize) {
    let (mut written, mut refused) = (0, 0);
    for point in 1.. {
        let (folders, path) = Folders::new(story.case);
        let prepared = story.case.prepare(&story.case.open(&path));
        let lock = fs::read(lock_path(&path).unwrap()).ok();
        folders.copy();
        let before = contents(&folders.other);
        let disk = Faulty::new(folders.swap(), point).with(lock_names);
        let result = write_to_disk(&disk, &prepared, Millis::ZERO, &SystemClock);
        let what = format!("{:?} at {point}: {result:?}", story.case);
        if disk.passed() < point {
            assert!(result.is_ok(), "{what}");
            break;
        }
        assert_eq!(contents(&folders.other), before, "{what}: the other folder changed");
        let state = story.state(&folders.opened().join("session.jsonl"));
        match result {
            Ok(_) => {
                assert_eq!(state, Some("new"), "{what}");
                written += 1;
            }
            Err(CommitError::Refused(Refusal::FolderReplaced { .. })) => {
                assert_eq!(state, Some("old"), "{what}");
                refused += 1;
            }
            Err(other) => panic!("{what}: {other}"),
        }
        let left = fs::read(folders.opened().join("session.jsonl.lock")).ok();
        assert!(left.is_none() || left == lock, "{what}: a lock is left");
        let expected =
            if left.is_some() { &["session.jsonl", "session.jsonl.lock"][..] } else { &["session.jsonl"] };
        assert_eq!(names(folders.opened()), expected, "{what}");
    }
    (written, refused)
}

#[test]
fn a_folder_swapped_at_any_step_gets_the_whole_commit_or_nothing_and_the_other_folder_nothing() {
    let (mut written, mut refused) = (0, 0);
    for (case, lock_names) in Case::ALL
        .into_iter()
        .map(|case| (case, LockNames::Unnamed))
        .chain([(Case::Branch, LockNames::Draft), (Case::Branch, LockNames::NoLinks)])
    {
        let (more_written, more_refused) = swap_everywhere(&Story::of(case), lock_names);
        written += more_written;
        refused += more_refused;
    }
    println!("folders swapped: {written} commits were written, {refused} refused");
    assert!(written > 100 && refused > 50, "{written} written, {refused} refused");
}

#[test]
fn a_folder_swapped_before_the_commit_is_refused() {
    let (folders, path) = Folders::new(Case::Branch);
    let prepared = Case::Branch.prepare(&Case::Branch.open(&path));
    folders.copy();
    let before = contents(&folders.other);
    fs::rename(&folders.folder, &folders.moved).unwrap();
    std::os::unix::fs::symlink(&folders.other, &folders.folder).unwrap();
    let disk = Faulty::counting();
    let error = write_to_disk(&disk, &prepared, Millis::ZERO, &SystemClock).unwrap_err();
    assert!(error.to_string().contains("the file was replaced after clawscope read it"), "{error}");
    assert_eq!((contents(&folders.other), disk.passed()), (before, 0), "no step was made");
}

#[test]
fn a_folder_swapped_during_a_repair_is_repaired_or_left_and_the_other_folder_is_not_touched() {
    let story = Story::of(Case::Branch);
    let middle = {
        let torn = |point: &usize| {
            let (folders, path) = Folders::new(story.case);
            killed(story.case, Deed::Commit, *point, &path);
            story.state(&folders.folder.join("session.jsonl")).is_none()
        };
        let torn: Vec<usize> = (1..=story.points).filter(torn).collect();
        torn[torn.len() / 2]
    };
    let mut swapped = 0;
    for point in 1.. {
        let (folders, path) = Folders::new(story.case);
        killed(story.case, Deed::Commit, middle, &path);
        let torn = fs::read(&path).unwrap();
        folders.copy();
        let before = contents(&folders.other);
        let disk = Faulty::new(folders.swap(), point);
        let result = recover_commit(&path, Millis::ZERO, &SystemClock, &disk);
        if disk.passed() < point {
            break;
        }
        swapped += 1;
        assert_eq!(contents(&folders.other), before, "{point}: the other folder changed");
        let opened = folders.opened().join("session.jsonl");
        match result {
            Ok(_) => assert_eq!(story.state(&opened), Some("new"), "{point}"),
            Err(error) => {
                assert!(error.to_string().contains("moved or replaced"), "{point}: {error}");
                assert_eq!(fs::read(&opened).unwrap(), torn, "{point}");
                // The journal stays, so that a later repair can finish.
                assert!(
                    names(folders.opened()).contains(&"session.jsonl.clawscope-journal".to_owned()),
                    "{point}"
                );
            }
        }
    }
    println!("folders swapped at {swapped} points of a repair");
    assert!(swapped > 10, "{swapped}");
}
