//! Committed, undone and interrupted branches, on the command line and on the screen.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::Path;

use clawscope::app::state::{Overlay, ToastKind, WriteStage};
use clawscope::commit::{Clock, CommitError, Disk, SystemClock, SystemDisk, write_to_disk};
use clawscope::report::commits::CommitStatus;
use clawscope::units::{Bytes, Millis};
use serde_json::{Value, json};

use crate::support::driver::Driver;
use crate::support::session::Session;
use crate::support::store::{Store, program, run};

/// A disk that takes half of the lines and then neither the rest nor a rollback, as in a power failure.
#[derive(Debug, Default)]
struct Torn(Cell<u32>);

impl Disk for Torn {
    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + 1);
        // The lock, the journal, the lines.
        let half = if self.0.get() == 3 { bytes.len() / 2 } else { bytes.len() };
        SystemDisk.write(file, &bytes[..half])
    }

    fn truncate(&self, _: &File, _: Bytes) -> io::Result<()> {
        Err(io::ErrorKind::Other.into())
    }
}

/// Interrupts a commit to a transcript; returns the bytes before it.
fn broken_off(path: &Path) -> Vec<u8> {
    let session = Session::at(path);
    let before = session.bytes();
    let changes = session.results().into_iter().map(|ix| session.clear(ix)).collect();
    let error =
        write_to_disk(&Torn::default(), &session.prepare(changes).unwrap(), Millis::ZERO, &SystemClock)
            .unwrap_err();
    assert!(matches!(&error, CommitError::Write { restored: false, .. }), "{error:?}");
    assert!(error.to_string().contains("doctor --repair"), "{error}");
    before
}

fn ids(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let commits = answer["commits"].as_array().unwrap();
    commits.iter().map(|commit| (text(&commit["id"]), text(&commit["state"]))).collect()
}

#[test]
fn commits_are_listed_and_any_active_one_can_be_undone() {
    let store = Store::new();
    assert_eq!(store.json(&["undo", "--list", "main"])["commits"], json!([]));
    store.json(&["commit", "main", "--apply"]);
    let sooner = "contextPruning.softTrimRatio=0.01";
    store.json(&[
        "commit",
        "main",
        "--apply",
        "--set",
        sooner,
        "--set",
        "contextPruning.softTrim.maxChars=2000",
    ]);
    let listed = store.json(&["undo", "--list", "main"]);
    let [(first, one), (second, two)] = &ids(&listed)[..] else { panic!("{listed}") };
    assert_eq!((one.as_str(), two.as_str()), ("in force", "in force"), "the second builds on the first");
    assert_eq!(listed["commits"][0]["steps"][0]["policy"], "prune");
    assert_eq!(listed["commits"][0]["inForce"], true);
    let (_, out, _) = store.run(&["undo", "--list", "main"]);
    assert!(out.contains(first) && out.contains("2 active") && out.contains("prune"), "{out}");
    // Undoes the first one, and with it the second, which was copied from it.
    let dry = store.json(&["undo", "main", "--commit", &first[..6]]);
    assert_eq!(dry["applied"], false);
    let before = std::fs::read(store.transcript()).unwrap();
    store.json(&["undo", "main", "--commit", first, "--apply"]);
    assert!(std::fs::read(store.transcript()).unwrap().starts_with(&before));
    let states: Vec<String> =
        ids(&store.json(&["undo", "--list", "main"])).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, ["undone", "on another branch", "in force"]);
    let (code, _, error) = store.run(&["undo", "main", "--commit", second]);
    assert!(code == 4 && error.contains("does not descend from"), "{code} {error}");
    let (code, _, error) = store.run(&["undo", "main", "--commit", "zzz"]);
    assert!(code == 2 && error.contains("clawscope undo --list"), "{code} {error}");
}

