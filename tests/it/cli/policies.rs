//! `simulate` with several policies, and their settings from files and flags.

use serde_json::json;

use super::has_keys;
use crate::support::store::{Store, lines, message};

#[test]
fn policies_run_in_the_gateways_order_and_pass_their_tokens_on() {
    let store = Store::new();
    let answer =
        store.json(&["simulate", "main", "--policy", "prune,history,compact", "--set", "historyLimit=1"]);
    let steps = answer["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(names, ["compact", "history", "prune"]);
    assert_eq!(steps[0]["tokensBefore"], answer["before"]["tokens"]);
    for pair in steps.windows(2) {
        assert_eq!(pair[0]["tokensAfter"], pair[1]["tokensBefore"]);
        assert_eq!(pair[0]["messagesAfter"], pair[1]["messagesBefore"]);
    }
    assert_eq!(steps[2]["tokensAfter"], answer["after"]["tokens"]);
    assert_eq!(
        steps[1]["settings"]["historyLimit"],
        json!({"value": 1, "from": "command line", "reader": "preview"})
    );
}

#[test]
fn a_compaction_shows_kept_and_summarised_messages() {
    let store = Store::new();
    let words = [
        "simulate",
        "main",
        "--set",
        "compaction.keepRecentTokens=1",
        "--set",
        "compaction.summaryTokens=7",
        "--messages",
    ];
    let answer = store.json(&words);
    let compaction = &answer["compaction"];
    has_keys(
        compaction,
        &["trigger", "firstKept", "split", "history", "turnPrefix", "kept", "lost", "tokensAfter"],
    );
    let count = |part: &str| compaction[part]["messages"].as_u64().unwrap();
    let messages = answer["fates"].as_array().unwrap().len() as u64;
    assert_eq!(count("history") + count("turnPrefix") + count("kept") + count("lost"), messages);
    let kept = compaction["kept"]["tokens"].as_u64().unwrap();
    assert_eq!(compaction["tokensAfter"], kept + 7);
    assert_eq!(answer["messages"][0]["role"], "compactionSummary");
    assert_eq!(answer["messages"].as_array().unwrap().len() as u64, count("kept") + 1);
}

#[test]
fn every_key_enables_its_policy_and_a_missing_policy_is_named() {
    let store = Store::new();
    for set in [
        "truncate.maxChars=5000",
        "guard.budgetShare=0.5",
        "clearToolUses.excludeTools=read,exec",
        "compaction.reserveTokens=30000",
        "channels.telegram.dmHistoryLimit=4",
    ] {
        let key = set.split('=').next().unwrap();
        let key = if key.starts_with("channels") { "historyLimit" } else { key };
        let answer = store.json(&["simulate", "main", "--policy", "all", "--set", set]);
        let found = answer["steps"].as_array().unwrap().iter().find_map(|step| step["settings"].get(key));
        assert_eq!(found.unwrap()["from"], "command line", "{set}");
        let (code, _, error) = store.run(&["simulate", "main", "--policy", "images", "--set", set]);
        assert!(code == 2 && error.contains("Add "), "{error}");
    }
}

#[test]
fn settings_from_a_file_are_overridden_by_the_command_line() {
    let store = Store::new();
    store.write("new.json5", "{ contextPruning: { softTrimRatio: 0.05, softTrim: { maxChars: 100 }, } }");
    let file = store.path().join("new.json5").to_string_lossy().into_owned();
    let words = ["simulate", "main", "--settings", &file, "--set", "contextPruning.softTrimRatio=0.06"];
    let settings = &store.json(&words)["settings"];
    assert_eq!((&settings["softTrimRatio"], &settings["softTrim"]["maxChars"]), (&json!(0.06), &json!(100)));
}

#[test]
fn the_newest_version_drops_turns_in_batches() {
    let store = Store::new();
    let mut entries = vec![
        json!({ "type": "session", "version": 3, "id": "turns", "timestamp": "2026-03-05T08:00:00.000Z" }),
    ];
    for at in 0..7 {
        let (id, parent) = (format!("u{at}"), (at > 0).then(|| format!("u{}", at - 1)));
        entries.push(message(
            &id,
            parent.as_deref(),
            &json!({ "role": "user", "content": "hi", "timestamp": at }),
        ));
    }
    // The run has ended: the next one loads everything.
    entries.push(message("a", Some("u6"), &json!({ "role": "assistant", "content": [], "timestamp": 8 })));
    store.write("turns.jsonl", &lines(&entries));
    let path = store.path().join("turns.jsonl");
    let dropped = |ruleset: &str| {
        let words = [
            "simulate",
            path.to_str().unwrap(),
            "--policy",
            "history",
            "--set",
            "historyLimit=3",
            "--ruleset",
            ruleset,
        ];
        let answer = store.json(&words);
        let fates = answer["fates"].as_array().unwrap().clone();
        fates.iter().filter(|fate| fate["fate"] == "dropped").count()
    };
    assert_eq!((dropped("2026.3.2"), dropped("2026.9"), dropped("pi-0.55")), (4, 3, 0));
}

#[test]
fn policies_follow_the_rules_of_the_version() {
    let store = Store::new();
    let mut entries = vec![
        json!({ "type": "session", "version": 3, "id": "long", "timestamp": "2026-03-05T08:00:00.000Z" }),
        message("u", None, &json!({ "role": "user", "content": "go", "timestamp": 0 })),
    ];
    let mut parent = "u".to_owned();
    for at in 0..5 {
        let (call, id) = (format!("a{at}"), format!("r{at}"));
        let block = json!({ "type": "toolCall", "id": id, "name": "exec", "arguments": {} });
        entries.push(message(
            &call,
            Some(&parent),
            &json!({ "role": "assistant", "content": [block], "timestamp": at }),
        ));
        let text = json!({ "type": "text", "text": format!("{}\n error: no", "x".repeat(70_000)) });
        let result = json!({ "role": "toolResult", "toolCallId": id, "toolName": "exec", "content": [text], "timestamp": at });
        entries.push(message(&id, Some(&call), &result));
        parent = id;
    }
    store.write("long.jsonl", &lines(&entries));
    let path = store.path().join("long.jsonl");
    let simulate = |ruleset: &str, policy: &str| {
        store.json(&["simulate", path.to_str().unwrap(), "--policy", policy, "--ruleset", ruleset])
    };
    let steps = |ruleset: &str| -> Vec<String> {
        let answer = simulate(ruleset, "gateway");
        let steps = answer["steps"].as_array().unwrap().iter();
        steps.map(|step| step["step"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(steps("2026.3.2"), ["repair", "history", "images", "prune", "guard"]);
    assert_eq!(steps("2026.2.19"), ["repair", "history", "guard"]);
    assert_eq!(steps("pi-0.55"), ["repair", "history"]);
    let most = |ruleset: &str| {
        let step = simulate(ruleset, "truncate")["steps"][0].clone();
        assert_eq!(step["fates"]["truncated"], json!(5), "{ruleset}");
        step["settings"]["truncate.maxChars"]["value"].clone()
    };
    assert_eq!([most("2026.3.2"), most("2026.9")], [json!(400_000), json!(64_000)]);
    let guard = |ruleset: &str| simulate(ruleset, "guard")["steps"][0]["changed"].clone();
    assert_eq!(guard("pi-0.55"), json!(false));
}
