use super::*;
use crate::units::Chars;
use std::path::PathBuf;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trajectory");

fn transcript(id: &str) -> PathBuf {
    Path::new(FIXTURE).join(format!("agents/main/sessions/{id}.jsonl"))
}

fn expected() -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(Path::new(FIXTURE).join("expected.json")).unwrap()).unwrap()
}

fn context(compiled: &CompiledContext, expected: &serde_json::Value) {
    match compiled {
        CompiledContext::Present(recorded) => {
            assert_eq!(expected["captured"], true);
            assert_eq!(expected["leaf"], serde_json::json!(recorded.leaf_id));
            let list = recorded.messages.as_ref().unwrap();
            assert_eq!(expected["messages_recorded"], list.items.len());
            assert_eq!(expected["messages_at_start"], list.total);
            assert_eq!(expected["system_prompt"]["captured"], recorded.system_prompt.is_some());
            assert_eq!(
                expected["system_prompt"]["chars"],
                serde_json::json!(recorded.system_chars.map(Chars::whole))
            );
            let names: Vec<&str> = recorded.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(expected["tools"], serde_json::json!(names));
            let cut = recorded.tools.iter().filter(|tool| tool.is_cut).map(|tool| &tool.name);
            assert_eq!(expected["tool_schema_cut"], serde_json::json!(cut.collect::<Vec<_>>()));
        }
        CompiledContext::Cut(cut) => {
            assert_eq!(expected["captured"], false);
            assert_eq!(expected["why"], cut.reason);
            assert_eq!(expected["original_bytes"], serde_json::json!(cut.bytes));
            assert_eq!(expected["limit_bytes"], serde_json::json!(cut.limit));
            let recovered = cut.recovered_messages.as_ref().map(|list| list.items.len());
            assert_eq!(expected["recovered_messages"], serde_json::json!(recovered));
        }
        CompiledContext::Missing => panic!("every recorded attempt compiled a context"),
    }
}

#[test]
fn every_attempt_of_the_fixture_reads_as_by_an_independent_reader() {
    let mut attempts = 0;
    for session in expected()["sessions"].as_array().unwrap() {
        let id = session["sessionId"].as_str().unwrap();
        let found = find::find_file(&transcript(id), id, None);
        let RecordingLookup::Found(place) = found else {
            assert_eq!(session["readable"], false);
            let target = session["pointer_target"].as_str().unwrap();
            assert_eq!(found, RecordingLookup::Elsewhere(target.into()));
            continue;
        };
        let recording = Recording::read(&place).unwrap();
        let broken =
            session["broken_lines"].as_array().unwrap().iter().map(|bad| bad["line"].as_u64().unwrap());
        assert_eq!(recording.bad_lines, broken.collect::<Vec<_>>());
        let runs = session["runs"].as_array().unwrap();
        let all = recording.attempts();
        let known: Vec<&RunAttempt> =
            all.iter().filter(|attempt| runs.iter().any(|run| run["run_id"] == *attempt.run_id)).collect();
        assert_eq!(known.len(), runs.len());
        for (attempt, run) in known.iter().zip(runs) {
            let details = recording.read_details(attempt);
            let kinds = attempt.event_indices.iter().map(|at| recording.events[*at].kind.as_str());
            let kinds: Vec<&str> = kinds.filter(|kind| !kind.starts_with("orchard.")).collect();
            assert_eq!(run["events"], serde_json::json!(kinds), "{}", attempt.run_id);
            assert_eq!(run["lines"][0], recording.events[attempt.event_indices[0]].line);
            assert_eq!(run["trigger"], serde_json::json!(details.trigger));
            assert_eq!(run["provider"], serde_json::json!(attempt.provider));
            assert_eq!(run["model"], serde_json::json!(attempt.model));
            assert_eq!(run["gateway_version"], serde_json::json!(details.gateway_version));
            assert_eq!(run["status"], serde_json::json!(details.status));
            assert_eq!(run["prompt_submitted"], details.is_submitted);
            context(&details.compiled, &run["context"]);
            attempts += 1;
        }
    }
    assert_eq!(attempts, 7);
}

#[test]
fn the_recorded_configuration_and_the_report_of_the_prompt_are_read() {
    let path = transcript("a1f00000-1111-4222-8333-444455556666");
    let report =
        last_prompt_report(&Source::open(&path).unwrap(), "a1f00000-1111-4222-8333-444455556666", None)
            .unwrap();
    assert_eq!(report.source, ReportSource::Recorded);
    assert!(report.system_chars > Chars(0.0) && report.tool_schema_chars > Chars(0.0), "{report:?}");
    let RecordingLookup::Found(file) = find::find_file(&path, "a1f00000-1111-4222-8333-444455556666", None)
    else {
        panic!()
    };
    let recording = Recording::read(&file).unwrap();
    let config = recording.read_details(&recording.attempts()[0]).config.unwrap();
    let defaults = config.get("agents").and_then(|agents| agents.get("defaults")).unwrap();
    assert_eq!(defaults.get("contextTokens").and_then(Value::as_f64), Some(120_000.0));
    let pruning = defaults.get("contextPruning").unwrap();
    assert_eq!(cut_reason(pruning.get("softTrim").unwrap()).as_deref(), Some("trajectory-depth-limit"));
}

#[test]
fn an_empty_or_foreign_recording_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let mut file = std::fs::File::create(dir.path().join(name)).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    };
    let transcript = dir.path().join("s.jsonl");
    write("s.trajectory.jsonl", "");
    assert_eq!(find::find_file(&transcript, "s", None), RecordingLookup::Missing);
    let target = dir.path().join("runs.jsonl");
    let pointer = serde_json::json!({ "traceSchema": "openclaw-trajectory-pointer", "schemaVersion": 1,
        "sessionId": "s", "runtimeFile": "/nowhere/runs.jsonl" });
    write("s.trajectory-path.json", &pointer.to_string());
    assert_eq!(
        find::find_file(&transcript, "s", None),
        RecordingLookup::Elsewhere("/nowhere/runs.jsonl".into())
    );
    write(
        "runs.jsonl",
        "{\"traceSchema\":\"openclaw-trajectory\",\"schemaVersion\":1,\"source\":\"runtime\",\"sessionId\":\"other\"}\n",
    );
    assert_eq!(
        find::find_file(&transcript, "s", None),
        RecordingLookup::Elsewhere("/nowhere/runs.jsonl".into())
    );
    write(
        "runs.jsonl",
        "{\"traceSchema\":\"openclaw-trajectory\",\"schemaVersion\":1,\"source\":\"runtime\",\"sessionId\":\"s\"}\nhalf",
    );
    assert_eq!(
        find::find_file(&transcript, "s", None),
        RecordingLookup::Found(RecordingLocation::File(target.clone()))
    );
    let recording = Recording::read(&RecordingLocation::File(target)).unwrap();
    assert_eq!((recording.events.len(), recording.bad_lines), (0, vec![1, 2]));
    assert_eq!(find::find_file(&transcript, "other", None), RecordingLookup::Missing);
}
