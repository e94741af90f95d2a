//! Stores whose sessions are in a database.

use serde_json::{Value, json};

use crate::support::store::{Store, program, run};

#[test]
fn a_database_of_an_agent_means_2026_9() {
    let store = Store::new();
    store.write("agents/main/agent/openclaw-agent.sqlite", "");
    // A database without sessions has another use.
    assert_eq!(store.json(&["sessions"])["ruleset"]["id"], "2026.3.2");
    let made = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sqlite-2026.9.6/openclaw-agent.sqlite");
    std::fs::copy(made, store.path().join("agents/main/agent/openclaw-agent.sqlite")).unwrap();
    let ruleset = store.json(&["sessions"])["ruleset"].clone();
    assert_eq!(ruleset["id"], "2026.9.6");
    assert_eq!(ruleset["from"], "2026.9.6 last wrote openclaw-agent.sqlite");
    assert_eq!(ruleset["release"], "2026.9.6");
}

/// Returns the real database of a gateway of 2026.9 in a state dir, with its moved-out archives.
fn database() -> tempfile::TempDir {
    let made = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-2026.9.6");
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("agents/main");
    std::fs::create_dir_all(main.join("agent")).unwrap();
    std::fs::create_dir_all(main.join("sessions/cold")).unwrap();
    std::fs::copy(made.join("openclaw-agent.sqlite"), main.join("agent/openclaw-agent.sqlite")).unwrap();
    for name in std::fs::read_dir(made.join("sessions/cold")).unwrap() {
        let name = name.unwrap();
        std::fs::copy(name.path(), main.join("sessions/cold").join(name.file_name())).unwrap();
    }
    dir
}

#[test]
fn every_command_reads_a_database() {
    let dir = database();
    let store = dir.path().to_str().unwrap();
    let run = |args: &[&str]| {
        let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin("clawscope"));
        let output = command.args(args).env("HOME", dir.path()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0..=4)), "{args:?}: {message}");
        assert!(!message.contains("cannot be read"), "{args:?}: {message}");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), message)
    };
    for session in ["main", "subagent:77777777-7777-4777-8777-777777777777", "44444444", "88888888"] {
        let commands: [&[&str]; 9] = [
            &["tree"],
            &["context"],
            &["context", "--breakdown"],
            &["context", "--messages"],
            &["simulate"],
            &["explain"],
            &["replay"],
            &["explain", "--recovery"],
            &["check", "--budget", "100%"],
        ];
        for command in commands {
            let args = [&command[..1], &[session], &command[1..], &["--json", "--store", store]].concat();
            let (code, out, message) = run(&args);
            assert!(code != Some(2), "{args:?}: {message}");
            assert!(serde_json::from_str::<Value>(&out).is_ok(), "{args:?}: {message}{out}");
        }
    }
    let (_, doctor, _) = run(&["doctor", store, "--json"]);
    let doctor: Value = serde_json::from_str(&doctor).unwrap();
    assert_eq!((&doctor["counts"]["earlier"], &doctor["counts"]["cold"]), (&json!(2), &json!(2)));
    assert_eq!(doctor["findings"], json!([]));
    assert_eq!(doctor["databases"][0]["schemaVersion"], 23);
    let (code, _, message) = run(&["undo", "main", "--apply", "--store", store]);
    assert_eq!(code, Some(4), "{message}");
    assert!(message.contains("a commit begins a session of its own"), "{message}");
    let (_, tree, _) = run(&["tree", "cron:job-1", "--json", "--store", store]);
    let tree: Value = serde_json::from_str(&tree).unwrap();
    assert_eq!(tree["branches"][1]["headline"], "q1");
}

#[test]
fn a_locked_database_is_said_to_be_locked_and_no_answer_counts_as_whole() {
    let dir = database();
    let path = dir.path().join("agents/main/agent/openclaw-agent.sqlite");
    let writer = rusqlite::Connection::open(path).unwrap();
    writer.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    writer.execute_batch("UPDATE schema_meta SET updated_at = 2").unwrap();
    let store = dir.path().to_str().unwrap();
    let out = dir.path().join("set");
    let commands: [&[&str]; 7] = [
        &["sessions", store],
        &["sessions", store, "--json"],
        &["explain", "--all", store],
        &["search", "a", store],
        &["cost", store],
        &["tree", "main", "--store", store],
        &["export", "--format", "parquet", store, "--out", out.to_str().unwrap()],
    ];
    for words in commands {
        let (code, _, said) = run(&mut program(words));
        assert_eq!(code, 3, "{words:?}: {said}");
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("locked: another program")).collect();
        assert_eq!(lines.len(), 1, "{words:?}: {said}");
        assert!(lines[0].contains("Try again when that program has finished"), "{said}");
    }
    drop(writer);
    let (code, listed, said) = run(&mut program(&["sessions", store]));
    assert_eq!((code, said.as_str()), (0, ""), "{listed}");
}
