//! A number that is shown in several places is the same in all of them, for every session of the demo store.

use clawscope::format::format_number;
use clawscope::store::demo;
use serde_json::Value;

use crate::support::store::program;

fn demo_store() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    demo::write_to(folder.path()).expect("the demo store");
    folder
}

fn text(store: &str, words: &[&str]) -> String {
    let output = program(words).args(["--store", store]).env("TZ", "UTC").output().expect("it runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// `None` for a session without a transcript.
fn json(store: &str, words: &[&str]) -> Option<Value> {
    let printed = text(store, &[words, &["--json"]].concat());
    serde_json::from_str(&printed).ok()
}

fn rows(store: &str) -> Vec<Value> {
    let rows = json(store, &["sessions"]).expect("JSON")["sessions"].as_array().expect("a list").clone();
    let rows: Vec<Value> = rows.into_iter().filter(|row| !row["tokens"].is_null()).collect();
    assert!(rows.len() >= 12, "{} sessions", rows.len());
    rows
}

fn key(row: &Value) -> &str {
    row["key"].as_str().expect("a key")
}

#[test]
fn the_next_call_of_the_list_is_that_of_the_context() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    for row in rows(store) {
        let context = json(store, &["context", key(&row)]).expect("JSON");
        assert_eq!(context["nextCall"]["tokens"], row["tokens"], "{}", key(&row));
        assert_eq!(context["nextCall"]["percent"], row["percent"], "{}", key(&row));
        let shown = text(store, &["context", key(&row)]);
        let line = shown.lines().find(|line| line.starts_with("next call: ")).expect("the line");
        let tokens = format_number(row["tokens"]["value"].as_u64().expect("tokens") as i64);
        assert!(line.contains(&tokens), "{}: {line}", key(&row));
        assert!(line.contains(&format!("{}%", row["percent"])), "{}: {line}", key(&row));
    }
}

#[test]
fn calls_and_cost_of_the_list_are_those_of_the_context() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    for row in rows(store) {
        let context = json(store, &["context", key(&row)]).expect("JSON");
        assert_eq!(context["spent"]["answers"]["calls"], row["usage"]["calls"], "{}", key(&row));
        assert_eq!(context["spent"]["cost"], row["usage"]["cost"], "{}", key(&row));
    }
}

#[test]
fn overflows_compactions_and_the_largest_call_are_the_same_everywhere() {
    let folder = demo_store();
    let store = folder.path().to_str().expect("text");
    let mut explained = 0;
    for row in rows(store) {
        let check = json(store, &["check", key(&row)]).expect("JSON");
        let calls = row["usage"]["calls"].as_u64().expect("calls");
        assert!(
            check["calls"].as_u64().expect("calls") <= calls + row["overflows"].as_u64().expect("overflows")
        );
        if row["overflows"] == 0 {
            assert_eq!(check["over"], 0, "{}", key(&row));
            continue;
        }
        explained += 1;
        let recorded = &json(store, &["explain", key(&row)]).expect("JSON")["recorded"];
        assert_eq!(recorded["overflows"], row["overflows"], "{}", key(&row));
        assert_eq!(recorded["compactions"], row["compactions"], "{}", key(&row));
        assert_eq!(
            (&recorded["overflows"], &recorded["peak"]),
            (&check["over"], &check["peak"]),
            "{}",
            key(&row)
        );
    }
    assert!(explained >= 2, "{explained} sessions overflowed");
}
