//! Session names on the command line, and names that try to harm the terminal.

use serde_json::{Value, json};
use std::io::Write as _;

use crate::support::store::{RESULTS, Store, lines, long_session, message, program, run};

#[test]
fn an_orphan_named_like_a_session_is_not_opened_instead() {
    let store = Store::new();
    let orphan =
        [json!({ "type": "session", "version": 3, "id": "o" }), json!({ "type": "custom", "id": "x" })];
    store.write("agents/main/sessions/main.jsonl", &lines(&orphan));
    let answer = store.json(&["sessions"]);
    let seen: Vec<_> =
        answer["sessions"].as_array().unwrap().iter().map(|s| (&s["key"], &s["entries"])).collect();
    let entries = json!(long_session().len() - 1);
    assert_eq!(seen, [(&json!("agent:main:main"), &entries), (&json!("agent:main:main.jsonl"), &json!(1))]);
}

#[test]
fn sessions_are_found_by_key_id_unique_start_and_path() {
    let store = Store::new();
    store
        .write("agents/main/sessions/long-2.jsonl", &lines(&long_session()[..2]).replace("long-1", "long-2"));
    store.write_rows(
        &json!({ "agent:main:main": { "sessionId": "long-1" }, "agent:main:x": { "sessionId": "long-2" } }),
    );
    let file = store.transcript().to_string_lossy().into_owned();
    for name in ["agent:main:main", "AGENT:main:MAIN", "main", "long-1", &file] {
        assert_eq!(store.json(&["context", name])["session"]["id"], "long-1", "{name}");
    }
    let (code, _, error) = store.run(&["context", "long", "--json"]);
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!((code, error["error"]["candidates"].as_array().unwrap().len()), (2, 2), "{error}");
    let (code, _, error) = store.run(&["context", "nobody"]);
    assert!(
        code == 3 && error.contains("agent:main:main") && error.contains("clawscope sessions"),
        "{error}"
    );
}

#[test]
fn a_path_to_a_transcript_needs_no_store() {
    let store = Store::new();
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy.jsonl");
    std::fs::copy(store.transcript(), &copy).unwrap();
    let mut command = program(&["context", "copy.jsonl", "--json"]);
    let (code, out, error) = run(command.current_dir(dir.path()));
    assert_eq!(code, 0, "{error}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["messages"].as_array().unwrap().len(), 1 + 2 * RESULTS + 3);
    assert_eq!(run(program(&["context", "none.jsonl"]).current_dir(dir.path())).0, 3);
}

#[test]
fn hostile_names_and_texts_cannot_act_on_the_terminal() {
    let store = Store::new();
    let hostile = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}evil\r\n";
    let entry =
        message("user-0\u{1b}[2J", None, &json!({ "role": "user", "content": hostile, "timestamp": 1 }));
    store.write("agents/main/sessions/h.jsonl", &lines(&[long_session()[0].clone(), entry]));
    let key = format!("agent:main:{hostile}");
    store.write_rows(&json!({ key: { "sessionId": "h", "displayName": hostile } }));
    let acts = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
    for words in [
        &["sessions"][..],
        &["tree", "h"],
        &["context", "h"],
        &["context", "h", "--messages"],
        &["simulate", "h"],
        &["doctor"],
    ] {
        for json in [&[][..], &["--json"]] {
            let words = [words, json].concat();
            let (code, out, error) = store.run(&words);
            assert!(
                code == 0 && out.contains("owned") || words.contains(&"doctor"),
                "{words:?} {code} {error}"
            );
            assert!(!out.chars().chain(error.chars()).any(acts), "{words:?}: {out:?} {error:?}");
        }
    }
    assert_eq!(
        store.json(&["sessions"])["sessions"][0]["title"].as_str().map(str::trim),
        Some(hostile.trim())
    );
}

/// Two sessions of one channel, and one that its title names.
fn channels() -> Store {
    let store = Store::new();
    store.write_rows(&json!({
        "agent:main:telegram:direct:8812": { "sessionId": "long-1", "updatedAt": 2 },
        "agent:main:telegram:direct:9020": { "sessionId": "t-9020", "updatedAt": 3 },
        "agent:main:cron:77": { "sessionId": "c-77", "updatedAt": 1, "displayName": "Nightly build" },
    }));
    store
}

