//! The system prompt of a session without a report, estimated from its workspace, through the commands.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::support::store::program;

const TRANSCRIPT: &str = concat!(
    r#"{"type":"session","version":3,"id":"ID","timestamp":"2026-03-05T10:00:00.000Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-05T10:00:01.000Z","message":{"role":"user","content":"hello there","timestamp":1772704801000}}"#,
    "\n"
);

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::File::create(path).expect("a file").write_all(text.as_bytes()).expect("writes");
}

/// A store with a chat and a cron run, neither with a report; `records` are more members of the records.
fn store(records: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = "agents/main/sessions";
    let rows = format!(
        r#"{{"agent:main:main":{{"sessionId":"chat","updatedAt":3}},"agent:main:cron:job":{{"sessionId":"run","updatedAt":2}}{records}}}"#
    );
    write(folder.path(), &format!("{sessions}/sessions.json"), &rows);
    for id in ["chat", "run", "other"] {
        write(folder.path(), &format!("{sessions}/{id}.jsonl"), &TRANSCRIPT.replace("ID", id));
    }
    write(folder.path(), "openclaw.json", r#"{"agents":{"defaults":{"bootstrapMaxChars":1000}}}"#);
    folder
}

fn breakdown(store: &Path, key: &str) -> Value {
    let words = ["context", key, "--breakdown", "--json", "--store", store.to_str().expect("text")];
    let output = program(&words).output().expect("it runs");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn file<'a>(breakdown: &'a Value, name: &str) -> Option<&'a Value> {
    breakdown["files"]["items"].as_array()?.iter().find(|file| file["name"] == name)
}

#[test]
fn without_a_workspace_there_is_no_estimate() {
    let folder = store("");
    let found = breakdown(folder.path(), "agent:main:main");
    assert!(found["report"].is_null() && found["system"].is_null(), "{found}");
    assert_eq!(found["budget"]["system"], 0);
}

#[test]
fn files_of_the_workspace_are_counted_as_the_gateway_would_send_them() {
    let folder = store("");
    write(folder.path(), "workspace/AGENTS.md", &"a".repeat(400));
    write(folder.path(), "workspace/SOUL.md", &format!("{}\n\n", "s".repeat(5_000)));
    write(folder.path(), "workspace/HEARTBEAT.md", "beat");
    let found = breakdown(folder.path(), "agent:main:main");
    assert_eq!(found["report"]["source"], "workspace");
    assert_eq!(file(&found, "AGENTS.md").expect("a file")["injectedChars"], 400);
    let cut = file(&found, "SOUL.md").expect("a file");
    assert_eq!(
        (&cut["rawChars"], &cut["injectedChars"], &cut["status"]),
        (&5_000.into(), &900.into(), &"truncated".into())
    );
    assert_eq!(file(&found, "TOOLS.md").expect("announced")["status"], "missing");
    assert!(file(&found, "MEMORY.md").is_none(), "nothing is said of a missing memory");
    assert!(found["budget"]["files"].as_u64().expect("tokens") > 325);
    assert_eq!(found["budget"]["system"], 0, "no session tells the rest");
    let run = breakdown(folder.path(), "agent:main:cron:job");
    assert!(file(&run, "HEARTBEAT.md").is_none() && file(&run, "AGENTS.md").is_some());
}

#[test]
fn the_rest_is_that_of_the_newest_run_of_the_agent() {
    let report = |chars: u64| {
        format!(
            r#"{{"source":"run","systemPrompt":{{"chars":{},"projectContextChars":2000}},"injectedWorkspaceFiles":[],"skills":{{"promptChars":300,"entries":[]}},"tools":{{"listChars":100,"schemaChars":4000,"entries":[{{"name":"exec","schemaChars":4000}}]}}}}"#,
            chars + 2_000
        )
    };
    let records = format!(
        r#","agent:main:telegram:direct:1":{{"sessionId":"other","updatedAt":9,"systemPromptReport":{}}},"agent:main:telegram:direct:2":{{"sessionId":"gone","updatedAt":5,"systemPromptReport":{}}}"#,
        report(8_000),
        report(500)
    );
    let folder = store(&records);
    write(folder.path(), "workspace/AGENTS.md", "be brief");
    let found = breakdown(folder.path(), "agent:main:main");
    assert_eq!(found["report"]["source"], "workspace");
    assert_eq!((&found["budget"]["system"], &found["budget"]["tools"]), (&2_000.into(), &1_000.into()));
    let own = breakdown(folder.path(), "agent:main:telegram:direct:1");
    assert_eq!(own["report"]["source"], "run", "its own report is kept");
    let path = folder.path().to_str().expect("text");
    let text =
        program(&["context", "agent:main:main", "--breakdown", "--store", path]).output().expect("it runs");
    let text = String::from_utf8(text.stdout).expect("UTF-8");
    assert!(text.contains("estimated: no report stored"), "{text}");
    let list = program(&["sessions", "--json", "--store", path]).output().expect("it runs");
    let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    let row = list["sessions"].as_array().expect("rows").iter().find(|row| row["key"] == "agent:main:main");
    assert_eq!(
        row.expect("the row")["tokens"]["value"],
        found["budget"]["total"],
        "the list counts the same"
    );
}

#[test]
fn a_shape_keeps_the_fixed_prompt() {
    let folder = store("");
    write(folder.path(), "workspace/AGENTS.md", &"secret ".repeat(100));
    let shape = folder.path().join("shape");
    let (path, out) = (folder.path().to_str().expect("text"), format!("{}/", shape.display()));
    for (store, key) in [(path, "agent:main:main"), ("demo", "agent:main:telegram:direct:8812")] {
        _ = std::fs::remove_dir_all(&shape);
        let place: &[&str] = if store == "demo" { &["--demo"] } else { &["--store", store] };
        let words = [&["export", key, "--format", "pi", "--shape-only", "--out", &out], place].concat();
        let output = program(&words).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let words = [&["context", key, "--breakdown", "--json"], place].concat();
        let own: Value =
            serde_json::from_slice(&program(&words).output().expect("it runs").stdout).expect("JSON");
        let list = program(&["sessions", "--json", "--store", &out]).output().expect("it runs");
        let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
        let shaped = breakdown(&shape, list["sessions"][0]["key"].as_str().expect("a key"));
        assert!(own["budget"]["files"].as_u64().expect("tokens") > 100);
        assert_eq!(shaped["budget"], own["budget"], "{key}");
        let rows = std::fs::read_to_string(shape.join("agents/main/sessions/sessions.json")).expect("rows");
        assert!(rows.contains("systemPromptReport") && !rows.contains("secret"), "{rows}");
    }
}
