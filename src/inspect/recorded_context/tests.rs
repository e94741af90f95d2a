//! Every run of the recorded fixture, and lists made by hand for repairs that the fixture lacks.

use std::path::{Path, PathBuf};

use super::rebuilt::Rebuilt;
use super::*;
use crate::gateway::env::Environment;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::open::open;
use crate::inspect::testing::transcript;
use crate::js::{Value, parse};
use crate::store::sqlite::testing::TestStore;
use crate::store::survey::survey;
use crate::store::trajectory::{Place, RecordedList};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trajectory");

fn opened(path: &Path, session: &str, env: &Environment) -> Inspection {
    let store = survey(Some(path), env);
    let found = store.sessions.iter().find(|own| own.id == session).unwrap();
    open(&store, &found.key, None, 0, &mut |_, _| true).unwrap()
}

fn run(inspection: &Inspection, number: usize) -> RecordedRun {
    match read(inspection, number).unwrap() {
        RecordedContext::Run(run) => *run,
        other => panic!("{other:?}"),
    }
}

fn cuts(comparison: &Comparison) -> Vec<(String, String)> {
    comparison.cuts.iter().map(|cut| (cut.path.clone(), cut.reason.clone())).collect()
}

fn is_as_expected(outcome: &Outcome, expected: &serde_json::Value) {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let compared = match outcome {
        Outcome::Compared(compared) => compared,
        Outcome::CutWhole(cut) => {
            assert_eq!(
                (&expected["captured"], &expected["why"]),
                (&false.into(), &cut.reason.as_str().into())
            );
            return;
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(expected["verdict"], compared.verdict(), "{compared:?}");
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
    assert!(!compared.unrepaired && compared.difference.is_none());
}

#[test]
fn every_run_of_the_fixture_compares_as_an_independent_reader_found() {
    let expected = std::fs::read_to_string(Path::new(FIXTURE).join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let mut seen = 0;
    for session in expected["sessions"].as_array().unwrap() {
        let id = session["sessionId"].as_str().unwrap();
        let inspection = opened(Path::new(FIXTURE), id, &Environment::default());
        if session["readable"] == false {
            let target = PathBuf::from(session["pointer_target"].as_str().unwrap());
            assert_eq!(read(&inspection, 1).unwrap(), RecordedContext::Elsewhere(target));
            continue;
        }
        let runs = session["runs"].as_array().unwrap();
        for (back, expected) in runs.iter().rev().enumerate() {
            let run = run(&inspection, back + 1);
            assert_eq!(expected["run_id"], run.attempt.run.as_str());
            assert_eq!((run.number, run.of), (back + 1, runs.len()));
            is_as_expected(&run.outcome, &expected["context"]);
            seen += 1;
        }
        let past = read(&inspection, runs.len() + 1).unwrap_err();
        assert!(past.to_string().contains("1 is the newest"), "{past}");
        assert!(read(&inspection, 0).is_err());
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
    made.session("agent:main:main", id, &text(".jsonl").lines().collect::<Vec<_>>());
    let open = || opened(made.state(), id, &Environment::default());
    assert_eq!(
        read(&open(), 1).unwrap(),
        RecordedContext::NoRecording,
        "an older database has no such table"
    );
    made.run(TABLE);
    assert_eq!(
        read(&open(), 1).unwrap(),
        RecordedContext::NoRecording,
        "the table holds no run of the session"
    );
    let insert = "INSERT INTO trajectory_runtime_events VALUES (?1, ?2, 'r', ?3, 1)";
    for (seq, line) in text(".trajectory.jsonl").lines().enumerate() {
        made.with(insert, (id, seq as i64, line));
    }
    made.with(insert, (id, 999, "{half"));
    made.with(insert, ("another", 0, text(".trajectory.jsonl").lines().next().unwrap()));
    let (rows, file) = (open(), opened(Path::new(FIXTURE), id, &Environment::default()));
    for number in 1..=5 {
        let (rows, file) = (run(&rows, number), run(&file, number));
        assert_eq!((rows.of, &rows.attempt.run), (5, &file.attempt.run));
        assert_eq!((&rows.details, &rows.outcome), (&file.details, &file.outcome), "run {number}");
        assert!(matches!(rows.place, Place::Rows(..)), "{}", rows.place);
    }
    assert!(rows.report.as_ref().is_some_and(|report| report.system_chars > 0));
}

/// A list of messages, each with its position as its time unless it has one.
fn messages(list: &[&str]) -> Vec<Value> {
    let timed = |(at, text): (usize, &&str)| {
        let mut message = parse(text).unwrap();
        let object = message.as_object_mut().unwrap();
        if !object.contains("timestamp") {
            object.set("timestamp", Value::from(at));
        }
        message
    };
    list.iter().enumerate().map(timed).collect()
}

fn compared(recorded: &[&str], rebuilt: &[&str], release: Option<[u32; 3]>) -> Comparison {
    let items = messages(recorded);
    let recorded = RecordedList { total: items.len() as u64, items };
    let rebuilt = messages(rebuilt).into_iter().enumerate();
    let rebuilt: Vec<_> = rebuilt.map(|(at, own)| Rebuilt::new(Some(EntryIx(at as u32)), own)).collect();
    Comparison::new(&recorded, &rebuilt, release)
}

fn names(comparison: &Comparison) -> Vec<&'static str> {
    comparison.repairs.iter().map(|repair| repair.name).collect()
}

const ASK: &str = r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#;

#[test]
fn repairs_of_a_provider_are_found_together_and_named() {
    let rebuilt = [
        ASK,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":" "},
            {"type":"toolCall","id":"call_1|fc_2","name":"read","arguments":{},"thoughtSignature":"s"}]}"#,
        r#"{"role":"toolResult","toolCallId":"call_1|fc_2","toolName":"read","content":[],"details":1}"#,
    ];
    let recorded = [
        ASK,
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"call1fc2","name":"read","arguments":{}}]}"#,
        r#"{"role":"toolResult","toolCallId":"call1fc2","toolName":"read","content":[]}"#,
    ];
    for release in [None, Some([2026, 6, 11])] {
        let comparison = compared(&recorded, &rebuilt, release);
        assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
        let wanted = [
            "blank-text-block-removed",
            "tool-result-details-removed",
            "tool-call-ids-rewritten",
            "thinking-dropped",
            "signatures-stripped",
        ];
        assert_eq!(names(&comparison), wanted);
    }
}

