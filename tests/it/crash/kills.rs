//! Commits killed at every step, and the next start's repair of their remains.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use clawscope::commit::{
    Clock, CommitError, LockState, RecoveredCommit, Refusal, SystemClock, SystemDisk, WrittenExtent,
    find_interrupted, lock_path, lock_state, recover_commit, write, write_to_disk,
};
use clawscope::units::{Millis, Moment};

use super::cases::{Case, another};
use super::child::{Deed, killed};
use super::disk::Faulty;
use crate::support::pi::Pi;
use crate::support::pi_1_5::Pi as PiToday;

/// A case before its commit, and after it.
pub(crate) struct Story {
    pub(crate) case: Case,
    pub(crate) old: Vec<u8>,
    pub(crate) new: Vec<u8>,
    old_context: Vec<String>,
    new_context: Vec<String>,
    /// Points at which the commit can end.
    pub(crate) points: usize,
    /// The points at which only a part of the lines is in the file.
    torn: AtomicUsize,
}

impl Story {
    pub(crate) fn of(case: Case) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = case.set_up(folder.path());
        let session = case.open(&path);
        let (old, old_context) = (session.bytes(), session.context());
        let disk = Faulty::counting();
        let prepared = case.prepare(&session);
        let new_context = session.planned(&prepared);
        write_to_disk(&disk, &prepared, Millis::ZERO, &SystemClock).unwrap();
        let new = session.bytes();
        assert!(new.starts_with(&old) && new.len() > old.len() && new_context != old_context);
        Self { case, old, new, old_context, new_context, points: disk.passed(), torn: 0.into() }
    }

    /// Returns whether the file has its bytes from before or after; `None` for a part.
    pub(crate) fn state(&self, path: &Path) -> Option<&'static str> {
        let bytes = std::fs::read(path).unwrap();
        assert!(bytes.starts_with(&self.old), "{:?}: the old bytes changed", self.case);
        assert!(self.new.starts_with(&bytes), "{:?}: other bytes were added", self.case);
        if bytes == self.old {
            Some("old")
        } else if bytes == self.new {
            Some("new")
        } else {
            self.torn.fetch_add(1, Relaxed);
            None
        }
    }

    fn context(&self, state: &str) -> &[String] {
        if state == "old" { &self.old_context } else { &self.new_context }
    }
}

/// Repairs the remains of a commit, and checks that none are left; returns the state of the file.
pub(crate) fn settled(story: &Story, path: &Path, point: usize) -> &'static str {
    settled_after(story, path, point, false)
}

/// Checks the same after a repair, whose lock no journal names.
pub(crate) fn settled_after(story: &Story, path: &Path, point: usize, by_repair: bool) -> &'static str {
    let what = format!("{:?} at point {point}", story.case);
    let before = std::fs::read(path).unwrap();
    let found = find_interrupted(path, SystemClock.now_ms()).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), before, "{what}: looking changed something");
    let settled = settled_in_time(path, &what, by_repair);
    assert_eq!(settled.as_ref().map(|settled| &settled.interrupted), found.as_ref(), "{what}");
    if let Some(settled) = &settled {
        let changed = std::fs::read(path).unwrap() != before;
        assert_eq!(changed, settled.outcome.changed_file(), "{what}: {settled:?}");
        assert_eq!(
            matches!(found.unwrap().extent, WrittenExtent::Partial { .. }),
            changed,
            "{what}: {settled:?}"
        );
        assert_eq!(lock_state(path, SystemClock.now_ms()).unwrap(), LockState::Free, "{what}");
    }
    assert!(find_interrupted(path, SystemClock.now_ms()).unwrap().is_none(), "{what}: settled twice");
    story.state(path).unwrap_or_else(|| panic!("{what}: a part of the commit is left"))
}

/// Repairs at once. Only a commit that was killed before a whole journal named the lock's owner has to be waited for:
/// such a lock may be another container's, or about to be written (store H4, H9).
fn settled_in_time(path: &Path, what: &str, by_repair: bool) -> Option<RecoveredCommit> {
    match recover_commit(path, Millis::ZERO, &SystemClock, &SystemDisk) {
        Err(CommitError::Refused(Refusal::Locked { pid, .. })) => {
            let found = find_interrupted(path, SystemClock.now_ms()).unwrap().unwrap();
            assert!(by_repair || pid.is_none() || found.kind.is_none(), "{what}: {found:?}");
            recover_commit(path, Millis::ZERO, &Ahead, &SystemDisk).unwrap()
        }
        other => other.unwrap(),
    }
}

/// A clock that is half an hour ahead, when every lock of a dead process is stale.
#[derive(Debug)]
struct Ahead;

impl Clock for Ahead {
    fn now_ms(&self) -> Moment {
        SystemClock.now_ms() + Millis(31.0 * 60_000.0)
    }

    fn pause(&self, duration: Millis) {
        SystemClock.pause(duration);
    }
}

