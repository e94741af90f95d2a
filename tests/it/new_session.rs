//! Commits on gateways with a database: a new session, staged, imported by `openclaw` and read back. The real programs
//! prove that it works; a stand-in shows what happens when an import fails.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::fixture::{database_of, main_of, put, state_2026_8_1};
use crate::support::real_import::RealImport;

/// A store with a database, a folder for staged sessions, and one for programs.
struct Gateway {
    state: TempDir,
    beside: TempDir,
}

impl Gateway {
    fn new(state: TempDir) -> Self {
        Self { state, beside: tempfile::tempdir().expect("a folder") }
    }

    fn bin(&self) -> PathBuf {
        self.beside.path().join("bin")
    }

    /// Puts a script in the place of `openclaw`, which notes how it is called.
    fn stand_in(&self, script: &str) {
        let calls = self.beside.path().join("calls");
        put(
            &self.bin().join("openclaw"),
            format!("#!/bin/sh\necho \"$@\" >> '{}'\n{script}\n", calls.display()),
        );
        let path = self.bin().join("openclaw");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is a program");
    }

    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.beside.path().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clawscope"));
        command.env_clear().env("HOME", self.beside.path());
        command.env("XDG_STATE_HOME", self.beside.path().join("xdg"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.bin().display()));
        let output = command.args(words).arg("--store").arg(self.state.path()).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (output.status.code().expect("a code"), text(output.stdout), text(output.stderr))
    }

    fn json(&self, words: &[&str]) -> Value {
        let (code, out, error) = self.run(&[words, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{words:?} {code}: {error}{out}"))
    }

    /// The messages of the next call, without their place in the store.
    fn messages(&self, session: &str) -> Vec<Value> {
        let context = self.json(&["context", session, "--messages"]);
        let messages = context["messages"].as_array().expect("messages");
        messages.iter().map(|item| item["message"].clone()).collect()
    }

    /// Keys of sessions that are not put away.
    fn keys(&self) -> Vec<String> {
        let listed = self.json(&["sessions"]);
        let sessions = listed["sessions"].as_array().expect("sessions");
        sessions.iter().map(|item| item["key"].as_str().expect("a key").to_owned()).collect()
    }
}

/// A limit for tool results, under the name that these releases read.
const LIMIT: &str = "contextLimits.toolResultMaxChars=2000";
/// Few messages are kept by a compaction.
const KEEP: &str = "compaction.keepRecentTokens=1000";
/// Pruning switched on; the thresholds of these releases are built in.
const PRUNING: &str = "contextPruning.mode=cache-ttl";
const MAIN: &str = "agent:main:main";

/// Continue without the first message after the reset, which every release stores the same way.
const DROP: [&str; 4] = ["commit", MAIN, "--drop", "cc7d40c3-d313-406a-9edc-7708e46561ff"];

fn apply(more: &[&'static str]) -> Vec<&'static str> {
    DROP.into_iter().chain(["--apply"]).chain(more.iter().copied()).collect()
}

/// A transcript with `turns` tool results of `chars`, and its row.
fn file_store(turns: usize, chars: usize) -> TempDir {
    let state = tempfile::tempdir().expect("a folder");
    let id = "0a000000-0000-4000-8000-000000000001";
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-11-01T10:00:00.000Z", "cwd": "/w"}),
    ];
    let mut parent = Value::Null;
    let mut add = |message: Value| {
        let entry = format!("{:08x}", lines.len());
        let at = format!("2026-11-01T10:{:02}:00.000Z", lines.len());
        lines.push(
            json!({"type": "message", "id": entry, "parentId": parent, "timestamp": at, "message": message}),
        );
        parent = json!(entry);
    };
    for turn in 0..turns {
        let call = format!("call_{turn}");
        let usage = json!({"input": 900, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 909,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
        let answer = |content: Value, stop: &str| {
            json!({"role": "assistant", "content": content, "api": "openai-completions", "provider": "mock",
                "model": "mock-1", "usage": usage, "stopReason": stop, "timestamp": 1_793_527_200_000_u64})
        };
        let calls =
            json!([{"type": "toolCall", "id": call, "name": "read", "arguments": {"path": "notes.md"}}]);
        add(json!({"role": "user", "content": format!("turn {turn}"), "timestamp": 1_793_527_200_000_u64}));
        add(answer(calls, "toolUse"));
        let text = format!("{turn} grüße ").repeat(chars / 9);
        add(json!({"role": "toolResult", "toolCallId": call, "toolName": "read", "isError": false,
            "content": [{"type": "text", "text": text}], "timestamp": 1_793_527_200_000_u64}));
        add(answer(json!([{"type": "text", "text": format!("done {turn}")}]), "stop"));
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = lines.join("\n") + "\n";
    let sessions = main_of(state.path()).join("sessions");
    put(&sessions.join(format!("{id}.jsonl")), text);
    let row = json!({MAIN: {"sessionId": id, "updatedAt": 1_793_527_200_000_u64, "thinkingLevel": "low"}});
    put(&sessions.join("sessions.json"), row.to_string());
    put(&state.path().join("openclaw.json"), "{}\n");
    state
}

#[test]
fn plans_become_sessions_of_the_real_gateways_and_the_old_one_stays() {
    for version in ["2026.8.1", "2026.9.6"] {
        let Some(real) = RealImport::find(version) else { continue };
        let gateway = Gateway::new(file_store(6, 12_000));
        let reported = real.run(gateway.state.path());
        real.install(&gateway.bin(), gateway.beside.path());
        let old = gateway.messages(MAIN);
        assert_eq!(old.len(), 24, "{version}: {reported}");
        let plan = ["commit", MAIN, "--window", "20000", "--policy", "prune", "--set", PRUNING];
        let written = gateway.json(&[&plan[..], &["--apply", "--run"]].concat());
        let import = &written["import"];
        assert_eq!(
            (&written["way"], &import["imported"]),
            (&json!("new_session"), &json!(true)),
            "{written:#}"
        );
        assert_eq!((&import["messages"], &import["title"]), (&json!(24), &json!("main pruned")));
        let key = import["key"].as_str().expect("a key");
        let new = gateway.messages(key);
        let chars =
            |messages: &[Value]| messages.iter().map(|message| message.to_string().len()).sum::<usize>();
        assert!(
            new.len() == 24 && chars(&new) < chars(&old) / 2,
            "{version}: {} of {}",
            chars(&new),
            chars(&old)
        );
        assert_eq!(gateway.messages(MAIN), old, "{version}");
        let listed = gateway.json(&["sessions"]);
        let item = listed["sessions"].as_array().and_then(|all| all.iter().find(|item| item["key"] == key));
        let item = item.expect("it is listed");
        assert_eq!(item["parent"], MAIN, "{version}");
        assert_eq!(item["usage"]["calls"], 0, "{version}: its calls are those of the old session");
        // A new session is committed to like any other.
        let words = ["commit", key, "--policy", "compact", "--with", "extractive", "--set", KEEP];
        let again = gateway.json(&[&words[..], &["--apply", "--run"]].concat());
        assert_eq!(again["import"]["title"], "main pruned compacted", "{again:#}");
        let compacted = gateway.messages(again["import"]["key"].as_str().expect("a key"));
        assert_eq!(compacted[0]["role"], "compactionSummary", "{version}: {compacted:#?}");
        assert!(compacted.len() < 24, "{version}: {}", compacted.len());
        let (code, _, error) = gateway.run(&["undo", key, "--apply"]);
        assert!(
            code == 4 && error.contains("copied this session from agent:main:main"),
            "{version}: {error}"
        );
        assert_eq!(gateway.keys().iter().filter(|key| key.contains(":dashboard:")).count(), 2, "{version}");
    }
}

#[test]
fn the_lines_of_a_staged_session_import_it() {
    let Some(real) = RealImport::find("2026.8.1") else { return };
    let gateway = Gateway::new(state_2026_8_1());
    put(&gateway.state.path().join("openclaw.json"), "{}\n");
    real.install(&gateway.bin(), gateway.beside.path());
    let staged = gateway.json(&apply(&[]));
    assert_eq!(staged["import"]["imported"], json!(false), "{staged:#}");
    let folder = staged["import"]["folder"].as_str().expect("a folder");
    // The service of a gateway is none of a test's business: only the lines between stop and start.
    let script = fs::read_to_string(PathBuf::from(folder).join("import.sh")).expect("the lines");
    let lines: Vec<&str> = script.lines().collect();
    assert!(
        lines[0].ends_with(" openclaw gateway stop") && lines[5].ends_with(" openclaw gateway start"),
        "{script}"
    );
    let mut shell = Command::new("sh");
    shell.env("PATH", format!("{}:/usr/bin:/bin", gateway.bin().display()));
    let ended = shell.args(["-c", &lines[1..5].join("\n")]).output().expect("a shell");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let key = staged["import"]["key"].as_str().expect("a key");
    assert!(gateway.keys().iter().any(|own| own == key), "{key}");
    assert_eq!(gateway.messages(key).len() + 1, gateway.messages(MAIN).len());
}

#[test]
fn a_staged_session_is_private_and_the_database_is_untouched() {
    let gateway = Gateway::new(state_2026_8_1());
    let before = fs::read(database_of(gateway.state.path())).expect("a database");
    let (code, shown, _) = gateway.run(&DROP);
    assert!(code == 0 && shown.contains("as the new session \"Demo main shortened\""), "{shown}");
    assert!(!gateway.beside.path().join("xdg").exists(), "a dry run writes nothing");
    let (code, shown, error) = gateway.run(&apply(&[]));
    assert_eq!(code, 0, "{error}");
    for line in
        ["gateway stop", "cp -n", "--session-sqlite import", "--session-sqlite validate", "gateway start"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let staged = gateway.beside.path().join("xdg/clawscope/commits");
    let folder = fs::read_dir(staged).expect("staged").next().expect("one").expect("readable").path();
    let sessions = folder.join("agents/main/sessions");
    for item in fs::read_dir(&sessions).expect("a folder") {
        let mode = item.expect("an item").metadata().expect("its mode").permissions().mode();
        assert_eq!(mode & 0o077, 0, "only its owner reads it");
    }
    assert_eq!(fs::read(database_of(gateway.state.path())).expect("a database"), before);
    let (_, _, error) = gateway.run(&["undo", MAIN, "--apply"]);
    assert!(error.contains("nothing was written to this session"), "{error}");
}

#[test]
fn failures_of_the_import_leave_nothing_behind_and_say_what_to_do() {
    let gateway = Gateway::new(state_2026_8_1());
    let run = apply(&["--run"]);
    let (code, _, error) = gateway.run(&run);
    assert!(code == 4 && error.contains("found no `openclaw` in PATH"), "{error}");
    gateway.stand_in("echo 'disk is full' >&2; exit 1");
    let (code, _, error) = gateway.run(&run);
    assert!(code == 3 && error.contains("import") && error.contains("disk is full"), "{code} {error}");
    assert_eq!(gateway.calls(), ["doctor --session-sqlite import --session-sqlite-agent main"]);
    let sessions = main_of(gateway.state.path()).join("sessions");
    let left = || fs::read_dir(&sessions).into_iter().flatten().flatten();
    assert!(
        left().all(|item| !item.file_name().to_string_lossy().ends_with(".jsonl")),
        "the copies are gone"
    );
    gateway.stand_in("exit 0");
    let (code, _, error) = gateway.run(&run);
    assert!(code == 3 && error.contains("differs from the promise"), "{code} {error}");
    let (code, _, error) = gateway.run(&run);
    assert!(code == 4 && error.contains("has not taken this file in yet"), "{code} {error}");
}

#[test]
fn a_gateway_that_runs_is_noticed_stopped_and_started_again() {
    let gateway = Gateway::new(state_2026_8_1());
    let database = database_of(gateway.state.path());
    let pid = gateway.beside.path().join("pid");
    let mut holder = Command::new("sh");
    // The exec leaves one process with the database open for writing, as a gateway is.
    holder.args(["-c", "exec 3<>\"$0\"; echo $$ > \"$1\"; exec sleep 600"]).arg(&database).arg(&pid);
    let mut holder = holder.spawn().expect("a process");
    while !fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
        std::thread::yield_now();
    }
    let shown = gateway.run(&DROP).1;
    assert!(shown.contains("the gateway runs (process"), "{shown}");
    gateway.stand_in("case \"$*\" in 'gateway stop'*) exit 1;; esac");
    let (code, _, error) = gateway.run(&apply(&["--run"]));
    assert!(code == 4 && error.contains("Stop the gateway where you started it"), "{code} {error}");
    assert_eq!(gateway.calls(), ["gateway stop --force"], "nothing was imported");
    gateway.stand_in(&format!(
        "case \"$*\" in 'gateway stop'*) kill $(cat '{}');; *import*) exit 1;; esac",
        pid.display()
    ));
    let reaper = std::thread::spawn(move || holder.wait());
    let (code, _, error) = gateway.run(&apply(&["--run"]));
    assert!(code == 3 && error.contains("import"), "{code} {error}");
    let calls = gateway.calls();
    assert_eq!(calls[1], "gateway stop --force");
    assert_eq!(calls.last().map(String::as_str), Some("gateway start"), "also after a failure: {calls:?}");
    reaper.join().expect("it ends").expect("it is collected");
}

#[test]
fn run_is_refused_for_a_session_in_a_file() {
    let gateway = Gateway::new(file_store(2, 6000));
    let plan = ["commit", MAIN, "--policy", "truncate", "--set", LIMIT, "--apply", "--run"];
    let (code, _, error) = gateway.run(&plan);
    assert!(code == 2 && error.contains("leave --run out"), "{code} {error}");
}

#[test]
fn a_summary_may_begin_inside_the_part_that_a_compaction_kept() {
    let state = file_store(6, 12_000);
    let path = main_of(state.path()).join("sessions/0a000000-0000-4000-8000-000000000001.jsonl");
    let mut text = fs::read_to_string(&path).expect("a transcript");
    let compaction = json!({"type": "compaction", "id": "c0000001", "parentId": "00000018", "summary": "earlier",
        "timestamp": "2026-11-01T11:00:00.000Z", "firstKeptEntryId": "00000005", "tokensBefore": 9000});
    let next = json!({"type": "message", "id": "c0000002", "parentId": "c0000001", "timestamp": "2026-11-01T11:01:00.000Z",
        "message": {"role": "user", "content": "next", "timestamp": 1_793_530_860_000_u64}});
    text.extend([compaction, next].map(|entry| entry.to_string() + "\n"));
    put(&path, text);
    let gateway = Gateway::new(state);
    let words = [
        "commit",
        MAIN,
        "--ruleset",
        "2026.9.6",
        "--policy",
        "compact",
        "--with",
        "extractive",
        "--set",
        KEEP,
    ];
    let (code, shown, error) = gateway.run(&words);
    assert!(code == 0 && shown.contains("extractive summary"), "{code} {error}{shown}");
}