#[test]
fn two_branches_are_compared_by_messages_tokens_and_costs() {
    let store = Store::new();
    store.json(&["commit", "main", "--apply"]);
    let planned = store.json(&["undo", "--list", "main"]);
    let reported = store.json(&["undo", "main", "--compare"]);
    assert_eq!((&reported["second"]["active"], &reported["first"]["active"]), (&json!(true), &json!(false)));
    let changed = planned["commits"][0]["changed"].as_array().unwrap().len();
    assert_eq!(reported["changes"]["differs"]["messages"], changed);
    assert_eq!(reported["changes"]["onlyFirst"]["messages"], 0);
    let saved = |side: &str| reported["changes"]["differs"][side].as_u64().unwrap();
    assert!(saved("tokensFirst") > saved("tokensSecond"));
    // The active branch has the count of the list.
    let listed = store.json(&["sessions"])["sessions"][0]["tokens"]["value"].clone();
    assert_eq!(reported["second"]["tokens"], listed);
    assert!(
        reported["second"]["nextWarm"].as_f64().unwrap() < reported["second"]["nextCold"].as_f64().unwrap()
    );
    // The other branch by its name, with the sides swapped.
    let other =
        store.json(&["undo", "main", "--compare", reported["second"]["leaf"].as_str().unwrap(), "side-0"]);
    assert_eq!((&other["second"]["leaf"], &other["parting"]), (&json!("side-0"), &json!("user-0")));
    let (_, out, _) = store.run(&["undo", "main", "--compare"]);
    assert!(out.contains("in common, up to") && out.contains("changed"), "{out}");
    let (code, _, error) = store.run(&["undo", "main", "--compare", "nothing"]);
    assert!(code == 2 && error.contains("no entry has this id"), "{error}");
}

#[test]
fn the_record_of_a_compaction_is_compared_as_the_branch_that_it_made() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("demo");
    let answer = |words: &[&str]| {
        let (code, out, error) = run(program(words).args(["--store", store.to_str().unwrap(), "--json"]));
        assert_eq!(code, 0, "{error}");
        serde_json::from_str::<Value>(&out).unwrap()
    };
    run(program(&["demo", "--out"]).arg(&store));
    let session = "agent:main:telegram:direct:8812";
    answer(&["commit", session, "--policy", "compact", "--apply"]);
    let record = answer(&["undo", session, "--list"])["commits"][0].clone();
    let [before, id] = ["fromLeaf", "id"].map(|key| record[key].as_str().unwrap().to_owned());
    let by_name = answer(&["undo", session, "--compare", &before, &id]);
    assert_eq!(by_name, answer(&["undo", session, "--compare"]));
    assert!(by_name["second"]["messages"].as_u64() < by_name["first"]["messages"].as_u64(), "{by_name}");
}

#[test]
fn every_command_reports_an_interrupted_commit_and_reading_repairs_none() {
    let store = Store::new();
    let before = broken_off(&store.transcript());
    let torn = std::fs::read(store.transcript()).unwrap();
    assert!(torn.len() > before.len() && torn.starts_with(&before));
    for words in
        [&["context", "main"][..], &["tree", "main"], &["undo", "--list", "main"], &["explain", "main"]]
    {
        let (_, out, _) = store.run(words);
        assert!(out.contains("was interrupted after") && out.contains("doctor --repair"), "{words:?}: {out}");
    }
    assert_eq!(store.json(&["tree", "main"])["session"]["unfinished"], true);
    let (_, out, _) = store.run(&["sessions"]);
    assert!(out.contains("unfinished"), "{out}");
    let (code, _, error) = store.run(&["commit", "main", "--apply"]);
    assert!(code == 4 && error.contains("doctor --repair"), "{code} {error}");
    let (code, out, _) = store.run(&["doctor"]);
    assert!(code == 3 && out.contains("was interrupted after"), "{code} {out}");
    assert_eq!(std::fs::read(store.transcript()).unwrap(), torn, "reading changed something");
}

#[test]
fn doctor_repair_finishes_an_interrupted_commit() {
    let store = Store::new();
    broken_off(&store.transcript());
    let torn = std::fs::read(store.transcript()).unwrap();
    let (code, out, error) = store.run(&["doctor", "--repair"]);
    assert!(code == 0 && out.contains("The rest was appended"), "{code} {out} {error}");
    let repaired = std::fs::read(store.transcript()).unwrap();
    assert!(repaired.starts_with(&torn) && repaired.len() > torn.len() && repaired.ends_with(b"\n"));
    assert_eq!(store.json(&["tree", "main"])["session"]["unfinished"], false);
    assert_eq!(ids(&store.json(&["undo", "--list", "main"]))[0].1, "in force");
    assert_eq!(store.json(&["doctor", "--repair"])["repairs"], json!([]));
    assert_eq!(store.json(&["doctor"])["repairs"], json!(null));
    store.json(&["undo", "main", "--apply"]);
}

#[test]
fn a_repair_does_not_wait_and_names_the_lock_owner() {
    let store = Store::new();
    broken_off(&store.transcript());
    let lock =
        json!({ "pid": std::process::id(), "createdAt": clawscope::js::iso_text(SystemClock.now_ms()) });
    store.write("agents/main/sessions/long-1.jsonl.lock", &lock.to_string());
    let torn = std::fs::read(store.transcript()).unwrap();
    let answer = store.command(&["doctor", "--repair", "--json"]).output().unwrap();
    assert_eq!(answer.status.code(), Some(4));
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(answer["repairs"][0]["outcome"], "failed");
    assert!(answer["repairs"][0]["what"].as_str().unwrap().contains("locked by"));
    assert_eq!(std::fs::read(store.transcript()).unwrap(), torn);
}

