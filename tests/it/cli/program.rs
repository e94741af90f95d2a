//! Help, completions, manual pages, exit codes and `watch`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::store::{Store, lines, long_session, message, program, run};

#[test]
fn help_lists_nineteen_commands_in_groups_on_one_page() {
    let (code, out, _) = run(&mut program(&["--help"]));
    assert_eq!(code, 0);
    let commands = [
        "sessions", "tree", "context", "simulate", "commit", "undo", "search", "explain", "cost", "replay",
        "sweep", "check", "export", "watch", "doctor", "settings", "rules", "demo", "guide",
    ];
    for word in commands.iter().chain(&["Look", "Explain", "Try", "Write", "Share", "Set up", "Exit codes"]) {
        assert!(out.contains(word), "{word}");
    }
    assert_eq!(commands.len(), 19);
    assert!(out.lines().count() <= 60, "{} lines", out.lines().count());
    for word in ["completions", "schema"] {
        assert!(!out.contains(word), "{word} works and is not listed");
    }
    for command in commands {
        let (code, out, _) = run(&mut program(&[command, "--help"]));
        assert!(
            code == 0 && out.contains("Examples:") && out.contains(&format!("clawscope {command}")),
            "{command}"
        );
    }
    let (code, out, _) = run(&mut program(&["--version"]));
    assert_eq!((code, out.trim()), (0, concat!("clawscope ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, _) = run(&mut program(&["completions", shell]));
        assert!(code == 0 && out.contains("CLAWSCOPE_COMPLETE"), "{shell}");
    }
    let (code, out, _) = run(&mut program(&["man"]));
    assert!(code == 0 && out.contains(".TH") && out.contains("simulate"));
    assert!(run(&mut program(&["man", "simulate"])).1.contains("ignore"));
    assert_eq!(run(&mut program(&["man", "nothing"])).0, 2);
}

#[test]
fn doctor_self_reports_the_program_and_takes_no_store() {
    let (code, out, _) = run(program(&["doctor", "--self"]).env("TERM", "xterm-kitty"));
    assert!(code == 0 && out.contains("kitty (TERM=xterm-kitty)"), "{out}");
    assert!(out.contains("/nonexistent/clawscope-test/.config/clawscope/config.toml"), "{out}");
    let mut faulty = program(&["doctor", "--self", "--json"]);
    let (code, out, error) = run(faulty.env("CLAWSCOPE_MOUSE", "maybe"));
    assert!(
        code == 3 && out.contains("CLAWSCOPE_MOUSE") && error.contains("settings are invalid"),
        "{error}"
    );
    for other in ["/tmp", "--repair", "--migration"] {
        assert_eq!(run(&mut program(&["doctor", "--self", other])).0, 2, "{other}");
    }
}

#[test]
fn a_mistyped_command_is_not_taken_for_a_path() {
    let (code, _, error) = run(&mut program(&["sesions"]));
    assert!(code == 2 && error.contains("neither a command nor an existing path"), "{error}");
    // Nor is a path that does not exist hidden by the pipe.
    let (code, _, error) = run(&mut program(&["no/such/store"]));
    assert!(code == 3 && error.contains("no/such/store: does not exist. Pass a state dir"), "{error}");
    assert_eq!(run(&mut program(&["/no/such/store"])).0, 3);
    assert_eq!(run(&mut program(&["sessions", "/no/such/store"])).0, 3);
    assert_eq!(run(&mut program(&["/tmp", "sessions"])).0, 2);
    assert_eq!(run(&mut program(&["sessions", "--demo", "--agent", "nobody"])).0, 2);
    assert_eq!(run(&mut program(&["sessions", "--profile", "../x"])).0, 2);
}

#[test]
fn a_closed_reader_is_not_an_error() {
    let store = Store::new();
    let mut child = started(&store, &["context", "main", "--messages", "--json"]);
    let mut first = [0; 10];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
}

fn started(store: &Store, words: &[&str]) -> std::process::Child {
    Command::new(assert_cmd::cargo::cargo_bin("clawscope"))
        .args(words)
        .env_clear()
        .env("OPENCLAW_STATE_DIR", store.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

#[test]
fn watch_shows_each_new_entry_with_running_totals() {
    let store = Store::new();
    let mut child = started(&store, &["watch", "--json"]);
    let (sender, reported) = channel();
    let output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let next = || reported.recv_timeout(Duration::from_secs(20)).expect("a line in time");
    assert_eq!(next()["event"], "following");
    let before = store.json(&["context", "main"]);
    store.append(&message(
        "user-1",
        Some("touch-0"),
        &json!({ "role": "user", "content": "12345678", "timestamp": 1 }),
    ));
    let line = next();
    assert_eq!(
        (&line["entry"], &line["key"], &line["tokens"]),
        (&json!("user-1"), &json!("agent:main:main"), &json!(2))
    );
    // One number: the list's, the header's and that of `context`.
    assert_eq!(line["contextTokens"], store.json(&["context", "main"])["nextCall"]["tokens"]["value"]);
    assert_eq!(line["state"], "healthy");
    assert_eq!(line["sessionTokens"], before["sessionTokens"].as_u64().unwrap() + 2);
    store.write("agents/main/sessions/new.jsonl", &lines(&long_session()[..2]));
    let line = next();
    assert_eq!((&line["entry"], &line["agent"]), (&json!("user-0"), &json!("main")));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    assert_eq!(run(&mut program(&["watch", "--demo"])).0, 3);
}

/// A reader that is gone would otherwise be noticed with the next entry only, hours later.
#[cfg(unix)]
#[test]
fn watch_ends_when_no_one_reads_its_output() {
    let store = Store::new();
    let mut child = started(&store, &["watch", "--json"]);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    let (sender, ended) = channel();
    let waiting = std::thread::spawn(move || sender.send(child.wait()));
    let status = ended.recv_timeout(Duration::from_secs(20)).expect("it ends").unwrap();
    assert_eq!(status.code(), Some(0));
    waiting.join().unwrap().unwrap();
}

#[test]
fn the_demo_store_is_written_to_a_new_folder_and_can_be_committed_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("demo");
    let out = path.to_string_lossy().into_owned();
    let (code, text, error) = run(&mut program(&["demo", "--out", &out]));
    assert!(code == 0 && text.contains(&format!("clawscope {out}")), "{text}{error}");
    let words = ["commit", "agent:research:main", "--store", &out, "--apply"];
    let (code, _, error) = run(&mut program(&words));
    assert_eq!(code, 0, "{error}");
    let (code, _, error) = run(&mut program(&["demo", "--out", &out]));
    assert!(code == 4 && error.contains("not empty"), "{error}");
}

#[test]
fn a_preset_expands_to_its_settings() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/clawscope/presets");
    std::fs::create_dir_all(&folder).unwrap();
    let lean = std::fs::File::create(folder.join("lean.toml"));
    lean.and_then(|mut file| file.write_all(b"contextTokens = 90000\n")).unwrap();
    let run_at_home = |words: &[&str]| run(program(words).env("HOME", home.path()));
    let (code, out, _) = run_at_home(&["settings", "--presets"]);
    assert!(code == 0 && out.contains("lean") && out.contains("contextTokens=90000"), "{out}");
    let (code, out, error) = run_at_home(&["context", "main", "--demo", "--settings", "lean"]);
    assert!(code == 0 && out.contains("contextTokens 90,000)"), "{out}{error}");
    let (code, out, _) =
        run_at_home(&["context", "main", "--demo", "--settings", "lean", "--set", "contextTokens=80000"]);
    assert!(code == 0 && out.contains("contextTokens 80,000)"), "{out}");
    let (code, out, _) = run_at_home(&["settings", "--presets", "--json"]);
    assert!(
        code == 0
            && out
                .contains(r#""presets":[{"name":"lean","settings":{"contextTokens":"90000"},"error":null}]"#),
        "{out}"
    );
    std::fs::create_dir(home.path().join("lean")).unwrap();
    let line = ["context", "main", "--demo", "--settings", "lean"];
    let (code, out, error) = run(program(&line).env("HOME", home.path()).current_dir(home.path()));
    assert!(
        code == 0 && out.contains("contextTokens 90,000)"),
        "a folder of that name hides nothing: {out}{error}"
    );
    let (code, _, error) =
        run(program(&["settings", "--presets"]).env_remove("HOME").env("XDG_CONFIG_HOME", ""));
    assert!(code == 2 && error.contains("no home folder") || code == 0, "{error}");
    let (code, _, error) = run_at_home(&["replay", "main", "--demo", "--settings", "laen"]);
    assert!(code == 2 && error.contains("Did you mean lean?"), "{error}");
}
