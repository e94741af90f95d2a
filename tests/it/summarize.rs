//! `clawscope simulate --summary` as a person uses it: offline or by a program; no write, and a report.

#[cfg(unix)]
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::thread;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::support::process;
use crate::support::store::{Store, message, run};

/// The long session under a configuration that compacts it: the newest 4 000 tokens are kept.
fn store() -> Store {
    let store = Store::new();
    store.write(
        "openclaw.json",
        "{ agents: { defaults: { contextTokens: 20000, compaction: { keepRecentTokens: 4000 } } } }",
    );
    // A second turn, so that the first one is history and not the beginning of a split turn.
    let long = json!({ "role": "user", "content": "and the tests? ".repeat(1500), "timestamp": 2 });
    store.append(&message("user-1", Some("answer-2"), &long));
    store
}

/// A folder of settings with this table.
fn settings(table: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clawscope/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(path).unwrap().write_all(format!("[summarizer]\n{table}\n").as_bytes()).unwrap();
    folder
}

/// Builds the program on the store with these settings and a `PATH`.
fn command(store: &Store, settings: &Path, words: &[&str]) -> Command {
    let mut command = store.command(words);
    command.env("XDG_CONFIG_HOME", settings).env("PATH", std::env::var_os("PATH").unwrap());
    command
}

fn bytes(store: &Store) -> Vec<u8> {
    fs::read(store.transcript()).unwrap()
}

#[test]
fn the_default_summary_is_offline_complete_and_not_written() {
    let store = store();
    let before = bytes(&store);
    let answer = store.json(&["simulate", "--summary", "agent:main:main"]);
    assert_eq!(bytes(&store), before);
    assert_eq!((&answer["summarizer"], &answer["mode"]), (&json!("extractive"), &json!("safeguard")));
    let summary = answer["summary"].as_str().unwrap();
    assert!(summary.starts_with("## Goal\n- why is the build slow?"), "{summary}");
    assert!(summary.contains("exec: ") && summary.contains("no model was used."), "{summary}");
    assert_eq!(answer["summaryTokens"], summary.encode_utf16().count().div_ceil(4));
    assert!(answer["calls"][0]["inputTokens"].as_u64().unwrap() > 0, "{}", answer["calls"]);
    let gateway = &answer["gateway"];
    assert!(
        gateway["inputTokens"].as_u64().unwrap() > 10_000 && gateway["costUsd"].as_f64().unwrap() > 0.0,
        "{gateway}"
    );
    assert_eq!(
        store.json(&["simulate", "--summary", "agent:main:main"])["summary"],
        answer["summary"],
        "the same again"
    );
}

