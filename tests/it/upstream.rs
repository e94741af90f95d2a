//! `scripts/upstream/run`, which asks published programs whether a rule has changed: held to releases whose answers are
//! recorded, to a planted difference, and to questions without an answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture::put;
use crate::support::skipped;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The exit status and the output of a command; `None` if its program is not installed.
fn finished(command: &mut Command) -> Option<(i32, String)> {
    let output = command.current_dir(root()).output().ok()?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Some((output.status.code().unwrap_or(-1), text.concat()))
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for item in fs::read_dir(from).expect("a folder") {
        let path = item.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).expect("copied");
        }
    }
}

/// Plants another answer in a set: one turn more is left.
fn plant(set: &Path) {
    let path = set.join("expected/history_limit--limit-not-over.json");
    let text = fs::read_to_string(&path).expect("the case");
    let changed = text.replace("\"before\": ", "\"before\": 1");
    assert_ne!(changed, text, "the case has another form");
    fs::remove_file(&path).expect("removed");
    put(&path, changed);
}

/// Compares a set with answers; `None` without node.
fn compared(set: &Path, answers: &Path) -> Option<(i32, String)> {
    let found = finished(Command::new("node").arg("scripts/upstream/compare.mjs").args([set, answers]));
    if found.is_none() {
        assert!(!is_required(), "node is required and not here");
        skipped::note("node", "node is not installed");
    }
    found
}

fn is_required() -> bool {
    std::env::var_os("CLAWSCOPE_REQUIRE_REAL").is_some_and(|value| value == "1")
}

fn newest_set() -> PathBuf {
    root().join("tests/golden-releases/2026.9.6")
}

#[test]
fn no_answer_is_never_an_unchanged_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((status, text)) = compared(&newest_set(), folder.path()) else { return };
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("Could not be put:") && !text.contains("No rule changed"), "{text}");
    assert!(text.contains("  reserve: reserve-no-window (no answer)"), "{text}");
    for name in ["cases", "expected"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let (status, text) = compared(folder.path(), folder.path()).expect("node is here");
    assert_eq!(status, 2, "a set without questions: {text}");
}

#[test]
fn another_answer_is_named_and_the_recorded_ones_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&newest_set(), folder.path());
    let Some((status, text)) = compared(folder.path(), &newest_set().join("expected")) else { return };
    assert_eq!(status, 0, "{text}");
    plant(folder.path());
    let (status, text) = compared(folder.path(), &newest_set().join("expected")).expect("node is here");
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("Changed:\n  history_limit: limit-not-over (before)\n"), "{text}");
}

/// Runs the script for a gateway and a pi on the sets of a folder.
fn asked(gateway: &str, pi: &str, sets: &Path) -> (i32, String) {
    let mut command = Command::new("scripts/upstream/run");
    command.args(["--questions", gateway, pi]).env("CLAWSCOPE_GOLDEN_SETS", sets);
    if std::env::var_os("ORACLE_CACHE").is_none() {
        command.env("ORACLE_CACHE", root().join("target/upstream"));
    }
    finished(&mut command).expect("the script runs")
}

#[test]
fn two_known_releases_pass_and_a_planted_difference_does_not() {
    if !is_required() && std::env::var_os("ORACLE_CACHE").is_none() {
        skipped::note("the real releases", "neither CLAWSCOPE_REQUIRE_REAL=1 nor ORACLE_CACHE is set");
        return;
    }
    let shipped = root().join("tests");
    for (gateway, pi) in [("2026.9.6", "1.5.2"), ("2026.9.2", "1.6.0")] {
        let (status, text) = asked(gateway, pi, &shipped);
        assert_eq!(status, 0, "{gateway}: {text}");
        for program in [format!("openclaw {gateway}"), format!("pi {pi}")] {
            assert!(text.contains(&format!("{program}: every answer is the recorded one")), "{text}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    copy(&newest_set(), &folder.path().join("golden-releases/2026.9.6"));
    copy(&shipped.join("golden-pi-1.5"), &folder.path().join("golden-pi-1.5"));
    plant(&folder.path().join("golden-releases/2026.9.6"));
    let (status, text) = asked("2026.9.6", "1.5.2", folder.path());
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("openclaw 2026.9.6: an answer changed"), "{text}");
    assert!(text.contains("pi 1.5.2: every answer is the recorded one"), "pi is asked all the same: {text}");
}