fn committed(driver: &Driver) -> Vec<(String, CommitStatus)> {
    match driver.app.overlay() {
        Some(Overlay::Branches(screen)) => {
            screen.rows().iter().map(|row| (row.id.clone(), row.status)).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn tuned() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("plan 4 j j j H H H 2 c y");
    assert!(driver.app.overlay().is_none(), "{:?}", driver.app.overlay());
    driver
}

#[test]
fn the_screen_lists_commits_and_takes_one_back() {
    let mut driver = tuned();
    driver.press("b");
    let [(id, CommitStatus::InForce)] = &committed(&driver)[..] else { panic!("{:?}", committed(&driver)) };
    let id = id.clone();
    driver.press("u");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("{:?}", driver.app.overlay()) };
    assert!(matches!(&dialog.stage, WriteStage::Confirming(_)), "{:?}", dialog.stage);
    driver.press("y");
    let rows = committed(&driver);
    assert_eq!(rows[1], (id, CommitStatus::Undone), "newest first: {rows:?}");
    // An inactive commit cannot be undone; the list stays open.
    driver.press("G u");
    let words = format!("nothing to undo: {} is undone; undo its undo, in the row above", rows[1].0);
    assert_eq!(driver.app.toast.as_ref().map(|toast| &toast.text), Some(&words));
}

#[test]
fn the_screen_compares_the_branch_before_a_commit_with_the_new_one() {
    let mut driver = tuned();
    driver.press("b enter");
    let shown = |driver: &Driver| match driver.app.overlay() {
        Some(Overlay::Branches(screen)) => {
            let comparison = screen.comparison.as_ref().expect("a comparison");
            let Some(Ok(view)) = &comparison.result else { panic!("{:?}", comparison.result) };
            let messages = comparison.page.doc.rows().filter(|row| row.entry.is_some());
            (messages.count(), view.first.tokens(), view.second.tokens(), view.second.active)
        }
        other => panic!("{other:?}"),
    };
    let (changed, before, after, active) = shown(&driver);
    assert!(changed > 0 && before > after && active, "{changed} {before} {after}");
    driver.press("space");
    assert!(shown(&driver).0 > changed);
    driver.press("esc");
    assert_eq!(committed(&driver).len(), 1, "esc returns to the list");
    driver.press("enter");
    assert_eq!(shown(&driver).1, before);
    driver.press("G enter");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn the_screen_shows_an_interrupted_commit_and_one_key_repairs_it() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press(":repair");
    assert!(
        driver.app.toast.as_ref().is_some_and(
            |toast| toast.text.contains("no interrupted commit") && toast.kind == ToastKind::Note
        )
    );
    // An alert waits for the note of a key.
    driver.app.toast = None;
    let path = driver.path();
    let before = broken_off(&path);
    driver.event(clawscope::app::event::Event::FilesChanged(vec![path.clone()]));
    let torn = std::fs::read(&path).unwrap();
    assert!(
        driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("type :repair to repair it")),
        "{:?}",
        driver.app.toast
    );
    assert!(driver.app.problems().any(|(finding, _)| finding.message.contains("was interrupted after")));
    driver.app.toast = None;
    driver.press("plan c");
    assert!(driver.app.overlay().is_none(), "{:?}", driver.app.overlay());
    assert!(driver.app.toast.as_ref().is_some_and(
        |toast| toast.text.contains("type :repair to repair it") && toast.kind == ToastKind::Alert
    ));
    driver.press("u");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("{:?}", driver.app.overlay()) };
    assert!(
        matches!(&dialog.stage, WriteStage::Refused(why) if why.contains("interrupted")),
        "{:?}",
        dialog.stage
    );
    assert_eq!(std::fs::read(&path).unwrap(), torn, "nothing was changed by looking and asking");
    driver.press("A");
    assert!(driver.app.overlay().is_none());
    assert!(
        driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("The rest was appended")),
        "{:?}",
        driver.app.toast
    );
    let repaired = std::fs::read(&path).unwrap();
    assert!(repaired.starts_with(&torn) && repaired.len() > torn.len() && torn.starts_with(&before));
    assert!(driver.app.displayed_session().unwrap().unfinished_commit.is_none());
}