#[test]
fn a_call_without_a_result_and_user_messages_in_a_row_are_repaired() {
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}],"stopReason":"toolUse"}"#;
    let invented = r#"{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."}],"isError":true,"timestamp":77}"#;
    let more = r#"{"role":"user","content":[{"type":"text","text":"on"}],"timestamp":9}"#;
    let merged = r#"{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"on"}],"timestamp":9}"#;
    let comparison = compared(&[ASK, call, invented, merged], &[ASK, call, ASK, more], None);
    assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
    assert_eq!(names(&comparison), ["tool-results-paired", "user-turns-merged"]);
    let pair = comparison.repairs.iter().map(|repair| repair.count).collect::<Vec<_>>();
    assert_eq!(pair, [1, 1]);
}

#[test]
fn a_history_limit_and_heartbeats_explain_messages_that_were_left_out() {
    let user = |at: usize| format!(r#"{{"role":"user","content":"turn {at}","timestamp":{at}}}"#);
    let answer = |text: &str, at: usize| {
        format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"timestamp":{at}}}"#)
    };
    let all: Vec<String> = vec![
        user(0),
        answer("a", 1),
        user(2),
        answer("b", 3),
        user(4),
        answer("HEARTBEAT_OK", 5),
        user(6),
        answer("c", 7),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let kept = [all[2], all[3], all[6], all[7]];
    let comparison = compared(&kept, &all, Some([2026, 9, 1]));
    assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
    assert_eq!(names(&comparison), ["heartbeats-dropped", "history-limited"]);
    assert_eq!((comparison.rebuilt, comparison.repaired), (8, 4));
}

#[test]
fn usage_before_a_compaction_is_emptied_and_failed_answers_at_the_end_go() {
    let summary = r#"{"role":"compactionSummary","summary":"s","tokensBefore":9,"timestamp":50}"#;
    let answer = |usage: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"a"}}],"usage":{usage},"timestamp":40}}"#
        )
    };
    let zero = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
    let failed = r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":"400"}"#;
    let comparison = compared(
        &[summary, &answer(zero)],
        &[summary, &answer(r#"{"input":7}"#), failed],
        Some([2026, 6, 11]),
    );
    assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
    assert_eq!(names(&comparison), ["trailing-failed-assistant-dropped", "stale-usage-emptied"]);
}

#[test]
fn a_release_before_the_sanitiser_keeps_delivery_copies() {
    let mirror = r#"{"role":"assistant","provider":"openclaw","model":"delivery-mirror","content":"a"}"#;
    let block = r#"{"role":"assistant","provider":"openclaw","model":"delivery-mirror","content":[{"type":"text","text":"a"}]}"#;
    let old = compared(&[ASK, block], &[ASK, mirror], Some([2026, 4, 22]));
    assert_eq!(
        (old.verdict().as_str(), names(&old)),
        ("equal after repairs", vec!["assistant-text-made-a-block"])
    );
    let new = compared(&[ASK, block], &[ASK, mirror], Some([2026, 6, 11]));
    assert_eq!(new.verdict(), "different");
}

#[test]
fn a_list_sent_without_its_repairs_is_equal_and_says_so() {
    let result = r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"details":1}"#;
    let comparison = compared(&[ASK, result], &[ASK, result], Some([2026, 6, 11]));
    assert_eq!((comparison.verdict().as_str(), comparison.unrepaired), ("equal", true));
}

