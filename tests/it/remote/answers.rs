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
    "cache --store STORE --json",
    "settings KEY --store STORE --json",
    "tree KEY --store STORE --json",
    "tree KEY --store STORE",
    "tree KEY --store STORE --utc",
    "context KEY --store STORE --json",
    "context KEY --store STORE --messages --json",
    "context KEY --store STORE --breakdown --json",
    "recovery KEY --store STORE --json",
    "explain KEY --store STORE --json",
    "explain KEY --store STORE",
    "cache KEY --store STORE --json",
    "record KEY --store STORE --json",
    "commits KEY --store STORE --json",
    "compare KEY --store STORE --json",
    "simulate KEY --store STORE --now 2026-03-05T15:00:00Z --json",
    "replay KEY --store STORE --set contextPruning.ttl=5m --json",
    "regret KEY --store STORE --json",
    "sweep KEY --store STORE --vary contextPruning.softTrimRatio=0.1 --json",
    "check KEY --store STORE --budget 10% --json",
    "summarize KEY --store STORE --json",
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
fn settings_and_documents_belong_to_the_person() {
    let programs = Programs::new();
    let (dir, store) = demo();
    let here = tempfile::tempdir().unwrap();
    let config = here.path().join("config/clawscope/presets");
    std::fs::create_dir_all(&config).unwrap();
    super::write(config.join("lean.toml"), "historyLimit = 2\n");
    super::write(here.path().join("new.json5"), "{ historyLimit: 3, softTrimRatio: 0.2 }");
    super::write(config.with_file_name("config.toml"), "ruleset = \"2026.9.6\"\n");
    let run = |words: &[&str]| {
        let mut command = programs.program(words);
        command.current_dir(here.path()).env("XDG_CONFIG_HOME", here.path().join("config"));
        crate::support::store::run(&mut command)
    };
    let (own, far) = (store.to_str().unwrap().to_owned(), format!("ssh://gateway{}", store.display()));
    for more in
        [&["--settings", "lean"][..], &["--settings", "./new.json5"], &["--settings", "new.json5"], &[]]
    {
        let replay = |store: &str| run(&[&["replay", KEY, "--store", store, "--json"], more].concat());
        assert_eq!(replay(&far), replay(&own), "{more:?}");
    }
    let export =
        |store: &str, file: &str| run(&["export", KEY, "--store", store, "--format", "pi", "--out", file]);
    assert_eq!(export(&own, "own.jsonl").0, 0);
    let (code, out, err) = export(&far, "far.jsonl");
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    // The header has a new id and the time of the export.
    let read = |name: &str| {
        let text = std::fs::read_to_string(here.path().join(name)).unwrap();
        text.split_once('\n').expect("a header").1.to_owned()
    };
    assert_eq!(read("far.jsonl"), read("own.jsonl"));
    let again = export(&far, "far.jsonl");
    assert!(again.0 == 4 && again.2.contains("already exists"), "{again:?}");
    drop(dir);
}
