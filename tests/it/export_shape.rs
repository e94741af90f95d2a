//! A session with personal words in every place: its shape contains none of them, in any format.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

/// Names of members that entries, messages and blocks have, and one that no program knows.
const MEMBERS: [&str; 46] = [
    "version",
    "firstKeptEntryId",
    "firstKeptEntryIndex",
    "targetId",
    "fromId",
    "provider",
    "modelId",
    "model",
    "api",
    "thinkingLevel",
    "customType",
    "role",
    "toolCallId",
    "toolName",
    "stopReason",
    "usage",
    "isError",
    "mimeType",
    "tokensBefore",
    "display",
    "fromHook",
    "exitCode",
    "appendParentId",
    "appendMode",
    "kind",
    "responseModel",
    "rawStopReason",
    "providerThinkingLevel",
    "durationMs",
    "label",
    "name",
    "summary",
    "details",
    "data",
    "reason",
    "content",
    "errorMessage",
    "zebraUnknown",
    "cwd",
    "status",
    "source",
    "command",
    "arguments",
    "thinkingSignature",
    "title",
    "replacement",
];
const ENTRY_TYPES: [&str; 13] = [
    "message",
    "custom",
    "custom_message",
    "compaction",
    "branch_summary",
    "label",
    "session_info",
    "model_change",
    "thinking_level_change",
    "context_edit",
    "system_message",
    "zebraType",
    "leaf",
];
const CUSTOM_TYPES: [&str; 6] = [
    "openclaw.cache-ttl",
    "model-snapshot",
    "google-turn-ordering-bootstrap",
    "clawscope.commit",
    "clawscope.undo",
    "openclaw:prompt-error",
];

/// Makes unique words, in several kinds of values.
struct Words(usize);

impl Words {
    fn word(&mut self) -> String {
        self.0 += 1;
        format!("zebra{}quagga", self.0)
    }

    fn value(&mut self, kind: usize) -> Value {
        let nested = json!({
            self.word(): self.word(), "type": self.word(), "id": self.word(), "model": [self.word()],
            "kind": {self.word(): self.word()},
        });
        match kind {
            0 => json!(self.word()),
            1 => json!([self.word(), nested]),
            _ => nested,
        }
    }
}

struct Transcript {
    lines: Vec<String>,
    words: Words,
}

impl Transcript {
    fn add(&mut self, mut entry: Map<String, Value>) {
        let at = self.lines.len();
        let parent = if at > 1 { json!(format!("{:08x}", at - 1)) } else { Value::Null };
        for (key, value) in [
            ("id", json!(format!("{at:08x}"))),
            ("parentId", parent),
            ("timestamp", json!("2026-03-05T07:58:01.000Z")),
        ] {
            entry.entry(key).or_insert(value);
        }
        self.lines.push(Value::Object(entry).to_string());
    }

    /// Adds the values of `base` once for each member and kind of value.
    fn add_members(&mut self, base: impl Fn(&mut Words, &str, Value) -> Value) {
        for member in MEMBERS {
            for kind in 0..3 {
                let value = self.words.value(kind);
                if let Value::Object(entry) = base(&mut self.words, member, value) {
                    self.add(entry);
                }
            }
        }
    }
}

fn with(mut object: Value, member: &str, value: Value) -> Value {
    object[member] = value;
    object
}

fn transcript() -> Transcript {
    let mut words = Words(0);
    let header = json!({
        "type": "session", "version": 3, "id": "good", "timestamp": "2026-03-05T07:58:00.000Z",
        "cwd": format!("/home/{}", words.word()), "parentSession": words.word(), words.word(): words.word(),
    });
    let mut made = Transcript { lines: vec![header.to_string()], words };
    for kind in ENTRY_TYPES {
        made.add_members(|words, member, value| {
            let base = match kind {
                "message" => json!({"type": kind, "message": {"role": "user", "content": words.word()}}),
                "compaction" => json!({"type": kind, "summary": words.word(), "firstKeptEntryId": "00000001", "tokensBefore": 5}),
                "custom" => json!({"type": kind, "customType": "openclaw.cache-ttl", "data": {words.word(): words.word()}}),
                _ => json!({"type": kind, "content": words.word()}),
            };
            with(base, member, value)
        });
    }
    for role in ["user", "assistant", "toolResult", "bashExecution", "custom", "system", "zebraRole"] {
        made.add_members(|words, member, value| {
            let content = json!([{"type": "text", "text": words.word()}]);
            let message = json!({"role": role, "content": content, "toolCallId": "c1", "toolName": "exec"});
            json!({"type": "message", "message": with(message, member, value)})
        });
    }
    for block in ["text", "thinking", "toolCall", "image", "toolResult", "zebraBlock", "document"] {
        made.add_members(|words, member, value| {
            let base = json!({"type": block, "text": words.word(), "name": words.word(), "arguments": {words.word(): words.word()}});
            let content = json!([with(base, member, value)]);
            json!({"type": "message", "message": {"role": "assistant", "content": content}})
        });
    }
    for custom in CUSTOM_TYPES {
        made.add_members(|words, member, value| {
            json!({"type": "custom", "customType": custom, "data": with(json!({"title": words.word()}), member, value)})
        });
    }
    let (id, word) = (made.words.word(), made.words.word());
    made.add(
        json!({"type": "message", "id": id, "message": {"role": "user", "content": word}})
            .as_object()
            .unwrap()
            .clone(),
    );
    let (word, other) = (made.words.word(), made.words.word());
    made.lines.push(format!("no JSON but {word}"));
    made.lines.push(format!("{{\"{word}\":\"{other}"));
    made
}

