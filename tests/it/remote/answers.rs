//! Commands give the same answers for another machine as on it, byte for byte.

use std::path::Path;

use super::{Programs, contents, demo};
use crate::support::fixture::state_2026_8_1;

const KEY: &str = "agent:main:telegram:direct:8812";

/// Command lines about a store; `STORE` marks its path.
const COMMANDS: [&str; 30] = [
    "sessions STORE --json",
    "sessions STORE",
    "sessions STORE --sort cost --filter >10%",
    "search ninja STORE --json",
    "search no-such-word STORE",
    "doctor STORE --json",
    "rules STORE --json",
    "explain --all --store STORE --json",
    "cost --store STORE --json",
    "settings KEY --store STORE --json",
    "tree KEY --store STORE --json",
    "tree KEY --store STORE",
    "tree KEY --store STORE --utc",
    "context KEY --store STORE --json",
    "context KEY --store STORE --messages --json",
    "context KEY --store STORE --breakdown --json",
    "explain --recovery KEY --store STORE --json",
    "explain KEY --store STORE --json",
    "explain KEY --store STORE",
    "cost KEY --store STORE --json",
    "sessions KEY --store STORE --json",
    "undo --list KEY --store STORE --json",
    "undo KEY --compare --store STORE --json",
    "simulate KEY --store STORE --now 2026-03-05T15:00:00Z --json",
    "replay KEY --store STORE --set contextPruning.ttl=5m --json",
    "replay --lost KEY --store STORE --json",
    "sweep KEY --store STORE --vary contextPruning.softTrimRatio=0.1 --json",
    "check KEY --store STORE --budget 10% --json",
    "simulate --summary KEY --store STORE --json",
    "undo KEY --store STORE --json",
];

fn words(line: &str, store: &str) -> Vec<String> {
    line.split(' ').map(|word| word.replace("STORE", store).replace("KEY", KEY)).collect()
}

/// Runs a command line on a store; returns exit code, output and errors.
fn run(programs: &Programs, line: &str, store: &str, more: &[&str]) -> (i32, String, String) {
    let words = words(line, store);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    programs.run(&words)
}

#[test]
fn every_command_answers_as_on_the_machine_of_the_store() {
    let programs = Programs::new();
    let (_dir, store) = demo();
    let before = contents(&store);
    let store = store.to_str().unwrap();
    for line in COMMANDS {
        let own = run(&programs, line, store, &[]);
        assert_eq!(run(&programs, line, &format!("ssh://gateway{store}"), &[]), own, "ssh: {line}");
        assert_eq!(run(&programs, line, store, &["--via", "env A=b"]), own, "via: {line}");
    }
    assert_eq!(contents(Path::new(store)), before, "nothing is written");
}

#[test]
fn the_database_of_a_gateway_answers_through_a_link_too() {
    let programs = Programs::new();
    let state = state_2026_8_1();
    let store = state.path().to_str().unwrap();
    for line in ["sessions STORE --json", "explain --all --store STORE --json", "doctor STORE --json"] {
        let own = run(&programs, line, store, &[]);
        assert_eq!(own.0, 0, "{}", own.2);
        assert_eq!(run(&programs, line, &format!("ssh://gateway{store}"), &[]), own, "{line}");
    }
}

#[test]
fn the_default_store_is_the_one_of_the_other_machine() {
    let (dir, store) = demo();
    let there = dir.path().join("there");
    std::fs::create_dir(&there).unwrap();
    std::fs::rename(store, there.join(".openclaw")).unwrap();
    let home = there.to_str().unwrap();
    let programs = Programs::with_ssh(&format!("export HOME={home}; cd; exec sh -c \"$*\""));
    let (_, expected, _) = programs.run(&["sessions", &format!("{home}/.openclaw"), "--json"]);
    for words in [
        &["sessions", "ssh://gateway", "--json"][..],
        &["sessions", "--store", "ssh://gateway", "--json"],
        &["sessions", "ssh://me@gateway:22/~/.openclaw", "--json"],
    ] {
        let (code, out, err) = programs.run(words);
        assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
        let keys = |text: &str| {
            let json: serde_json::Value = serde_json::from_str(text).unwrap();
            json["sessions"].as_array().unwrap().iter().map(|row| row["key"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(keys(&out), keys(&expected), "{words:?}");
    }
}

#[test]
fn settings_and_documents_are_those_of_the_other_machine() {
    let (dir, store) = demo();
    let there = dir.path().join("there");
    let presets = there.join(".config/clawscope/presets");
    std::fs::create_dir_all(&presets).unwrap();
    super::write(presets.join("lean.toml"), "historyLimit = 2\n");
    super::write(presets.with_file_name("config.toml"), "ruleset = \"2026.9.6\"\n");
    let programs =
        Programs::with_ssh(&format!("export HOME={0}; cd {0}; exec sh -c \"$*\"", there.display()));
    let run = |words: &[&str], place: &str, home: &Path| {
        let words: Vec<String> = words.iter().map(|word| word.replace("STORE", place)).collect();
        let mut command = programs.program(&words.iter().map(String::as_str).collect::<Vec<_>>());
        crate::support::store::run(command.current_dir(dir.path()).env("HOME", home))
    };
    let (own, far) = (store.display().to_string(), format!("ssh://gateway{}", store.display()));
    for words in [
        &["replay", KEY, "--store", "STORE", "--settings", "lean", "--json"][..],
        &["explain", KEY, "--store", "STORE", "--json"],
        &["settings", "--presets", "--store", "STORE"],
    ] {
        let expected = run(words, &own, &there);
        assert_eq!(run(words, &far, Path::new("/nonexistent")), expected, "{words:?}");
    }
    let words = ["export", KEY, "--store", "STORE", "--format", "md", "--out", "far.md"];
    let (code, _, err) = run(&words, &far, Path::new("/nonexistent"));
    assert_eq!(code, 0, "{err}");
    assert!(there.join("far.md").exists() && !dir.path().join("far.md").exists());
    assert_eq!(run(&words, &far, Path::new("/nonexistent")).0, 4, "it is not replaced");
}

#[test]
fn a_commit_is_written_by_the_clawscope_of_the_other_machine() {
    let programs = Programs::new();
    let (_dir, store) = demo();
    let place = format!("ssh://gateway{}", store.display());
    let before = contents(&store);
    let (code, _, err) = programs.run(&["commit", "agent:research:main", "--store", &place, "--apply"]);
    assert_eq!(code, 0, "{err}");
    assert_ne!(contents(&store), before);
    let (code, _, err) = programs.run(&["undo", "agent:research:main", "--store", &place, "--apply"]);
    assert_eq!(code, 0, "{err}");
}
