//! Full disks: one that fails at every step, a file that may not grow, and a small file system.

use std::path::Path;
use std::process::Command;

use clawscope::commit::{Clock as _, CommitError, SystemClock, find_interrupted, lock_path, write_to_disk};
use clawscope::units::Millis;

use super::cases::Case;
use super::child::{Deed, command, reported};
use super::disk::{Fault, Faulty};
use super::kills::{Left, Story, settled};
use crate::support::skipped;

#[test]
fn a_disk_that_fills_up_at_any_step_leaves_only_the_old_file() {
    let (mut points, mut left) = (0, Left::default());
    let stories = [Case::Branch, Case::Unended, Case::Compaction, Case::Edits].map(Story::of);
    for story in &stories {
        for (fault, point) in
            (1..=story.points).flat_map(|point| [(Fault::Full, point), (Fault::StaysFull, point)])
        {
            let folder = tempfile::tempdir().unwrap();
            let path = story.case.set_up(folder.path());
            let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
            let disk = Faulty::new(fault, point);
            let result = write_to_disk(
                &disk,
                &story.case.prepare(&story.case.open(&path)),
                Millis::ZERO,
                &SystemClock,
            );
            let state = story.state(&path).unwrap_or_else(|| panic!("{point}: {result:?}"));
            match &result {
                Ok(_) => assert_eq!(state, "new", "{point}"),
                Err(error) => {
                    assert_eq!(state, "old", "{point}: {error}");
                    let words = error.to_string();
                    let kept = ["Nothing was written", "the same as before", "cannot create the lock file"];
                    assert!(kept.iter().any(|kept| words.contains(kept)), "{words}");
                    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), modified, "{point}");
                    points += 1;
                }
            }
            assert!(
                find_interrupted(&path, SystemClock.now_ms()).unwrap().is_none(),
                "{point}: a journal is left"
            );
            assert!(!lock_path(&path).unwrap().exists(), "{point}: a lock is left");
            left.keep(story, state, &path);
        }
    }
    left.judge(&stories);
    println!("a full disk at {points} points; {}", left.counts());
    assert!(points > 60, "{points}");
}

/// A shell that lets no file grow beyond this many blocks of 512 bytes, with the signal for it on or off.
fn limited(blocks: usize, ignored: bool, case: Case, path: &Path) -> std::process::Output {
    let child = command(case, Deed::Commit, 0, path);
    let trap = if ignored { "trap '' XFSZ; " } else { "" };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{trap}ulimit -f {blocks}; exec \"$0\" \"$@\""));
    shell.arg(child.get_program()).args(child.get_args());
    shell.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.output().unwrap()
}

#[test]
fn a_file_that_cannot_grow_is_unchanged() {
    let story = Story::of(Case::Long);
    let (least, most) = (story.old.len() / 512, story.new.len() / 512 + 2);
    let (mut refused, mut killed, mut written) = (0, 0, 0);
    for (blocks, ignored) in (least..=most).step_by(3).flat_map(|blocks| [(blocks, true), (blocks, false)]) {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        let output = limited(blocks, ignored, story.case, &path);
        match output.status.code() {
            Some(0) => written += 1,
            // The shell or the kernel ended it with the signal.
            None => killed += 1,
            Some(_) => refused += 1,
        }
        if output.status.code().is_some_and(|code| code != 0 && code < 128) {
            assert!(
                reported(&output).contains("bytes were written") || reported(&output).contains("too large"),
                "{}",
                reported(&output)
            );
            assert_eq!(story.state(&path), Some("old"), "{blocks}: {}", reported(&output));
            assert!(!lock_path(&path).unwrap().exists());
        }
        settled(&story, &path, blocks);
    }
    println!("files that may not grow: {refused} refused, {killed} killed by the signal, {written} written");
    assert!(refused > 2 && written > 0, "{refused} {killed} {written}");
}

/// Commits on a separate file system of this many KiB, in a user's name space; `None` where the system has none.
fn on_small_disk(story: &Story, kib: usize, folder: &Path) -> Option<(bool, Vec<u8>, Vec<String>)> {
    story.case.set_up(folder);
    std::fs::create_dir(folder.join("disk")).unwrap();
    let child = command(story.case, Deed::Commit, 0, &folder.join("disk/session.jsonl"));
    // Another name space may not run a program through the files of this process.
    let program = std::env::current_exe().unwrap();
    let script = "mount -t tmpfs -o size=\"$1\"k tmpfs \"$2/disk\" && cp \"$2/session.jsonl\" \"$2/disk/\" || exit 77; \
                  out=$2; shift 2; code=0; \"$@\" >\"$out/output\" 2>&1 || code=1; \
                  cp \"$out/disk/session.jsonl\" \"$out/after\"; ls \"$out/disk\" >\"$out/names\"; exit $code";
    let mut shell = Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", &kib.to_string()]);
    shell.arg(folder).arg(program).args(child.get_args());
    shell.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().ok()?;
    let after = std::fs::read(folder.join("after")).ok()?;
    let names = std::fs::read_to_string(folder.join("names")).ok()?;
    match output.status.code()? {
        code @ (0 | 1) => Some((code == 0, after, names.lines().map(str::to_owned).collect())),
        _ => None,
    }
}

#[test]
fn a_small_disk_that_fills_up_holds_the_old_file_or_the_new_one() {
    let story = Story::of(Case::Long);
    let (mut written, mut refused) = (0, 0);
    let least = story.old.len() / 1024 + 4;
    for kib in (least..least + 4 * (story.new.len() - story.old.len()) / 1024 + 24).step_by(8) {
        let folder = tempfile::tempdir().unwrap();
        let Some((done, after, names)) = on_small_disk(&story, kib, folder.path()) else {
            skipped::note("a small disk", "this system gives no file system of its own (unshare, tmpfs)");
            return;
        };
        assert_eq!(after, if done { &story.new[..] } else { &story.old[..] }, "{kib} KiB");
        assert_eq!(names, ["session.jsonl"], "{kib} KiB");
        *(if done { &mut written } else { &mut refused }) += 1;
    }
    println!("small disks: {refused} too small, {written} large enough");
    assert!(written > 0 && refused > 1, "{written} written, {refused} refused");
}

#[test]
fn a_full_disk_is_reported_with_file_and_advice() {
    let story = Story::of(Case::Branch);
    let error_at = |point| {
        let folder = tempfile::tempdir().unwrap();
        let path = story.case.set_up(folder.path());
        let disk = Faulty::new(Fault::Full, point);
        let error =
            write_to_disk(&disk, &story.case.prepare(&story.case.open(&path)), Millis::ZERO, &SystemClock)
                .err()?;
        assert!(error.to_string().starts_with(&folder.path().display().to_string()), "{error}");
        Some(error)
    };
    let errors: Vec<CommitError> = (1..=story.points).filter_map(error_at).collect();
    assert!(errors.iter().any(|error| matches!(error, CommitError::Lock { .. })));
    assert!(errors.iter().any(|error| matches!(error, CommitError::Journal { .. })));
    assert!(errors.iter().any(|error| matches!(error, CommitError::Write { restored: true, .. })));
}
