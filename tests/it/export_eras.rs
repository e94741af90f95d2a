//! Exports of every era: of sessions in a database and of today's pi as of files, in every form, without their secrets; and
//! folders of shapes that open as the store they were taken from.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::secrets::samples;
use crate::support::store::{lines, message, program, run};

const FORMATS: [&str; 4] = ["html", "md", "json", "pi"];

/// A store of one era, and its session that holds every secret.
struct Era {
    name: &'static str,
    folder: TempDir,
    key: String,
}

impl Era {
    fn all() -> [Self; 3] {
        [files(), database(), pi_of_today()]
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        run(&mut program(&[words, &["--store", self.folder.path().to_str().unwrap()]].concat()))
    }

    fn export(&self, words: &[&str]) -> String {
        let (code, out, error) = self.run(&[&["export", &self.key], words].concat());
        assert_eq!(code, 0, "{} {words:?}: {error}", self.name);
        out
    }

    fn context(&self) -> Value {
        let (code, out, error) = self.run(&["context", &self.key, "--json"]);
        assert_eq!(code, 0, "{}: {error}", self.name);
        serde_json::from_str(&out).unwrap()
    }
}

/// Messages with every secret, chained to a parent: question, call and tool result in turn.
fn leaky(parent: &str) -> Vec<Value> {
    let mut parent = parent.to_owned();
    let mut entries = Vec::new();
    for (at, sample) in samples().iter().enumerate() {
        let (id, text) = (format!("{at:08x}"), &sample.text);
        let inner = json!({ "body": json!({ "line": text }).to_string() }).to_string();
        let body = match at % 3 {
            0 => json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1 }),
            1 => json!({ "role": "assistant", "stopReason": "toolUse", "timestamp": 1, "content": [
                { "type": "toolCall", "id": format!("call-{at}"), "name": "exec", "arguments": { "command": inner } }] }),
            _ => {
                json!({ "role": "toolResult", "toolCallId": format!("call-{}", at - 1), "toolName": "exec", "isError": false,
                "timestamp": 1, "content": [{ "type": "text", "text": text }], "details": { "output": inner } })
            }
        };
        entries.push(message(&id, Some(&parent), &body));
        parent = id;
    }
    entries
}

fn put(folder: &Path, path: &str, text: &str) -> PathBuf {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    path
}

const QUESTION: &str = "u0000001";

fn question() -> Value {
    message(QUESTION, None, &json!({ "role": "user", "content": "what is in it?", "timestamp": 1 }))
}

fn header(id: &str) -> Value {
    json!({ "type": "session", "version": 3, "id": id, "timestamp": "2026-03-05T08:00:00.000Z", "cwd": "/w" })
}

fn files() -> Era {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        "openclaw.json",
        "{ agents: { defaults: { contextTokens: 64000, contextPruning: { mode: 'cache-ttl', ttl: '9m', hardClear: { placeholder: 'gone from Oslo' } } } } }",
    );
    let row = json!({ "agent:main:telegram:direct:88120042": { "sessionId": "s-1", "updatedAt": 1_772_700_000_000_u64,
        "totalTokens": 4321, "compactionCount": 2, "model": "claude-opus-4-5", "modelProvider": "anthropic",
        "chatType": "direct", "displayName": "Ingrid from Oslo", "origin": { "label": "Ingrid", "to": "+4722000000" } } });
    put(folder.path(), "agents/main/sessions/sessions.json", &row.to_string());
    let entries = [vec![header("s-1"), question()], leaky(QUESTION)].concat();
    put(folder.path(), "agents/main/sessions/s-1.jsonl", &lines(&entries));
    Era { name: "files", folder, key: "agent:main:telegram:direct:88120042".into() }
}

/// The real database, with entries after those it has.
fn database() -> Era {
    let folder = tempfile::tempdir().unwrap();
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-2026.9.6/openclaw-agent.sqlite");
    let path = put(folder.path(), "agents/main/agent/openclaw-agent.sqlite", "");
    fs::copy(fixture, &path).unwrap();
    let database = Connection::open(path).unwrap();
    let session = "11111111-1111-4111-8111-111111111111";
    let ask = "SELECT max(seq) FROM transcript_events WHERE session_id = ?1";
    let last: i64 = database.query_row(ask, [session], |row| row.get(0)).unwrap();
    let entries = leaky("7909aadd-717e-446f-827b-fdaecf957488");
    for (seq, entry) in (last + 1..).zip(&entries) {
        let add =
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?1, ?2, ?3, ?4)";
        database
            .execute(add, rusqlite::params![session, seq, entry.to_string(), 1_795_175_300_000_i64])
            .unwrap();
    }
    Era { name: "database", folder, key: "agent:main:main".into() }
}

fn pi_of_today() -> Era {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        "settings.json",
        r#"{"compaction":{"reserveTokens":9000,"keepRecentTokens":3000},"theme":"Ingrid's"}"#,
    );
    let system = json!({ "role": "system", "content": "", "sections": { "preamble": "You are helpful." }, "timestamp": 1,
        "toolsAdded": [{ "name": "exec", "description": "runs", "parameters": {} }] });
    let system = message("p0000001", None, &system);
    let mut question = question();
    question["parentId"] = json!("p0000001");
    let edited = json!({ "type": "context_edit", "id": "e0000001", "parentId": format!("{:08x}", samples().len() - 1),
        "timestamp": "2026-03-05T09:00:00.000Z", "targetId": QUESTION,
        "replacement": { "content": [{ "type": "text", "text": format!("instead {}", samples()[0].text) }] } });
    let id = "019aa7d3-6ec4-7297-ad11-de2f9c053cb9";
    let entries = [vec![header(id), system, question], leaky(QUESTION), vec![edited]].concat();
    let name = format!("sessions/--w--/2026-03-05T08-00-00-000Z_{id}.jsonl");
    put(folder.path(), &name, &lines(&entries));
    Era { name: "today's pi", folder, key: format!("pi:{id}") }
}

