//! `search`: hits over a store, their order, exit codes and secrets.

use serde_json::json;

use super::has_keys;
use crate::support::store::{Store, message, program, run};

#[test]
fn a_hit_is_printed_with_its_session_and_the_words_around_it() {
    let store = Store::new();
    let said = json!({ "role": "user", "content": "please look at the Zebrafish, twice: zebrafish" });
    store.append(&message("zebra-1", None, &said));
    let answer = store.json(&["search", "zebrafish"]);
    has_keys(&answer, &["query", "hits", "searched", "bytes", "sessions", "unread"]);
    assert_eq!((&answer["hits"], &answer["sessions"][0]["count"]), (&json!(1), &json!(1)));
    let hit = &answer["sessions"][0]["hits"][0];
    assert_eq!(
        (&hit["entry"], &hit["role"], &hit["part"]),
        (&json!("zebra-1"), &json!("user"), &json!("text"))
    );
    assert_eq!(hit["text"], "please look at the Zebrafish, twice: zebrafish");
    let (code, text, _) = store.run(&["search", "zebrafish look"]);
    assert_eq!(code, 0);
    assert!(text.contains("1 hit in 1 of ") && text.contains("look at the Zebrafish"), "{text}");
}

#[test]
fn a_search_without_hits_exits_with_1_and_without_words_with_2() {
    let store = Store::new();
    let (code, text, _) = store.run(&["search", "no-such-word"]);
    assert_eq!(code, 1);
    assert!(text.starts_with("0 hits in 0 of "), "{text}");
    assert_eq!(store.run(&["search", "zebra", "--json"]).0, 1);
    assert_eq!(store.run(&["search", "  "]).0, 2);
}

#[test]
fn secrets_and_control_characters_do_not_reach_the_terminal() {
    let store = Store::new();
    let secret = "sk-ant-api03-Zx81Kq92Lm37Vb64Nc55QwZx81Kq92Lm37";
    let said = json!({ "role": "user", "content": format!("zebrafish \u{1b}[31m key {secret}") });
    store.append(&message("zebra-1", None, &said));
    let (_, text, _) = store.run(&["search", "zebrafish"]);
    assert!(!text.contains(secret) && !text.contains('\u{1b}'), "{text}");
    assert!(!store.json(&["search", "zebrafish"]).to_string().contains(secret));
    let (_, text, _) = store.run(&["search", "zebrafish", "--no-redact"]);
    assert!(text.contains(secret), "{text}");
}

#[test]
fn hits_in_an_archive_have_its_title_and_time() {
    let (code, text, _) = run(&mut program(&["search", "cold cache", "--demo"]));
    let head = text.lines().find(|line| line.contains(".jsonl.reset.")).expect("an archive");
    assert_eq!(code, 0);
    assert!(head.ends_with("  What did the build machine do last night? · 1 hit · 1d 6h ago"), "{head}");
}

#[test]
fn the_limit_counts_hits_over_all_sessions() {
    let (code, text, _) = run(&mut program(&["search", "libatomic", "--demo", "--limit", "3"]));
    assert_eq!(code, 0);
    assert_eq!(text.lines().filter(|line| line.starts_with("  ")).count(), 3, "{text}");
    assert!(text.contains("shown; --limit"), "{text}");
    let (_, all, _) = run(&mut program(&["search", "libatomic", "--demo", "--limit", "0"]));
    assert!(all.lines().count() > text.lines().count() && !all.contains("--limit"), "{all}");
}

#[test]
fn databases_and_cold_archives_are_searched() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sqlite-2026.9.6");
    let dir = tempfile::tempdir().expect("a folder");
    let main = dir.path().join("agents/main");
    for (from, to) in [("sessions/cold", "sessions/cold"), ("", "agent")] {
        std::fs::create_dir_all(main.join(to)).expect("a folder");
        for item in std::fs::read_dir(format!("{fixture}/{from}")).expect("a folder") {
            let path = item.expect("an item").path();
            if path.is_file() {
                std::fs::copy(&path, main.join(to).join(path.file_name().expect("a name"))).expect("a copy");
            }
        }
    }
    let output = program(&["search", "the", "--json"]).env("OPENCLAW_STATE_DIR", dir.path()).output();
    let output = output.expect("it runs");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(answer["hits"].as_u64() > Some(0), "{answer}");
    assert_eq!(answer["unread"], json!([]));
}