#[test]
fn a_part_of_a_key_or_title_opens_the_only_session_that_has_it() {
    let store = channels();
    let (code, out, error) = store.run(&["tree", "8812"]);
    assert!(code == 0 && out.contains("telegram:direct:8812"), "{error}");
    assert!(error.contains("note: \"8812\" matches agent:main:telegram:direct:8812"), "{error}");
    let (code, out, error) = store.run(&["tree", "8812", "--json"]);
    assert!(
        code == 0 && serde_json::from_str::<Value>(&out).is_ok() && error.starts_with("note:"),
        "{error}"
    );
    // A session without a record is titled by its first words.
    store.write("agents/main/sessions/o-1.jsonl", &lines(&long_session()));
    let (_, _, error) = store.run(&["tree", "slow build"]);
    assert!(error.contains("matches agent:main:o-1") && error.contains("why is the build slow?"), "{error}");
}

#[test]
fn a_part_of_several_sessions_lists_them_newest_first_with_the_line_to_type() {
    let (code, out, error) = channels().run(&["tree", "telegram"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let at = |text: &str| error.find(text).expect(text);
    assert!(at("direct:9020") < at("direct:8812"), "{error}");
    // The newest has no transcript yet.
    assert!(error.contains("Type: clawscope tree agent:main:telegram:direct:8812\n"), "{error}");
}

#[test]
fn writing_commands_need_a_complete_name() {
    let store = channels();
    for command in ["commit", "undo"] {
        let (code, out, error) = store.run(&[command, "8812"]);
        assert_eq!((code, out.as_str()), (3, ""), "{error}");
        assert!(
            error.contains("whole key")
                && error.contains(&format!("Type: clawscope {command} agent:main:telegram:direct:8812")),
            "{error}"
        );
    }
    assert_eq!(store.run(&["commit", "long"]).0, 0);
}

#[test]
fn a_mistyped_name_suggests_the_nearest() {
    let store = channels();
    for (words, near) in [
        (&["tree", "telegrm"][..], "Did you mean agent:main:telegram:direct:"),
        (&["guide", "expalin"], "Did you mean explain?"),
        (&["schema", "expalin"], "Did you mean explain?"),
        (&["man", "expalin"], "Did you mean explain?"),
        (&["explian"], "Did you mean explain?"),
        (&["rules", "prunning-5.1"], "Did you mean pruning-5.1?"),
        (&["sessions", "--agent", "mian"], "Did you mean main?"),
        (&["simulate", "8812", "--set", "contextPrunning.ttl=5m"], "did you mean `contextPruning.ttl`?"),
    ] {
        let (code, _, error) = store.run(words);
        assert!(matches!(code, 2 | 3) && error.contains(near), "{words:?} {code}: {error}");
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".openclaw-work")).unwrap();
    let (code, _, error) = run(program(&["sessions", "--profile", "wrok"]).env("HOME", home.path()));
    assert!(code == 3 && error.contains("Found work. Did you mean work?"), "{error}");
}

#[test]
fn a_file_that_is_not_a_transcript_is_named_by_its_type() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes, code, what) in [
        ("notes.txt", &b"some notes\nand more\n"[..], 3, "this is plain text; expected the JSON lines"),
        ("shot.png", b"\x89PNG\r\n\x1a\n\0\0\0", 3, "this is a PNG image"),
        ("empty.jsonl", b"", 3, "empty transcript"),
        ("blank.jsonl", b"\n\n", 3, "empty transcript"),
        ("one.jsonl", b"[{\"type\":\"session\"}]\n", 3, "one JSON document"),
        ("one.json", b"{\"a\": 1}", 3, "one JSON document"),
        ("other.jsonl", b"{\"a\":1}\n{\"b\":2}\n", 3, "JSON lines without a \"type\""),
        (
            "sessions.json",
            b"{\"a\":{\"sessionId\":\"x\"},\"b\":{\"sessionId\":\"y\"}}",
            2,
            "a list of sessions, not a",
        ),
    ] {
        let file = dir.path().join(name);
        std::fs::File::create(&file).and_then(|mut file| file.write_all(bytes)).unwrap();
        let file = file.to_string_lossy().into_owned();
        for command in ["explain", "context", "tree"] {
            let (found, out, error) = run(&mut program(&[command, &file]));
            assert_eq!((found, out.as_str()), (code, ""), "{command} {name}: {error}");
            assert!(error.contains(&file) && error.contains(what), "{command} {name}: {error}");
        }
    }
}

#[test]
fn a_single_file_format_cannot_be_written_to_a_folder() {
    let (code, _, error) =
        run(&mut program(&["export", "8812", "--demo", "--format", "html", "--out", "made/"]));
    assert!(code == 2 && error.contains("Name the file: --out made/session.html"), "{error}");
}