fn row(words: &mut Words) -> Value {
    let mut row = json!({
        "sessionId": "good", "updatedAt": 1_772_700_000_000_i64, words.word(): words.word(),
        "origin": {"label": words.word(), "from": words.word(), "accountId": 4_915_112_345_678_i64},
        "skillsSnapshot": {"prompt": words.word(), "skills": [{"name": words.word(), words.word(): words.word()}]},
        "participants": {words.word(): 1}, "cliSessionIds": {words.word(): words.word()},
        "systemPromptReport": {"workspaceDir": words.word(), "tools": {"entries": [{"name": words.word(), "summaryChars": 3}]}},
    });
    for member in [
        "model",
        "modelProvider",
        "modelOverride",
        "providerOverride",
        "label",
        "displayName",
        "lastChannel",
        "lastTo",
        "groupId",
        "subject",
        "thinkingLevel",
        "sendPolicy",
        "queueMode",
        "chatType",
        "channel",
        "status",
        "kind",
        "previousSessionId",
        "spawnedBy",
        "authProfileOverride",
        "source",
    ] {
        row[member] = json!(words.word());
    }
    row
}

fn settings(words: &mut Words) -> Value {
    json!({
        "agents": {"defaults": {
            "model": {"primary": "anthropic/claude-opus-4-5", "fallbacks": [words.word()]},
            "contextPruning": {"mode": "cache-ttl", "ttl": "45m", "tools": {"allow": [words.word()], "deny": [words.word()]}},
            "compaction": {"mode": words.word(), "customInstructions": words.word(), words.word(): words.word()},
            "workspace": words.word(),
        }},
        "channels": {words.word(): {"historyLimit": 20}, "telegram": {"botToken": words.word(), "dmHistoryLimit": 30}},
        "models": {"providers": {words.word(): {"apiKey": words.word(), "models": [
            {"id": words.word(), "name": words.word(), "contextWindow": 100},
        ]}}},
    })
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn export(store: &Path, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clawscope"));
    command.args(["export", "good", "--shape-only", "--store"]).arg(store).args(words);
    let output =
        command.env_clear().env("HOME", store).current_dir(store).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The words of people in a text.
fn found(text: &str) -> Vec<&str> {
    let words = text.match_indices("zebra").chain(text.match_indices("quagga"));
    let start = |at: usize| text.floor_char_boundary(at.saturating_sub(60));
    words.take(3).map(|(at, _)| &text[start(at)..text.ceil_char_boundary(at + 30).min(text.len())]).collect()
}

#[test]
fn a_shape_contains_no_personal_word_from_any_place() {
    let store = tempfile::tempdir().unwrap();
    let mut made = transcript();
    let sessions = store.path().join("agents/main/sessions");
    write(&sessions.join("good.jsonl"), &(made.lines.join("\n") + "\n"));
    let key = format!("agent:main:telegram:direct:{}", made.words.word());
    write(&sessions.join("sessions.json"), &json!({key: row(&mut made.words)}).to_string());
    write(&store.path().join("openclaw.json"), &settings(&mut made.words).to_string());
    assert!(made.words.0 > 5_000, "{} words", made.words.0);
    for format in ["pi", "json", "md", "html"] {
        let text = export(store.path(), &["--format", format]);
        assert!(text.len() > 100_000, "{format}: {} bytes", text.len());
        assert_eq!(found(&text), [""; 0], "{format}");
    }
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("shape");
    export(store.path(), &["--format", "pi", "--out", &format!("{}/", folder.display())]);
    let files = files_below(&folder);
    assert_eq!(files.len(), 3, "{files:?}");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        assert_eq!((found(&text), found(&name)), (vec![], vec![]), "{name}");
        assert!(!text.contains("4915112345678"), "{name}");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
