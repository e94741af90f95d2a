//! How a session is named on the command line, and names that try to harm the terminal.

use serde_json::{Value, json};

use crate::support::store::{RESULTS, Store, lines, long_session, message, program, run};

#[test]
fn an_orphan_named_like_a_session_is_not_taken_for_it() {
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
