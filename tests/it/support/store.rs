//! A gateway's store made by hand, small enough for sums by hand, and the program run on it.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::{Value, json};

/// Chars of each long result.
pub(crate) const RESULT_CHARS: usize = 12_000;
/// Tool results of the long session.
pub(crate) const RESULTS: usize = 6;
/// Tokens that a call with its result adds to the next prompt.
const RESULT_TOKENS: usize = 3_006;
/// Tokens of the last answered prompt of the long session.
pub(crate) const LAST_PROMPT: usize = 100 + RESULTS * RESULT_TOKENS + 8;
/// Time of the last change of the long session, ms.
pub(crate) const TOUCHED_MS: u64 = 1_772_700_000_000;
/// More than an hour later: the ttl of five minutes has passed.
pub(crate) const COLD: &str = "2026-03-05T12:00:00Z";

const IMAGE_ERROR: &str =
    "messages.14.content.0.image.source.base64: image exceeds 5 MB maximum: 7280000 bytes > 5242880 bytes";

/// A store in a temporary folder.
pub(crate) struct Store {
    dir: tempfile::TempDir,
}

impl Store {
    /// One agent with a long session, `agent:main:main`, and a configuration that prunes.
    pub(crate) fn new() -> Self {
        let store = Self { dir: tempfile::tempdir().expect("a folder") };
        store.write(
            "openclaw.json",
            "{ agents: { defaults: {\n contextTokens: 20000,\n contextPruning: { mode: 'cache-ttl', minPrunableToolChars: 1000 } } } }",
        );
        store.write_rows(&json!({ "agent:main:main": { "sessionId": "long-1", "updatedAt": TOUCHED_MS } }));
        store.write("agents/main/sessions/long-1.jsonl", &lines(&long_session()));
        store
    }

    /// Gives the folder away.
    pub(crate) fn into_dir(self) -> tempfile::TempDir {
        self.dir
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.path().join("agents/main/sessions/long-1.jsonl")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        create_dir_all(path.parent().expect("a parent")).expect("folders");
        File::create(path).expect("a file").write_all(text.as_bytes()).expect("written");
    }

    pub(crate) fn write_rows(&self, rows: &Value) {
        self.write("agents/main/sessions/sessions.json", &rows.to_string());
    }

    pub(crate) fn append(&self, line: &Value) {
        let mut file = OpenOptions::new().append(true).open(self.transcript()).expect("the transcript");
        file.write_all(format!("{line}\n").as_bytes()).expect("appended");
    }

    /// Builds the program with this store as the gateway's own.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = program(words);
        command.env("OPENCLAW_STATE_DIR", self.path());
        command
    }

    /// Runs the program and reads the JSON it prints.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.command(words).arg("--json").output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let is_explanation = words.first() == Some(&"explain") && !words.contains(&"--recovery");
        let version = if is_explanation { 2 } else { 1 };
        assert_eq!(answer["schemaVersion"], version, "{words:?}");
        answer
    }

    /// Runs the program and returns exit code, output and errors.
    pub(crate) fn run(&self, words: &[&str]) -> (i32, String, String) {
        run(&mut self.command(words))
    }
}

/// Builds the program in an empty environment.
pub(crate) fn program(words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("clawscope").expect("the program");
    command.env_clear().env("HOME", "/nonexistent/clawscope-test").args(words);
    command
}

/// Runs a command; returns exit code, output and errors.
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("a code"), text(output.stdout), text(output.stderr))
}

pub(crate) fn lines(entries: &[Value]) -> String {
    entries.iter().fold(String::new(), |text, entry| text + &entry.to_string() + "\n")
}

/// A message entry.
pub(crate) fn message(id: &str, parent: Option<&str>, message: &Value) -> Value {
    json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-03-05T08:00:00.000Z", "message": message })
}

/// A question, six calls with long results, three short answers, a touch; a side branch off the question.
pub(crate) fn long_session() -> Vec<Value> {
    let mut entries = vec![
        json!({ "type": "session", "version": 3, "id": "long-1", "timestamp": "2026-03-05T08:00:00.000Z", "cwd": "/w" }),
        message(
            "user-0",
            None,
            &json!({ "role": "user", "content": "why is the build slow?", "timestamp": 1 }),
        ),
        message(
            "side-0",
            Some("user-0"),
            &assistant(2, 100, &json!([{ "type": "text", "text": "another way" }])),
        ),
    ];
    let mut parent = "user-0".to_owned();
    for at in 0..RESULTS {
        let (call, result) = (format!("call-{at}"), format!("result-{at}"));
        let block =
            json!([{ "type": "toolCall", "id": call, "name": "exec", "arguments": { "command": "make" } }]);
        entries.push(message(&call, Some(&parent), &assistant(3 + at, 100 + at * RESULT_TOKENS, &block)));
        let text = "x".repeat(RESULT_CHARS);
        let content = json!({ "role": "toolResult", "toolCallId": call, "toolName": "exec", "isError": false, "timestamp": 1, "content": [{ "type": "text", "text": text }] });
        entries.push(message(&result, Some(&call), &content));
        parent = result;
    }
    for at in 0..3 {
        let id = format!("answer-{at}");
        entries.push(message(
            &id,
            Some(&parent),
            &assistant(
                50 + at,
                LAST_PROMPT - 2 * 4 + at * 4,
                &json!([{ "type": "text", "text": "the linker" }]),
            ),
        ));
        parent = id;
    }
    entries.push(json!({
        "type": "custom", "customType": "openclaw.cache-ttl", "id": "touch-0", "parentId": parent,
        "timestamp": "2026-03-05T08:40:00.000Z", "data": { "timestamp": TOUCHED_MS, "provider": "anthropic", "modelId": "claude-opus-4-5" }
    }));
    entries
}

/// An answer at `time` ms to a prompt of `prompt` tokens.
fn assistant(time: usize, prompt: usize, content: &Value) -> Value {
    json!({
        "role": "assistant", "content": content, "provider": "anthropic", "model": "claude-opus-4-5", "api": "anthropic-messages",
        "stopReason": "stop", "timestamp": time,
        "usage": { "input": prompt, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": prompt + 10 }
    })
}

/// An answer of which only the error came.
pub(crate) fn failed(time: u64, text: &str) -> Value {
    json!({ "role": "assistant", "content": [], "stopReason": "error", "provider": "anthropic", "timestamp": time,
        "model": "claude-opus-4-5", "errorMessage": text })
}

/// The long session, then a request with a large image and as many refusals of it.
pub(crate) fn refused_for_an_image(times: usize) -> Store {
    refused_for_images(times, &[7_280_000], IMAGE_ERROR)
}

/// The same with two small images, which is quick to read.
pub(crate) fn refused_for_two_images(times: usize) -> Store {
    refused_for_images(times, &[900, 900], "400 Too many images in request. Max is 1.")
}

fn refused_for_images(times: usize, sizes: &[usize], error: &str) -> Store {
    let store = Store::new();
    let image = |size: &usize| json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(*size) });
    let mut content = vec![json!({ "type": "text", "text": "what is this?" })];
    content.extend(sizes.iter().map(image));
    store.append(&message("image-0", Some("touch-0"), &json!({ "role": "user", "content": content })));
    let mut parent = "image-0".to_owned();
    for at in 0..times {
        let id = format!("refused-{at}");
        store.append(&message(&id, Some(&parent), &failed(100 + at as u64, error)));
        let again = format!("again-{at}");
        store.append(&message(&again, Some(&id), &json!({ "role": "user", "content": "and now?" })));
        parent = again;
    }
    store.append(&message("refused-9", Some(&parent), &failed(200, error)));
    store
}
