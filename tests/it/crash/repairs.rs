//! Repairs that are killed themselves, and repairs that find more than the commit's remains.

use std::fs::File;
use std::io;
use std::time::SystemTime;

use clawscope::commit::{
    Clock as _, CommitError, Disk, Place, RecoveryOutcome, Refusal, SessionFolder, SystemClock, SystemDisk,
    WrittenExtent, find_interrupted, recover_commit, write,
};
use clawscope::units::{Bytes, Millis};

use super::cases::{Case, another};
use super::child::{Deed, killed};
use super::disk::{Faulty, append};
use super::kills::{Left, Story, settled_after};
use crate::support::session::Session;

const LINE: &str = "{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"zz\",\"parentId\":\"a9\",\"timestamp\":\"2026-02-21T06:00:00.000Z\"}\n";

/// A disk without space for more lines.
#[derive(Debug)]
pub(crate) struct Cramped(pub(crate) Faulty);

impl Disk for Cramped {
    fn create(&self, at: Place<'_>, private: bool) -> io::Result<File> {
        self.0.create(at, private)
    }

    fn create_unnamed(&self, folder: &SessionFolder) -> io::Result<File> {
        self.0.create_unnamed(folder)
    }

    fn link_unnamed(&self, file: &File, at: Place<'_>) -> io::Result<()> {
        self.0.link_unnamed(file, at)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(file, bytes)
    }

    fn reserve(&self, _: &File, _: u64, _: Bytes) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.0.sync(file)
    }

    fn truncate(&self, file: &File, bytes: Bytes) -> io::Result<()> {
        self.0.truncate(file, bytes)
    }

    fn set_modified(&self, file: &File, at: SystemTime) -> io::Result<()> {
        self.0.set_modified(file, at)
    }

    fn remove(&self, at: Place<'_>) -> io::Result<()> {
        self.0.remove(at)
    }
}

/// The points at which a commit stops within the write, with the bytes it left.
fn torn_points(story: &Story) -> Vec<usize> {
    let mut torn = Vec::new();
    for point in 1..=story.points {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        killed(story.case, Deed::Commit, point, &path);
        if story.state(&path).is_none() {
            torn.push(point);
        }
    }
    torn
}

/// A file with a part of a commit.
fn torn(story: &Story, point: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = story.case.set_up(folder.path());
    killed(story.case, Deed::Commit, point, &path);
    (folder, path)
}

#[test]
fn a_killed_repair_is_completed_by_the_next_one() {
    let story = Story::of(Case::Branch);
    let points = torn_points(&story);
    let middle = points[points.len() / 2];
    let (mut left, mut count) = (Left::default(), 0);
    for deed in [Deed::Settle, Deed::SettleOnFull] {
        let (_folder, path) = torn(&story, middle);
        let before = std::fs::read(&path).unwrap();
        let disk = Cramped(Faulty::counting());
        if deed == Deed::SettleOnFull {
            recover_commit(&path, Millis::ZERO, &SystemClock, &disk).unwrap_err();
            assert_eq!(std::fs::read(&path).unwrap(), before);
        } else {
            let done = recover_commit(&path, Millis::ZERO, &SystemClock, &disk.0).unwrap().unwrap();
            assert_eq!((done.outcome, story.state(&path)), (RecoveryOutcome::Finished, Some("new")));
        }
        for point in 1..=disk.0.passed() {
            let (_folder, path) = torn(&story, middle);
            killed(story.case, deed, point, &path);
            let state = settled_after(&story, &path, point, true);
            left.keep(&story, state, &path);
            count += 1;
        }
    }
    left.judge(&[story]);
    println!("repairs killed at {count} points; {}", left.counts());
    assert!(count >= 30, "{count}");
}

