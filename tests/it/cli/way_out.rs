//! The ways out of a session that no longer answers: a branch without a message, another branch, a commit that fits.

use serde_json::json;

use super::overflowed;
use crate::support::store::{Store, failed, message, program, refused_for_an_image, run};

fn bytes(store: &Store) -> Vec<u8> {
    std::fs::read(store.transcript()).expect("the transcript")
}

#[test]
fn a_branch_without_the_image_has_no_refusals_left_and_can_be_undone() {
    for times in [0, 3] {
        let store = refused_for_an_image(times);
        let stuck = store.json(&["explain", "main"]);
        assert_eq!((&stuck["state"], &stuck["overflow"]), (&json!("refused"), &json!(false)));
        assert_eq!(stuck["lastCalls"]["culprits"][0]["entry"], "image-0", "{}", stuck["lastCalls"]);
        let before = bytes(&store);
        let (code, out, error) = store.run(&["commit", "main", "--drop", "image-0", "--apply"]);
        assert_eq!(code, 0, "{out}{error}");
        let failures = if times == 0 { "1 answer".to_owned() } else { format!("{} answers", times + 1) };
        assert!(out.contains(&format!("{failures} that failed later")), "{out}");
        assert!(bytes(&store).starts_with(&before), "nothing is rewritten");
        let mended = store.json(&["explain", "main"]);
        assert_eq!(mended["state"], "healthy", "{}", mended["verdict"]);
        let sent = store.json(&["context", "main", "--messages"]);
        let messages = sent["messages"].as_array().expect("messages");
        assert!(messages.iter().all(|it| !it["message"].to_string().contains("\"image\"")));
        assert!(
            messages.iter().any(|it| it["message"].to_string().contains("what is this?")),
            "the words stay"
        );
        assert_eq!(store.run(&["undo", "main", "--apply"]).0, 0);
        assert_eq!(store.json(&["explain", "main"])["state"], "refused");
    }
}

#[test]
fn another_branch_becomes_active_and_the_old_one_stays() {
    let store = refused_for_an_image(2);
    let before = bytes(&store);
    let (code, out, error) = store.run(&["commit", "main", "--branch", "answer-2", "--apply"]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(bytes(&store).starts_with(&before), "nothing is rewritten");
    let mended = store.json(&["explain", "main"]);
    assert_eq!(mended["state"], "healthy", "{}", mended["verdict"]);
    assert_eq!(store.run(&["undo", "main", "--apply"]).0, 0);
    assert_eq!(store.json(&["explain", "main"])["state"], "refused");
    let (code, _, error) = store.run(&["commit", "main", "--branch", "nobody"]);
    assert!(code == 2 && error.contains("nobody"), "{error}");
}

#[test]
fn after_a_commit_that_fits_the_explanation_says_so_first() {
    let store = Store::new();
    store.write("openclaw.json", "{}");
    let text = "prompt is too long: 203412 tokens > 200000 maximum";
    store.append(&message(
        "user-1",
        Some("touch-0"),
        &json!({ "role": "user", "content": "x".repeat(400_000) }),
    ));
    store.append(&message("refused-0", Some("user-1"), &failed(1_772_700_100_000, text)));
    assert!(store.json(&["explain", "main"])["fitsSinceCommit"].is_null());
    let words = ["commit", "main", "--set", "contextPruning.softTrimRatio=0.01", "--apply"];
    let (code, out, error) = store.run(&words);
    assert_eq!(code, 0, "{out}{error}");
    let answer = store.json(&["explain", "main"]);
    let tokens = answer["fitsSinceCommit"].as_u64().expect("it fits");
    assert!(tokens < 200_000, "{tokens}");
    assert_eq!(store.json(&["sessions"])["sessions"][0]["tokens"]["value"], tokens, "one number");
    let (_, out, _) = store.run(&["explain", "main"]);
    assert!(out.lines().nth(1).expect("a step").starts_with("Fits now: since the commit"), "{out}");
    // The next answer decides anew.
    let later = json!({ "role": "assistant", "content": [], "stopReason": "error", "provider": "anthropic",
        "model": "claude-opus-4-5", "timestamp": 1_772_700_900_000_u64, "errorMessage": text });
    let leaf = answer["session"]["id"].clone();
    assert_eq!(leaf, "long-1");
    let leaf = store.json(&["context", "main"])["leaf"].as_str().expect("a leaf").to_owned();
    store.append(&message("refused-1", Some(&leaf), &later));
    assert!(store.json(&["explain", "main"])["fitsSinceCommit"].is_null());
    assert!(overflowed().json(&["explain", "main"])["fitsSinceCommit"].is_null(), "no commit made it fit");
}

#[test]
fn an_advised_line_writes_to_the_store_that_was_named() {
    let store = refused_for_an_image(0);
    let path = store.path().to_str().expect("text");
    let (code, out, _) = run(&mut program(&["explain", "main", "--store", path]));
    assert_eq!(code, 0, "{out}");
    let line = out.lines().find_map(|line| line.trim().strip_prefix("clawscope commit ")).expect("a line");
    let words: Vec<&str> = std::iter::once("commit").chain(line.split(' ')).collect();
    let (code, out, error) = run(&mut program(&words));
    assert!(code == 0 && out.contains(path), "{words:?}: {out}{error}");
}

#[test]
fn a_damaged_file_is_advised_nothing_that_a_commit_refuses() {
    let hook = "agent:main:hook:9c2d7a64-0b1e-4f0a-8a55-6d2f4f6c1b23";
    let (_, out, _) = run(&mut program(&["explain", hook, "--demo"]));
    assert!(!out.contains("clawscope commit"), "{out}");
    assert!(out.contains("/new starts over") && out.contains("line 7: cannot read the line"), "{out}");
    for words in [&["doctor", "--demo"][..], &["export", hook, "--format", "md", "--demo"]] {
        let (_, out, error) = run(&mut program(words));
        assert!(out.contains("No commit makes the part before active"), "{out}{error}");
        assert!(!out.contains("clawscope commit"), "{out}");
    }
}
