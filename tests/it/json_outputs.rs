//! Every command's `--json` output on the demo store: size and digest of each output, and the keys with their types.
//! A change of the JSON fails here.
//!
//! `CLAWSCOPE_JSON_OUT=DIR` writes each output to a file there, so that two revisions can be compared with `diff -r`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{File, create_dir_all};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

use clap::CommandFactory as _;
use clawscope::cli::Cli;
use clawscope::store::demo;
use regex::{Captures, Regex};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::support::store::program;

/// Commands with `--json` that are not run here, and why.
const NOT_RUN: [(&str, &str); 1] = [("watch", "it follows the store until somebody stops it")];

/// The command lines about no session in particular.
const OF_THE_STORE: [&str; 20] = [
    "cost",
    "sessions",
    "sessions --sort cost --filter >10%",
    "sessions --ruleset 2026.9.6",
    "sessions --no-redact",
    "search libatomic",
    "search ninja --limit 3",
    "doctor",
    "doctor --ruleset 2026.9.6",
    "doctor --migration",
    "settings --presets",
    "explain --all --window 131072 --window 65536",
    "rules",
    "rules --ruleset pi-1.5",
    "rules --ruleset 2026.3.2 --diff 2026.9.6",
    "rules --releases",
    "rules --sections",
    "rules pruning-5.12",
    "settings",
    "settings --ruleset 2026.9.6",
];

/// The command lines about each session, whose key follows the name of the command.
const OF_A_SESSION: [&str; 20] = [
    "replay --lost --set contextPruning.ttl=5m",
    "cost",
    "tree",
    "context",
    "context --messages",
    "context --breakdown",
    "context --estimators --all",
    "explain --recovery",
    "explain",
    "simulate",
    "replay",
    "sweep --vary contextPruning.softTrimRatio=0.1",
    "check --budget 100%",
    "simulate --summary --with extractive",
    "simulate --summary --calls",
    "commit --policy prune --now NOW",
    "undo",
    "undo --list",
    "sessions",
    "undo --compare --all",
];

/// The command lines only about [`OVERFLOWED`], where every policy has an effect.
const OF_SOME_SESSIONS: [&str; 11] = [
    "context --recorded",
    "simulate --now NOW",
    "simulate --now NOW --gates --policy all",
    "simulate --messages --policy gateway --set contextPruning.softTrimRatio=0 --set contextPruning.hardClearRatio=0.01",
    "simulate --policy compact --with extractive",
    "simulate --ruleset 2026.9.6 --policy gateway",
    "replay --all --policy compact,prune,guard,clear --set contextPruning.ttl=5m --set compaction.reserveTokens=40000",
    "replay --timeline",
    "replay --ruleset 2026.9.6",
    "sweep",
    "sweep --vary contextPruning.softTrimRatio=0.1..0.5:0.2 --vary contextPruning.keepLastAssistants=1,3",
];

/// The sessions that overflowed.
const OVERFLOWED: [&str; 2] = ["agent:main:telegram:direct:8812", "agent:main:slack:channel:c07infra"];

/// Values that differ from run to run, by command: the clock where no `--now` is given, and the ids of new entries.
const UNSTABLE: [(&str, &str); 2] =
    [("simulate", r#""(?:now|idleMs)":(\d+)"#), ("commit", r#""to":"([0-9a-f]{8})""#)];

/// A moment after everything in the demo store.
const NOW: &str = "2026-03-06T12:00:00Z";
/// Modification time of every file of the store, s since 1970.
const TOUCHED_S: u64 = 1_772_755_200;

/// A command line of these tables, and its session.
#[derive(Debug, Clone, Copy)]
struct Query<'a> {
    line: &'static str,
    session: Option<&'a str>,
}

impl Query<'_> {
    fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> =
            self.line.split(' ').map(|word| if word == "NOW" { NOW } else { word }).collect();
        words.splice(1..1, self.session);
        words.push("--json");
        words
    }
}

/// The program's answer, without the folder of the store and the values that differ between runs.
struct Answer {
    code: i32,
    text: String,
}

impl Answer {
    /// Errors are JSON too and follow the output.
    fn of(query: &Query, store: &str) -> Self {
        let output = program(&query.words()).env("OPENCLAW_STATE_DIR", store).env("TZ", "UTC").output();
        let output = output.expect("it runs");
        let printed = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        let mut text = String::from_utf8(printed).expect("UTF-8").replace(store, "STORE");
        for (command, pattern) in UNSTABLE.iter().filter(|(command, _)| query.words()[0] == *command) {
            let pattern = Regex::new(pattern).unwrap_or_else(|error| panic!("{command}: {error}"));
            let zeros = |found: &Captures| found[0].replace(&found[1], "0");
            text = pattern.replace_all(&text, zeros).into_owned();
        }
        Self { code: output.status.code().expect("a code"), text }
    }

    fn line(&self, query: &Query) -> String {
        let digest = Sha256::digest(self.text.as_bytes());
        let digest = digest[..8].iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        format!("{} {:>8} {digest} {}\n", self.code, self.text.len(), query.words().join(" "))
    }
}