#[test]
fn the_summary_goes_to_stdout_and_its_details_to_stderr() {
    let (code, out, err) = store().run(&["simulate", "--summary", "agent:main:main"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("## Goal\n") && !out.contains("nothing was written"), "{out}");
    assert!(err.contains("extractive · ") && err.contains("nothing was written"), "{err}");
    assert!(err.contains("the gateway (mode safeguard) would make 8 calls"), "{err}");
}

#[test]
fn the_calls_option_lists_calls_without_making_one() {
    let (store, settings) = (store(), settings("kind = \"command\"\ncommand = [\"false\"]"));
    let (code, out, err) =
        run(&mut command(&store, settings.path(), &["simulate", "--summary", "agent:main:main", "--calls"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("history") && out.contains("assumes that every call succeeds"), "{out}");
    let words = ["simulate", "--summary", "agent:main:main", "--calls", "--json"];
    let answer: Value =
        serde_json::from_slice(&command(&store, settings.path(), &words).output().unwrap().stdout).unwrap();
    assert!(answer.get("summary").is_none());
    let sum: u64 = answer["gateway"]["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["inputTokens"].as_u64().unwrap())
        .sum();
    assert_eq!(answer["gateway"]["inputTokens"], sum);
}

#[test]
fn a_session_that_cannot_be_summarised_names_the_reason() {
    // The whole session is kept: nothing is before the cut.
    let (code, out, err) = Store::new().run(&["simulate", "--summary", "agent:main:main"]);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(err.contains("compaction 5.1"), "{err}");
    let store = store();
    store.append(&json!({ "type": "compaction", "id": "c", "parentId": "user-1", "summary": "s", "firstKeptEntryId": "answer-0", "tokensBefore": 1 }));
    let (code, _, err) = store.run(&["simulate", "--summary", "agent:main:main"]);
    assert!(code == 4 && err.contains("Already compacted"), "{err}");
}

#[test]
fn invalid_summarizer_settings_are_reported_before_any_call() {
    let store = store();
    for (table, with, words) in [
        ("", "command", "no program is configured"),
        ("kind = \"http\"", "command", "line 2, kind = \"http\": expected extractive or command"),
        (
            "key-env = \"KEY\"",
            "command",
            "line 2, key-env = \"KEY\": unknown key key-env; expected kind, command",
        ),
        ("", "http", "--with \"http\": expected extractive or command"),
    ] {
        let settings = settings(table);
        let mut command =
            command(&store, settings.path(), &["simulate", "--summary", "agent:main:main", "--with", with]);
        let (code, out, err) = run(&mut command);
        assert!(code == 2 && out.is_empty() && err.contains(words), "{table}: {code} {err}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_writes_the_summary_or_fails_with_its_error() {
    let store = store();
    let before = bytes(&store);
    let good = settings(
        "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"wc -c | tr -d ' '; echo \\u001b[2Jdone\"]",
    );
    let (code, out, err) =
        run(&mut command(&store, good.path(), &["simulate", "--summary", "agent:main:main"]));
    assert!(code == 0 && out.contains("done") && !out.contains('\u{1b}'), "{out} {err}");
    assert!(err.contains("call 1 of ") && err.contains("command · "), "{err}");
    let bad = settings("kind = \"command\"\ncommand = [\"sh\", \"-c\", \"echo out of paper >&2; exit 7\"]");
    let (code, out, err) =
        run(&mut command(&store, bad.path(), &["simulate", "--summary", "agent:main:main"]));
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(
        err.contains("exit status: 7") && err.contains("out of paper") && err.contains("attempt 3"),
        "{err}"
    );
    assert!(err.contains("Nothing was written") && err.contains("Summary unavailable"), "{err}");
    assert_eq!(bytes(&store), before);
}

/// ctrl-c ends the program that writes the summary, and its children, before it ends clawscope.
#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_summary_program_and_its_children() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::time::{Duration, Instant};

    let (store, ids) = (store(), tempfile::tempdir().unwrap());
    let file = ids.path().join("id");
    let script = format!("sleep 300 & echo $! > {0}.new; mv {0}.new {0}; wait", file.display());
    let settings = settings(&format!("kind = \"command\"\ncommand = [\"sh\", \"-c\", {script:?}]"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_clawscope"));
    command.args(["simulate", "--summary", "agent:main:main"]).env("OPENCLAW_STATE_DIR", store.path());
    command.env("XDG_CONFIG_HOME", settings.path()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let waited = |done: &mut dyn FnMut() -> bool| {
        while !done() {
            assert!(begun.elapsed() < Duration::from_secs(30), "too late");
            thread::park_timeout(Duration::from_millis(20));
        }
    };
    waited(&mut || file.exists());
    let started = process::written_in(&file);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    waited(&mut || process::is_gone(started));
}

/// The whole session under a plan that compacts it, as a summary requires.
const COMPACT: [&str; 2] = ["--policy", "compact"];

fn words<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, "agent:main:main"], &COMPACT[..], more].concat()
}

/// Runs with these settings and reads the JSON that is printed.
fn answer(store: &Store, settings: &Path, words: &[&str]) -> Value {
    let output = command(store, settings, words).arg("--json").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_preview_shows_the_calls_a_summary_would_take_and_counts_the_one_that_is_made() {
    let store = store();
    let before = bytes(&store);
    let assumed = store.json(&words("simulate", &[]));
    let compaction = &assumed["compaction"];
    assert_eq!((&compaction["summaryTokens"], &compaction["summaryFrom"]), (&json!(2000), &json!("assumed")));
    let calls = &compaction["calls"];
    let each = calls["each"].as_array().unwrap();
    assert_eq!(calls["count"], each.len());
    let sum: u64 = each.iter().map(|call| call["inputTokens"].as_u64().unwrap()).sum();
    assert_eq!(calls["inputTokens"], sum);
    assert!(calls["cost"].as_f64().unwrap() > 0.0 && assumed.get("summary").is_none(), "{calls}");
    let reported = store.json(&["simulate", "--summary", "agent:main:main", "--calls"]);
    assert_eq!(
        reported["gateway"]["inputTokens"], calls["inputTokens"],
        "as `simulate --summary` tells them"
    );

    let made = store.json(&words("simulate", &["--with", "extractive", "--messages"]));
    let tokens = made["summary"]["tokens"].as_u64().unwrap();
    assert_eq!(
        (&made["compaction"]["summaryTokens"], &made["compaction"]["summaryFrom"]),
        (&json!(tokens), &json!("made"))
    );
    let after = |answer: &Value| answer["after"]["tokens"].as_u64().unwrap();
    assert_eq!(after(&made) + 2000, after(&assumed) + tokens);
    assert_eq!(made["messages"][0]["summary"], made["summary"]["text"]);
    assert_eq!(store.json(&["simulate", "--summary", "agent:main:main"])["summary"], made["summary"]["text"]);
    assert_eq!(bytes(&store), before);
    let (code, out, err) = store.run(&words("simulate", &["--with", "extractive"]));
    assert!(
        code == 0 && out.contains("the gateway would make ") && out.contains("extractive summary"),
        "{out}{err}"
    );
}

#[test]
fn the_assumed_summary_length_follows_earlier_summaries_unless_set() {
    let store = store();
    let earlier = "s".repeat(1200);
    store.append(&json!({ "type": "compaction", "id": "c", "parentId": "user-1", "summary": earlier, "firstKeptEntryId": "user-1", "tokensBefore": 1 }));
    let next = |id: &str, parent: &str| {
        message(id, Some(parent), &json!({ "role": "user", "content": "more ".repeat(5000), "timestamp": 3 }))
    };
    store.append(&next("user-2", "c"));
    store.append(&next("user-3", "user-2"));
    let length = |more: &[&str]| {
        let answer = store.json(&words("simulate", more));
        let compaction = &answer["compaction"];
        (
            compaction["summaryTokens"].as_u64().unwrap(),
            compaction["summaryFrom"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(length(&[]), (300, "earlier".to_owned()));
    assert_eq!(length(&["--set", "compaction.summaryTokens=7"]), (7, "set".to_owned()));
}

#[test]
fn a_summary_without_a_compaction_is_a_usage_error() {
    let store = store();
    for words in [
        &["simulate", "agent:main:main", "--with", "extractive"][..],
        &["commit", "agent:main:main", "--with", "extractive"],
    ] {
        let (code, _, err) = store.run(words);
        assert!(code == 2 && err.contains("Add compact to --policy"), "{words:?}: {code} {err}");
    }
}

#[test]
fn a_compaction_is_committed_by_hand_offline_and_taken_back() {
    let store = store();
    let before = bytes(&store);
    let planned = store.json(&words("simulate", &["--with", "extractive", "--messages"]));
    let dry = store.json(&words("commit", &[]));
    assert_eq!((&dry["applied"], &dry["kind"]), (&json!(false), &json!("commit")));
    assert_eq!(dry["tokens"]["after"], planned["after"]["tokens"], "the real length");
    assert_eq!(dry["summary"], planned["summary"]);
    assert_eq!(bytes(&store), before);
    let (code, out, err) = store.run(&words("commit", &[]));
    assert!(
        code == 0 && out.contains("extractive summary") && out.contains("Nothing was written"),
        "{out}{err}"
    );

    let done = store.json(&words("commit", &["--apply"]));
    assert_eq!((&done["applied"], &done["tokens"]), (&json!(true), &dry["tokens"]));
    let after = bytes(&store);
    assert!(after.starts_with(&before) && after.len() > before.len());
    let context = store.json(&["context", "agent:main:main", "--messages"]);
    assert_eq!(context["messageTokens"], planned["after"]["tokens"]);
    assert_eq!(context["messages"][0]["message"]["summary"], planned["summary"]["text"]);
    let (code, _, err) = store.run(&words("commit", &["--apply"]));
    assert!(code == 4 && err.contains("nothing to write"), "there is nothing left to compact: {err}");
    store.json(&["undo", "agent:main:main", "--apply"]);
    assert_eq!(store.json(&["context", "agent:main:main"])["messageTokens"], planned["before"]["tokens"]);
}

#[cfg(unix)]
#[test]
fn a_dry_run_calls_only_a_summarizer_named_on_the_command_line() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let mark = folder.path().join("called");
    let script = format!("cat > /dev/null; touch {}; echo by hand", mark.display());
    let settings = settings(&format!("kind = \"command\"\ncommand = [\"sh\", \"-c\", {script:?}]"));
    let dry = answer(&store, settings.path(), &words("commit", &[]));
    assert!(dry["summary"]["summarizer"] == "extractive" && !mark.exists(), "{dry}");
    let (_, out, _) = run(&mut command(&store, settings.path(), &words("commit", &[])));
    assert!(out.contains("--apply uses command for the summary") && !mark.exists(), "{out}");
    let named = answer(&store, settings.path(), &words("commit", &["--with", "command"]));
    assert!(mark.exists() && named["summary"]["text"].as_str().unwrap().starts_with("by hand"), "{named}");
    let (code, _, err) = run(&mut command(&store, settings.path(), &words("commit", &["--apply"])));
    assert!(code == 0 && err.contains("call 1 of "), "{err}");
    let context = store.json(&["context", "agent:main:main", "--messages"]);
    let summary = context["messages"][0]["message"]["summary"].as_str().unwrap().to_owned();
    assert!(summary.starts_with("by hand"), "{summary}");
}

#[cfg(unix)]
#[test]
fn a_failed_or_refused_summary_is_not_written() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let before = bytes(&store);
    let bad = settings("kind = \"command\"\ncommand = [\"sh\", \"-c\", \"exit 7\"]");
    let (code, out, err) = run(&mut command(&store, bad.path(), &words("commit", &["--apply"])));
    assert!(code == 4 && out.is_empty() && err.contains("exit status: 7"), "{code} {out} {err}");
    assert!(err.contains("Nothing was written") && bytes(&store) == before, "{err}");
    let empty = settings("kind = \"command\"");
    let (code, _, err) = run(&mut command(&store, empty.path(), &words("commit", &["--apply"])));
    assert!(code == 2 && err.contains("no program is configured"), "{code} {err}");
    // A commit without a compaction needs no summarizer.
    let prune = ["commit", "agent:main:main", "--set", "contextPruning.softTrimRatio=0.1"];
    let (code, _, err) = run(&mut command(&store, empty.path(), &prune));
    assert_eq!((code, err.as_str()), (0, ""));

    // A commit that is refused anyway is refused before any program is called.
    let mark = folder.path().join("called");
    let asks =
        settings(&format!("kind = \"command\"\ncommand = [\"touch\", {:?}]", mark.display().to_string()));
    store.write_rows(&json!({}));
    let orphan = ["commit", "long-1", "--policy", "compact", "--apply"];
    let (code, _, err) = run(&mut command(&store, asks.path(), &orphan));
    assert!(code == 4 && err.contains("no row of the session store") && !mark.exists(), "{code} {err}");
    assert_eq!(bytes(&store), before);
}
