//! One number everywhere: advice, `check`, `replay` and `sweep` run the same replay.

use std::process::Command;

use assert_cmd::cargo::CommandCargoExt as _;
use clawscope::report::explain::Explanation;
use serde_json::{Value, json};

use super::made::{Made, words};

/// Runs the program on a store; returns the exit code and its JSON.
pub(crate) fn run(store: &str, arguments: &[&str]) -> (i32, Value) {
    let mut command = Command::cargo_bin("clawscope").expect("the program");
    command.env_clear().env("HOME", "/nonexistent/clawscope-test");
    let output = command.args(arguments).args(["--json", "--store", store]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let json = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().expect("an exit code"), json)
}

/// Asserts that the first `most` changes of an explanation have the same totals in replay, check and sweep.
pub(crate) fn agrees(store: &str, session: &str, most: usize) {
    let (_, message) = run(store, &["explain", session]);
    let all = message["advice"].as_array().expect("a list");
    for advice in all.iter().take(most) {
        let changes: Vec<String> = advice["set"]
            .as_object()
            .expect("keys")
            .iter()
            .map(|(key, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("{key}={text}")
            })
            .collect();
        let option = |name: &'static str| {
            changes.iter().flat_map(move |change| [name.to_owned(), change.clone()]).collect::<Vec<_>>()
        };
        // A list has no range that a sweep could vary.
        if advice["set"].as_object().expect("keys").values().all(|value| !value.is_array()) {
            swept(store, session, &option("--vary"), advice);
        }
        let sets = option("--set");
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let (_, replay) = run(store, &[&["replay", session], sets.as_slice()].concat());
        let simulated = &replay["totals"]["simulated"];
        assert_eq!(simulated["overflows"], advice["overflows"], "{sets:?} {simulated}");
        assert_eq!(simulated["peak"], advice["peak"], "{sets:?}");
        let (code, check) = run(store, &[&["check", session, "--budget", "100%"], sets.as_slice()].concat());
        assert_eq!(code == 0, advice["overflows"] == 0, "{sets:?} {check}");
        // A session that grows on may overflow later, although its recorded calls fit.
        assert!(code == 0 || advice["helps"] == false, "{sets:?} {check}");
    }
    if all.is_empty() {
        return;
    }
    let (_, replay) = run(store, &["replay", session]);
    assert_eq!(replay["totals"]["recorded"]["overflows"], message["recorded"]["overflows"]);
    let (_, listed) = run(store, &["sessions"]);
    let row = listed["sessions"].as_array().expect("rows").iter().find(|row| row["key"] == session);
    let row = row.expect("its row");
    let marked = row["flags"].as_array().expect("marks").iter().any(|mark| mark == "overflow");
    assert_eq!(marked, row["state"] == "overflow" || row["state"] == "silent-cut");
    assert_eq!((row["overflows"] != 0, &row["state"]), (message["overflow"] == true, &message["state"]));
}

/// Asserts that a sweep over the changes has a cell with the same totals.
fn swept(store: &str, session: &str, vary: &[String], advice: &Value) {
    let vary: Vec<&str> = vary.iter().map(String::as_str).collect();
    let (_, sweep) = run(store, &[&["sweep", session], vary.as_slice()].concat());
    let set = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let wanted = |cell: &&Value| {
        let mut changes = advice["set"].as_object().expect("keys").iter();
        changes.all(|(key, value)| set(&cell["set"][key]) == set(value))
    };
    let cells = sweep["cells"].as_array().expect("cells");
    let cell = cells.iter().find(wanted).unwrap_or_else(|| panic!("{vary:?}: no such cell in {cells:?}"));
    assert_eq!(cell["overflows"], advice["overflows"], "{vary:?}");
    assert_eq!(cell["peak"], advice["peak"], "{vary:?}");
}

fn stories() -> Vec<(u64, Made)> {
    let mut single = Made::new();
    single.grow_to(60_000, 9_000);
    single.user("read it");
    single.step("exec", &[300_000]);
    single.failed("prompt is too long: 137500 tokens > 131072 maximum");
    let mut window = Made::new();
    window.grow_to(125_000, 20_000);
    window.user("go on");
    window.step("exec", &[34_000]);
    window.failed("Unhandled stop reason: model_context_window_exceeded");
    let mut paste = Made::new();
    paste.grow_to(170_000, 20_000);
    paste.wait(50.0);
    paste.user(&words(140_000));
    paste.failed(&format!("prompt is too long: {} tokens > 200000 maximum", paste.prompt()));
    vec![(131_072, single), (200_000, window), (200_000, paste)]
}

#[test]
fn replay_and_check_confirm_the_advice() {
    for (window, made) in stories() {
        let folder = made.on(window).write();
        let store = folder.path().to_str().expect("text");
        agrees(store, super::on_store::KEY, usize::MAX);
    }
}

#[test]
fn the_demo_agrees_with_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    clawscope::store::demo::write_to(folder.path()).expect("the demo store");
    let store = folder.path().to_str().expect("text");
    for session in ["agent:main:slack:channel:c07infra", "agent:main:telegram:direct:8812"] {
        agrees(store, session, usize::MAX);
    }
}

#[test]
fn no_setting_helps_is_said_only_after_an_exhausted_search() {
    for (window, made) in stories() {
        let message: Explanation = made.read(window).said();
        let helps = message.advice.iter().any(|advice| advice.fits_all);
        assert!(message.is_exhausted && message.no_setting_helps() != helps, "{:#?}", message.advice);
    }
}

#[test]
fn a_share_of_the_window_refers_to_the_window_of_its_call() {
    let mut made = Made::new();
    made.grow_to(180_000, 20_000);
    let kept = made.user("go on");
    made.compaction("What was done until now.", kept);
    made.model = ("openrouter", "mistral-large");
    made.answer(400);
    let provider = |name: &str, model: &str, window: u64| json!({ "models": { "providers": { name: { "models": [{ "id": model, "contextWindow": window }] } } } });
    let store = made.on(200_000).config(provider("openrouter", "mistral-large", 131_072));
    let folder = store.write();
    let path = folder.path().to_str().expect("text");
    let check = |budget: &str| run(path, &["check", super::on_store::KEY, "--budget", budget]);
    let (code, whole) = check("100%");
    assert_eq!((code, &whole["budget"]), (0, &json!(131_072)), "180k were within 200k: {whole}");
    assert_eq!(check("80%").0, 1, "180k are more than 80% of 200k");
    assert_eq!(check("131072").0, 1, "tokens are the same for every call");
}