#[test]
fn no_form_of_any_era_lets_a_secret_out() {
    for era in Era::all() {
        for format in FORMATS {
            let what = format!("{} {format}", era.name);
            let text = era.export(&["--format", format]);
            for sample in samples() {
                assert!(!text.contains(&sample.secret), "{what}: {}", sample.name);
            }
            assert!(text.contains("[redacted:anthropic-key:1]") || format == "md", "{what}");
            let text = era.export(&["--format", format, "--no-redact"]);
            let missing = samples().into_iter().find(|sample| !text.contains(&sample.secret));
            assert!(missing.is_none(), "{what}: {} is not there", missing.unwrap().name);
            let text = era.export(&["--format", format, "--shape-only"]);
            assert!(samples().iter().all(|sample| !text.contains(&sample.secret)), "{what}, its shape");
        }
        let picture = era.export(&["--format", "svg", "--size", "160x60"]);
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "{}: {picture}", era.name);
        assert!(samples().iter().all(|sample| !picture.contains(&sample.secret)), "{}", era.name);
    }
}

#[test]
fn an_exported_transcript_of_any_era_is_sent_as_the_session_is() {
    for era in Era::all() {
        let file = era
            .folder
            .path()
            .join("../exported.jsonl")
            .with_file_name(format!("{}.jsonl", era.folder.path().file_name().unwrap().to_string_lossy()));
        era.export(&["--format", "pi", "--no-redact", "--out", file.to_str().unwrap()]);
        let (code, out, error) = run(&mut program(&["context", file.to_str().unwrap(), "--json"]));
        fs::remove_file(&file).unwrap();
        assert_eq!(code, 0, "{}: {error}", era.name);
        let reported: Value = serde_json::from_str(&out).unwrap();
        let own = era.context();
        let roles = |context: &Value| -> Vec<Value> {
            context["messages"].as_array().unwrap().iter().map(|it| it["role"].clone()).collect()
        };
        assert_eq!(roles(&reported), roles(&own), "{}", era.name);
        assert_eq!(reported["messageTokens"], own["messageTokens"], "{}", era.name);
    }
}

/// Returns the counts and estimates that a fault report needs.
fn numbers(context: &Value) -> Value {
    let keys = [
        "messageTokens",
        "sessionTokens",
        "estimate",
        "window",
        "budget",
        "memoryFlush",
        "provider",
        "model",
    ];
    let own = keys.map(|key| (key.to_owned(), context[key].clone()));
    own.into_iter().chain([("ruleset".to_owned(), context["ruleset"]["id"].clone())]).collect()
}

#[test]
fn a_folder_of_shapes_opens_as_the_store_it_was_taken_from() {
    for era in Era::all() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("shape");
        let out = format!("{}/", folder.display());
        era.export(&["--format", "pi", "--shape-only", "--out", &out]);
        let (code, out, error) = run(&mut program(&["sessions", folder.to_str().unwrap(), "--json"]));
        assert_eq!(code, 0, "{}: {error}", era.name);
        let listed: Value = serde_json::from_str(&out).unwrap();
        let [session] = listed["sessions"].as_array().unwrap().as_slice() else {
            panic!("{}: {out}", era.name)
        };
        assert_eq!(listed["findings"], json!([]), "{}", era.name);
        let key = session["key"].as_str().unwrap();
        let (code, out, error) =
            run(&mut program(&["context", key, "--store", folder.to_str().unwrap(), "--json"]));
        assert_eq!(code, 0, "{}: {error}", era.name);
        let reported: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(numbers(&reported), numbers(&era.context()), "{}", era.name);
        let settings = |store: &Path, key: &str| -> Value {
            let place = store.to_str().unwrap();
            let (code, out, error) =
                run(&mut program(&["simulate", key, "--store", place, "--policy", "gateway", "--json"]));
            assert_eq!(code, 0, "{}: {error}", era.name);
            let mut steps = serde_json::from_str::<Value>(&out).unwrap()["steps"].take();
            // The files have other names, and a placeholder is a text.
            for step in steps.as_array_mut().unwrap() {
                for (_, setting) in step["settings"].as_object_mut().unwrap() {
                    let setting = setting.as_object_mut().unwrap();
                    setting.retain(|key, _| key == "value");
                }
            }
            steps
        };
        assert_eq!(settings(&folder, key), settings(era.folder.path(), &era.key), "{}", era.name);
        for word in ["Ingrid", "Oslo", "88120042", "4722000000"] {
            let files = walk(&folder);
            assert!(
                !files.is_empty()
                    && files.iter().all(|path| !fs::read_to_string(path).unwrap().contains(word)),
                "{word}"
            );
        }
        // An existing file is not overwritten.
        let (code, _, error) = era.run(&[
            "export",
            &era.key,
            "--format",
            "pi",
            "--shape-only",
            "--out",
            folder.to_str().unwrap(),
        ]);
        assert!(code != 0 && error.contains("is not empty"), "{error}");
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    items.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