#[test]
fn an_unfinishable_commit_keeps_file_and_time_until_a_repair_succeeds() {
    let story = Story::of(Case::Branch);
    for point in torn_points(&story) {
        let (_folder, path) = torn(&story, point);
        let state = || (std::fs::read(&path).unwrap(), std::fs::metadata(&path).unwrap().modified().unwrap());
        let before = state();
        let full = recover_commit(&path, Millis::ZERO, &SystemClock, &Cramped(Faulty::counting()));
        assert!(matches!(full, Err(CommitError::Write { restored: true, .. })), "{point}: {full:?}");
        assert_eq!(state(), before, "{point}");
        let settled = recover_commit(&path, Millis::ZERO, &SystemClock, &SystemDisk).unwrap().unwrap();
        assert_eq!(
            (settled.outcome, story.state(&path)),
            (RecoveryOutcome::Finished, Some("new")),
            "{point}"
        );
    }
}

#[test]
fn a_repair_changes_no_byte_after_another_program_appended() {
    let story = Story::of(Case::Branch);
    for point in torn_points(&story) {
        let (_folder, path) = torn(&story, point);
        append(&path, LINE).unwrap();
        let before = std::fs::read(&path).unwrap();
        let settled = recover_commit(&path, Millis::ZERO, &SystemClock, &SystemDisk).unwrap().unwrap();
        assert_eq!(settled.interrupted.extent, WrittenExtent::Overtaken, "{point}");
        assert_eq!(settled.outcome, RecoveryOutcome::Unchanged, "{point}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "{point}");
        assert!(find_interrupted(&path, SystemClock.now_ms()).unwrap().is_none());
    }
}

#[test]
fn a_file_rewritten_or_archived_since_is_not_repaired() {
    let story = Story::of(Case::Branch);
    let middle = torn_points(&story)[3];
    let (_folder, path) = torn(&story, middle);
    let copy = path.with_file_name("copy");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let settled = recover_commit(&path, Millis::ZERO, &SystemClock, &SystemDisk).unwrap().unwrap();
    assert_eq!(
        (settled.interrupted.extent, settled.outcome),
        (WrittenExtent::Replaced, RecoveryOutcome::Unchanged)
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let (_folder, path) = torn(&story, middle);
    std::fs::rename(&path, path.with_file_name("session.jsonl.reset.2026-03-01T00-00-00.000Z")).unwrap();
    let settled = recover_commit(&path, Millis::ZERO, &SystemClock, &SystemDisk).unwrap().unwrap();
    assert_eq!(
        (settled.interrupted.extent, settled.outcome),
        (WrittenExtent::Replaced, RecoveryOutcome::Unchanged)
    );
    assert!(!path.exists());
}

#[test]
fn a_file_with_an_interrupted_commit_cannot_be_planned_for() {
    let story = Story::of(Case::Branch);
    for point in torn_points(&story) {
        let (_folder, path) = torn(&story, point);
        let session = Session::at(&path);
        let changes = session.results().first().map(|ix| session.clear(*ix)).into_iter().collect();
        let refused = session.prepare(changes).unwrap_err();
        assert!(matches!(refused, Refusal::InterruptedCommit { .. }), "{point}: {refused:?}");
        assert!(refused.to_string().contains("doctor --repair"), "{refused}");
    }
}

#[test]
fn the_next_commit_repairs_an_interrupted_one_and_continues_on_the_planned_file() {
    let story = Story::of(Case::Branch);
    let session_of = |point| {
        let (folder, path) = torn(&story, point);
        (folder, Session::at(&path))
    };
    let points = torn_points(&story);
    // Before the first line there is nothing to repair, and the new commit is written.
    let (_folder, session) = session_of(points[0] - 1);
    write(&another(&session), Millis::ZERO, &SystemClock).unwrap();
    // After the last point the new commit follows it.
    let (_folder, session) = session_of(points[points.len() - 1] + 1);
    assert_eq!(session.bytes(), story.new);
    write(&another(&session), Millis::ZERO, &SystemClock).unwrap();
    // In between, for an older plan.
    let folder = tempfile::tempdir().unwrap();
    let path = story.case.set_up(folder.path());
    let session = Session::at(&path);
    let prepared = another(&session);
    killed(story.case, Deed::Commit, points[5], &path);
    let error = write(&prepared, Millis::ZERO, &SystemClock).unwrap_err();
    assert!(matches!(&error, CommitError::Refused(Refusal::JustRecovered { .. })), "{error:?}");
    assert_eq!(story.state(&path), Some("new"));
}