/// Makes the next commit as if nothing had happened.
fn goes_on(story: &Story, path: &Path, point: usize) {
    let session = story.case.open(path);
    let prepared = another(&session);
    let planned = session.planned(&prepared);
    write(&prepared, Millis::ZERO, &Ahead)
        .unwrap_or_else(|error| panic!("{:?} at {point}: {error}", story.case));
    let session = session.reload();
    assert_eq!(session.context(), planned, "{:?} at {point}", story.case);
    assert_eq!(session.index.bad_lines, 0);
    let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|item| item.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["session.jsonl"], "{:?} at {point}", story.case);
}

/// Every distinct remaining file, for the real runtime to read once.
#[derive(Default)]
pub(crate) struct Left {
    files: BTreeMap<(String, &'static str), PathBuf>,
    folders: Vec<tempfile::TempDir>,
    counts: BTreeMap<&'static str, usize>,
}

impl Left {
    pub(crate) fn keep(&mut self, story: &Story, state: &'static str, path: &Path) {
        *self.counts.entry(state).or_default() += 1;
        let folders = &mut self.folders;
        self.files.entry((story.case.name(), state)).or_insert_with(|| {
            let folder = tempfile::tempdir().unwrap();
            let copy = folder.path().join("session.jsonl");
            std::fs::copy(path, &copy).unwrap();
            folders.push(folder);
            copy
        });
    }

    fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        other.counts.into_iter().for_each(|(state, count)| *self.counts.entry(state).or_default() += count);
    }

    /// Asserts that the real runtime reads the old context or the new one.
    pub(crate) fn judge(&self, stories: &[Story]) {
        let story = |name: &str| stories.iter().find(|story| story.case.name() == name).unwrap();
        let of_today = |file: &(&(String, &'static str), &PathBuf)| story(&file.0.0).case.is_of_today();
        let (today, before): (Vec<_>, Vec<_>) = self.files.iter().partition(of_today);
        let paths =
            |files: &[(_, &PathBuf)]| files.iter().map(|(_, path)| (*path).clone()).collect::<Vec<_>>();
        if let Some(pi) = Pi::find() {
            for (opened, ((name, state), _)) in pi.open(&paths(&before), false).into_iter().zip(&before) {
                assert_eq!(opened.context, story(name).context(state), "{name}, {state}");
            }
        }
        if let Some(pi) = PiToday::find() {
            for (opened, ((name, state), _)) in pi.open(&paths(&today), false).into_iter().zip(&today) {
                let context = opened.and_then(|opened| opened.context).expect("a context");
                assert_eq!(values(&context), values(story(name).context(state)), "{name}, {state}");
            }
        }
    }

    pub(crate) fn counts(&self) -> String {
        let count = |state| self.counts.get(state).copied().unwrap_or_default();
        format!("{} left the old context, {} the new one", count("old"), count("new"))
    }
}

/// Messages in any order of keys.
fn values(messages: &[String]) -> Vec<serde_json::Value> {
    messages.iter().map(|message| serde_json::from_str(message).expect("JSON")).collect()
}

/// Asserts that a lock names its process, so that another program can see whether that ended.
pub(crate) fn assert_whole_lock(path: &Path, point: usize) {
    if let Ok(text) = std::fs::read_to_string(lock_path(path).unwrap()) {
        let lock: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("point {point}: {text:?}: {error}"));
        assert!(lock["pid"].is_u64() && lock["createdAt"].is_string(), "{point}: {text}");
    }
}

/// Kills a case at every point.
fn kill_everywhere(story: &Story) -> Left {
    let mut left = Left::default();
    for point in 1..=story.points {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        killed(story.case, Deed::Commit, point, &path);
        assert_whole_lock(&path, point);
        // Unless it was killed within the write itself, even a reader that comes before anything is settled sees one of
        // the two.
        if let Some(state) = story.state(&path) {
            left.keep(story, state, &path);
        }
        let state = settled(story, &path, point);
        left.keep(story, state, &path);
        goes_on(story, &path, point);
    }
    left
}

#[test]
fn a_commit_that_is_killed_anywhere_leaves_the_old_context_or_the_new_one() {
    let stories: Vec<Story> = Case::ALL.into_iter().map(Story::of).collect();
    let mut left = Left::default();
    std::thread::scope(|scope| {
        let running: Vec<_> = stories.iter().map(|story| scope.spawn(|| kill_everywhere(story))).collect();
        for running in running {
            left.add(running.join().unwrap());
        }
    });
    for story in &stories {
        let torn = story.torn.load(Relaxed);
        println!("{:?}: killed at {} points, {torn} of them within the write", story.case, story.points);
    }
    let points: usize = stories.iter().map(|story| story.points).sum();
    let torn: usize = stories.iter().map(|story| story.torn.load(Relaxed)).sum();
    left.judge(&stories);
    println!("killed at {points} points, {torn} of them within the write; {}", left.counts());
    assert!(points >= 200 && torn >= 60, "{points} points, {torn} within the write");
}
