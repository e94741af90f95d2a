//! Tests every run of the recorded fixture, from files and from a database, and partial recordings.

use std::path::{Path, PathBuf};

use super::*;
use crate::gateway::env::Environment;
use crate::session::loading::open;
use crate::session::testing::transcript;
use crate::store::discovery::discover;
use crate::store::sqlite::testing::TestStore;
use crate::units::{Chars, Moment};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trajectory");

fn opened(path: &Path, session: &str, env: &Environment) -> LoadedSession {
    let store = discover(Some(path), env);
    let found = store.sessions.iter().find(|own| own.id == session).unwrap();
    open(&store, &found.key, None, Moment::ZERO, &mut |_, _| true).unwrap()
}

fn run(session: &LoadedSession, number: usize) -> (RecordedRun, RecordedContext) {
    let found = read_run(session, number).unwrap();
    (found.run.clone().unwrap(), found)
}

fn verdict(session: &LoadedSession) -> String {
    read_run(session, 1).unwrap().verdict
}

fn cuts(comparison: &RecordingComparison) -> Vec<(String, String)> {
    comparison.cuts.iter().map(|cut| (cut.path.clone(), cut.reason.clone())).collect()
}

fn is_as_expected(found: &RecordedContext, expected: &serde_json::Value) {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let Some(compared) = &found.context else {
        assert_eq!((&expected["captured"], found.verdict.as_str()), (&false.into(), "cut whole"));
        return;
    };
    assert_eq!(expected["verdict"], found.verdict.as_str(), "{compared:?}");
    assert_eq!(expected["messages_recorded"], compared.recorded);
    assert_eq!(expected["messages_at_start"], compared.at_start);
    assert_eq!(expected["rebuilt_raw"], compared.rebuilt);
    assert_eq!(expected["rebuilt_after_repairs"], compared.repaired);
    let repairs = compared.repairs.iter().map(|own| (own.name.replace('-', "_"), own.count.into()));
    assert_eq!(expected["repairs"], serde_json::Value::Object(repairs.collect()));
    let marks = expected["cut_marks"].as_array().unwrap();
    let marks: Vec<_> = marks.iter().map(|mark| (text(&mark["path"]), text(&mark["reason"]))).collect();
    assert_eq!(cuts(compared), marks);
    let redacted: Vec<String> = expected["redacted_paths"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(compared.redacted, redacted);
    assert!(compared.difference.is_none());
}

#[test]
fn every_run_of_the_fixture_compares_as_an_independent_reader_found() {
    let expected = std::fs::read_to_string(Path::new(FIXTURE).join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let mut seen = 0;
    for session in expected["sessions"].as_array().unwrap() {
        let id = session["sessionId"].as_str().unwrap();
        let loaded = opened(Path::new(FIXTURE), id, &Environment::default());
        if session["readable"] == false {
            let found = read_run(&loaded, 1).unwrap();
            assert_eq!((found.verdict.as_str(), found.run), ("elsewhere", None));
            assert_eq!(found.elsewhere.as_deref(), session["pointer_target"].as_str());
            continue;
        }
        let runs = session["runs"].as_array().unwrap();
        for (back, expected) in runs.iter().rev().enumerate() {
            let (run, found) = run(&loaded, back + 1);
            assert_eq!(expected["run_id"], run.id.as_str());
            assert_eq!((run.number, run.of), (back + 1, runs.len()));
            is_as_expected(&found, &expected["context"]);
            seen += 1;
        }
        let past = read_run(&loaded, runs.len() + 1).unwrap_err();
        assert!(past.to_string().contains("1 is the newest"), "{past}");
        assert!(read_run(&loaded, 0).is_err());
    }
    assert_eq!(seen, 7);
}

const TABLE: &str = "CREATE TABLE trajectory_runtime_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, run_id TEXT, \
     event_json TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT";

#[test]
fn a_recording_in_the_database_compares_as_the_same_recording_in_a_file() {
    let id = "a1f00000-1111-4222-8333-444455556666";
    let text = |end: &str| {
        std::fs::read_to_string(Path::new(FIXTURE).join(format!("agents/main/sessions/{id}{end}"))).unwrap()
    };
    let made = TestStore::new();
    made.add_session("agent:main:main", id, &text(".jsonl").lines().collect::<Vec<_>>());
    let open = || opened(made.state(), id, &Environment::default());
    assert_eq!(verdict(&open()), "missing", "an older database has no such table");
    made.execute_batch(TABLE);
    assert_eq!(verdict(&open()), "missing", "the table holds no run of the session");
    let insert = "INSERT INTO trajectory_runtime_events VALUES (?1, ?2, 'r', ?3, 1)";
    for (seq, line) in text(".trajectory.jsonl").lines().enumerate() {
        made.execute(insert, (id, seq as i64, line));
    }
    made.execute(insert, (id, 999, "{half"));
    made.execute(insert, ("another", 0, text(".trajectory.jsonl").lines().next().unwrap()));
    let (rows, file) = (open(), opened(Path::new(FIXTURE), id, &Environment::default()));
    for number in 1..=5 {
        let ((rows, found), (file, in_file)) = (run(&rows, number), run(&file, number));
        assert_eq!((rows.of, &rows.id), (5, &file.id));
        assert!(rows.place.contains(".sqlite#"), "{}", rows.place);
        let place = file.place.clone();
        assert_eq!((RecordedRun { place, ..rows }, found.context), (file, in_file.context), "run {number}");
    }
    assert!(rows.prompt_report.as_ref().is_some_and(|report| report.system_chars > Chars(0.0)));
}

fn write(path: &Path, text: &str) {
    let mut file = std::fs::File::create(path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}

/// Creates a folder with one transcript and one recorded run with this `data` of `context.compiled`.
fn recorded_in(dir: &Path, recording: &Path, data: &str) -> PathBuf {
    let user = crate::session::testing::user;
    let path = dir.join("s.jsonl");
    write(&path, &transcript(&[user("one"), user("two"), user("three")]));
    let line = |kind: &str, data: &str| {
        format!(
            r#"{{"traceSchema":"openclaw-trajectory","schemaVersion":1,"traceId":"s","source":"runtime","type":"{kind}","ts":"2026-11-19T13:00:00.000Z","seq":1,"sessionId":"s","runId":"r","data":{data}}}"#
        )
    };
    let lines = [line("session.started", "{}"), line("context.compiled", data)];
    write(recording, &(lines.join("\n") + "\n"));
    path
}

fn recorded(data: &str) -> RecordedContext {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded_in(dir.path(), &dir.path().join("s.trajectory.jsonl"), data);
    run(&opened(&path, "s", &Environment::default()), 1).1
}

#[test]
fn runs_without_a_list_or_with_an_unknown_leaf_are_reported() {
    for (data, verdict) in [
        (r#"{"systemPrompt":"s","transcriptLeafId":"e0"}"#, "no messages recorded"),
        (r#"{"messages":[],"transcriptLeafId":"nowhere"}"#, "leaf missing"),
        (r#"{"messages":[],"transcriptLeafId":null}"#, "equal"),
        (r#"{"messages":[null,5,{"role":7}],"transcriptLeafId":"e1","tools":{}}"#, "different"),
    ] {
        assert_eq!(recorded(data).verdict, verdict, "{data}");
    }
    assert!(recorded(r#"{"messages":[],"transcriptLeafId":"nowhere"}"#).message.contains("no entry nowhere"));
}

#[test]
fn the_folder_of_the_environment_is_searched_for_a_safe_name() {
    let (dir, traces) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let data = r#"{"messages":[],"transcriptLeafId":null}"#;
    let path = recorded_in(dir.path(), &traces.path().join("s.jsonl"), data);
    let env = |dir: &Path| {
        let vars = [("OPENCLAW_TRAJECTORY_DIR", format!(" {} ", dir.display()))];
        Environment::new(vars, None, dir.to_path_buf())
    };
    assert_eq!(verdict(&opened(&path, "s", &Environment::default())), "missing");
    assert_eq!(verdict(&opened(&path, "s", &env(dir.path()))), "missing");
    assert_eq!(run(&opened(&path, "s", &env(traces.path())), 1).0.of, 1);
}