/// Writes the demo store so that all its files have one age; returns its keys in listed order. Its keys in the order in
/// which they are listed.
fn demo_store(folder: &Path) -> Vec<String> {
    demo::write_to(folder).expect("the demo store");
    touch(folder);
    let query = Query { line: "sessions", session: None };
    let listed = Answer::of(&query, folder.to_str().expect("text"));
    let listed: Value = serde_json::from_str(&listed.text).expect("JSON");
    let name = |session: &Value| session["key"].as_str().expect("a key").to_owned();
    listed["sessions"].as_array().expect("a list").iter().map(name).collect()
}

fn touch(folder: &Path) {
    for item in folder.read_dir().expect("a folder") {
        let path = item.expect("an item").path();
        if path.is_dir() {
            touch(&path);
        } else {
            let at = UNIX_EPOCH + Duration::from_secs(TOUCHED_S);
            File::options().write(true).open(&path).and_then(|file| file.set_modified(at)).expect("touched");
        }
    }
}

/// Every answer, in the order of the questions; two programs run at a time.
fn answers(query: &[Query], store: &str) -> Vec<Answer> {
    let (waiting, found) = (Mutex::new(query.iter().enumerate()), Mutex::new(BTreeMap::new()));
    let next = || waiting.lock().expect("no program panicked").next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((at, query)) = next() {
                    let answer = Answer::of(query, store);
                    found.lock().expect("no program panicked").insert(at, answer);
                }
            });
        }
    });
    found.into_inner().expect("no program panicked").into_values().collect()
}

/// The paths of a value's keys, each with the types of its values: `sessions[].tokens: number`.
fn key_paths(value: &Value, path: &str, found: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(items) => {
            for item in items {
                key_paths(item, &format!("{path}[]"), found);
            }
            "array"
        }
        Value::Object(members) => {
            let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            for (key, value) in members {
                key_paths(value, &below(key), found);
            }
            "object"
        }
    };
    // The contents of a list or an object imply its type, unless it is empty.
    let is_filled = value.as_array().is_some_and(|items| !items.is_empty())
        || value.as_object().is_some_and(|members| !members.is_empty());
    if !is_filled {
        found.entry(path.to_owned()).or_default().insert(kind);
    }
}

/// The key paths of each command, over all its command lines; those of errors are one list.
fn shapes(query: &[Query], answers: &[Answer]) -> String {
    let mut shapes: BTreeMap<String, BTreeMap<String, BTreeSet<&'static str>>> = BTreeMap::new();
    for (query, answer) in query.iter().zip(answers) {
        let answer: Value = serde_json::from_str(&answer.text).expect("JSON");
        let command = query.words()[0];
        let name =
            if answer.get("error").is_some() && answer.get("session").is_none() { "error" } else { command };
        key_paths(&answer, "", shapes.entry(name.to_owned()).or_default());
    }
    let mut text = String::new();
    for (line, paths) in shapes {
        let _ = writeln!(text, "== {line}");
        for (path, kinds) in paths {
            let _ = writeln!(text, "{path}: {}", kinds.into_iter().collect::<Vec<_>>().join("|"));
        }
    }
    text
}

/// Keeps the answers for a comparison, if requested.
fn keep(query: &[Query], answers: &[Answer]) {
    let Some(folder) = std::env::var_os("CLAWSCOPE_JSON_OUT") else { return };
    create_dir_all(&folder).expect("a folder");
    for (query, answer) in query.iter().zip(answers) {
        let name = query.words().join(" ").replace(['/', ':'], "_");
        let mut file = File::create(Path::new(&folder).join(format!("{name}.json"))).expect("a file");
        file.write_all(answer.text.as_bytes()).expect("written");
    }
}

#[test]
fn every_output_of_the_demo_store_is_the_recorded_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().canonicalize().expect("a folder");
    let keys = demo_store(&store);
    let of_the_store = OF_THE_STORE.iter().map(|line| Query { line, session: None });
    assert!(OVERFLOWED.iter().all(|key| keys.iter().any(|listed| listed == key)), "{keys:?}");
    let mut query: Vec<Query> = of_the_store.collect();
    for key in &keys {
        let others = if OVERFLOWED.contains(&key.as_str()) { OF_SOME_SESSIONS.as_slice() } else { &[] };
        let lines = OF_A_SESSION.iter().chain(others);
        query.extend(lines.map(|line| Query { line, session: Some(key.as_str()) }));
    }
    let answers = answers(&query, store.to_str().expect("text"));
    keep(&query, &answers);
    let lines: String = query.iter().zip(&answers).map(|(query, answer)| answer.line(query)).collect();
    insta::assert_snapshot!("outputs", lines);
    insta::assert_snapshot!("keys", shapes(&query, &answers));
}

#[test]
fn every_command_with_json_is_run() {
    let mut cli = Cli::command();
    cli.build();
    let names = |lines: &[&'static str]| -> Vec<&str> {
        lines.iter().filter_map(|line| line.split(' ').next()).collect()
    };
    let run = [names(&OF_THE_STORE), names(&OF_A_SESSION), names(&OF_SOME_SESSIONS)].concat();
    for command in cli.get_subcommands() {
        let has_json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        let is_known =
            run.contains(&command.get_name()) || NOT_RUN.iter().any(|(name, _)| *name == command.get_name());
        assert!(!has_json || is_known, "{} is neither run nor excepted", command.get_name());
    }
}