#[test]
fn the_first_difference_names_both_sides_and_what_only_one_has() {
    let answer = r#"{"role":"assistant","content":[{"type":"text","text":"yes"}]}"#;
    let other = r#"{"role":"assistant","content":[{"type":"text","text":"no, never"}]}"#;
    let late = r#"{"role":"user","content":"late","timestamp":70}"#;
    let lost = r#"{"role":"user","content":"lost","timestamp":80}"#;
    let comparison = compared(&[ASK, answer, lost], &[ASK, other, late], Some([2026, 6, 11]));
    let difference = comparison.difference.clone().unwrap();
    assert_eq!((comparison.verdict().as_str(), difference.position), ("different", 1));
    assert_eq!(difference.paths, ["/content/0/text"]);
    let (recorded, rebuilt) = (difference.recorded.clone().unwrap(), difference.rebuilt.clone().unwrap());
    assert_eq!((recorded.entry, rebuilt.entry), (None, Some(EntryIx(1))));
    assert!(recorded.role == "assistant" && recorded.chars + 6 == rebuilt.chars);
    assert_eq!(
        (difference.only_recorded.clone(), difference.only_rebuilt.clone()),
        (vec![2], vec![EntryIx(2)])
    );
    assert_eq!(Cause::of(&difference, &comparison, false), Cause::Rewritten);
    assert_eq!(Cause::of(&difference, &comparison, true), Cause::ContextEngine);
}

/// A folder with one transcript and one recorded run, whose `data` of `context.compiled` is this.
fn recorded_in(dir: &Path, recording: &Path, data: &str) -> PathBuf {
    let user = crate::inspect::testing::user;
    let path = dir.join("s.jsonl");
    std::fs::write(&path, transcript(&[user("one"), user("two"), user("three")])).unwrap();
    let line = |kind: &str, data: &str| {
        format!(
            r#"{{"traceSchema":"openclaw-trajectory","schemaVersion":1,"traceId":"s","source":"runtime","type":"{kind}","ts":"2026-11-19T13:00:00.000Z","seq":1,"sessionId":"s","runId":"r","data":{data}}}"#
        )
    };
    let lines = [line("session.started", "{}"), line("context.compiled", data)];
    std::fs::write(recording, lines.join("\n") + "\n").unwrap();
    path
}

fn outcome(data: &str) -> RecordedRun {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded_in(dir.path(), &dir.path().join("s.trajectory.jsonl"), data);
    run(&opened(&path, "s", &Environment::default()), 1)
}

#[test]
fn a_list_that_was_dropped_a_leaf_that_is_gone_and_a_run_without_a_list_say_so() {
    assert_eq!(outcome(r#"{"systemPrompt":"s","transcriptLeafId":"e0"}"#).outcome, Outcome::NoList);
    let gone = outcome(r#"{"messages":[],"transcriptLeafId":"nowhere"}"#).outcome;
    assert_eq!(gone, Outcome::NoLeaf("nowhere".to_owned()));
    let before = outcome(r#"{"messages":[],"transcriptLeafId":null}"#).outcome;
    assert!(matches!(before, Outcome::Compared(all) if all.verdict() == "equal"));
    let odd = outcome(r#"{"messages":[null,5,{"role":7}],"transcriptLeafId":"e1","tools":{}}"#);
    assert!(matches!(odd.outcome, Outcome::Compared(all) if all.verdict() == "different"));
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
    assert_eq!(read(&opened(&path, "s", &Environment::default()), 1).unwrap(), RecordedContext::NoRecording);
    assert_eq!(read(&opened(&path, "s", &env(dir.path())), 1).unwrap(), RecordedContext::NoRecording);
    assert_eq!(run(&opened(&path, "s", &env(traces.path())), 1).of, 1);
}
