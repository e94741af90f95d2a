//! Stores of other programs and proxies: transcripts under two keys, keys in errors, counts above the window.

use serde_json::{Value, json};

use crate::support::store::{Store, lines, message};

const SESSION: &str = "agent:main:main";
const CONFIG: &str = r#"{ "models": { "providers": { "anthropic": { "models": [{ "id": "claude-sonnet-4-5", "contextWindow": 32000 }] } } },
  "agents": { "defaults": { "model": { "primary": "anthropic/claude-sonnet-4-5" } } } }"#;

/// An answer that a provider counted; `stop` is its stop reason.
fn answer(id: &str, parent: &str, input: u64, stop: &str) -> Value {
    let usage = json!({ "input": input, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input + 9,
        "cost": { "total": 0.01 } });
    let call = json!({ "type": "toolCall", "id": format!("call-{id}"), "name": "read", "arguments": {} });
    let content = if stop == "toolUse" { call } else { json!({ "type": "text", "text": "done" }) };
    message(
        id,
        Some(parent),
        &json!({ "role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": stop,
            "usage": usage, "content": [content] }),
    )
}

fn store(config: &str, entries: &[Value]) -> Store {
    let store = Store::new();
    store.write("openclaw.json", config);
    let head = json!({ "type": "session", "version": 3, "id": "long-1", "timestamp": "2026-03-05T08:00:00.000Z", "cwd": "/w" });
    let question = message("q", None, &json!({ "role": "user", "content": "question" }));
    let all: Vec<Value> = [head, question].into_iter().chain(entries.iter().cloned()).collect();
    store.write("agents/main/sessions/long-1.jsonl", &lines(&all));
    store
}

#[test]
fn a_transcript_under_two_keys_is_counted_once() {
    let store = store(CONFIG, &[answer("a1", "q", 900, "stop"), answer("a2", "a1", 1_200, "stop")]);
    let row = json!({ "sessionId": "long-1", "updatedAt": 1_772_700_000_000_u64 });
    store.write_rows(&json!({ SESSION: row, "agent:main:telegram:direct:7": row }));
    assert_eq!(store.json(&["sessions"])["sessions"].as_array().expect("a list").len(), 2);
    let cache = store.json(&["cost"]);
    assert_eq!((&cache["totals"]["calls"], &cache["totals"]["cost"]), (&json!(2), &json!(0.02)));
    assert_eq!(store.json(&["doctor"])["counts"]["transcripts"], 1);
    let (_, found, _) = store.run(&["search", "question"]);
    assert!(found.contains("1 hit in 1 of 1 transcript"), "{found}");
}

#[test]
fn a_count_of_0_is_read_as_the_gateways_release_reads_it() {
    let mut uncounted = answer("a2", "a1", 0, "stop");
    uncounted["message"]["usage"] =
        json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0 });
    let store = store(CONFIG, &[answer("a1", "q", 9_000, "stop"), uncounted]);
    let counted = |release: &str| {
        let (_, text, _) = store.run(&["context", SESSION, "--ruleset", release]);
        text.lines().find(|line| line.starts_with("runtime's estimate")).expect("a line").to_owned()
    };
    assert!(counted("2026.3.2").contains(": 0 measured at #3 (a2) "), "{}", counted("2026.3.2"));
    assert!(
        counted("2026.9.2").contains("= 9,009 measured at #2 (a1) with its answer + ~1 since"),
        "{}",
        counted("2026.9.2")
    );
}

#[test]
fn a_secret_in_the_name_of_a_tool_is_shown_nowhere() {
    let secret = format!("sk-ant-api03-{}-AA", "Zk3Lq9Xv".repeat(11));
    let call = json!({ "type": "toolCall", "id": "c1", "name": secret, "arguments": {} });
    let calling =
        message("a", Some("q"), &json!({ "role": "assistant", "stopReason": "toolUse", "content": [call] }));
    let result = message(
        "r",
        Some("a"),
        &json!({ "role": "toolResult", "toolCallId": "c1", "toolName": secret,
            "content": [{ "type": "text", "text": "x".repeat(9_000) }] }),
    );
    let store = store(CONFIG, &[calling, result, answer("z", "r", 40_000, "stop")]);
    let commands = [
        "tree",
        "context",
        "context --breakdown",
        "simulate",
        "explain",
        "replay --lost",
        "replay",
        "explain --recovery",
    ];
    for command in commands {
        let (name, options) = command.split_once(' ').unwrap_or((command, ""));
        for json in ["", "--json"] {
            let words = [name, SESSION, options, json].into_iter().filter(|word| !word.is_empty());
            let (_, out, error) = store.run(&words.collect::<Vec<_>>());
            assert!(out.len() > 100 && !out.contains("Zk3Lq9Xv"), "{command} {json}: {out}{error}");
        }
    }
}

#[test]
fn a_secret_in_a_providers_error_is_shown_nowhere() {
    let secret = format!("sk-ant-api03-{}-AA", "Zk3Lq9Xv".repeat(11));
    let text = format!("prompt is too long: 213462 tokens > 200000 maximum, key {secret}");
    let refused = message(
        "x",
        Some("q"),
        &json!({ "role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": "error",
            "errorMessage": text, "content": [] }),
    );
    let store = store(CONFIG, &[refused]);
    for command in [
        &["explain", "--recovery", SESSION][..],
        &["explain", SESSION],
        &["tree", SESSION],
        &["context", SESSION],
    ] {
        for json in [&[][..], &["--json"]] {
            let (_, out, error) = store.run(&[command, json].concat());
            assert!(out.len() > 100 && !out.contains("Zk3Lq9Xv"), "{command:?}: {out}{error}");
        }
    }
    assert!(
        store.run(&["explain", "--recovery", SESSION]).1.contains("213462 tokens > 200000 maximum, key [")
    );
}

#[test]
fn an_answer_above_the_believed_window_fitted() {
    let store = store(CONFIG, &[answer("a1", "q", 41_500, "toolUse"), answer("a2", "a1", 43_000, "stop")]);
    let (code, line, _) = store.run(&["check", SESSION]);
    assert_eq!(code, 0, "{line}");
    assert!(line.contains("no overflow in 2 calls; the largest prompt has 43,000 tokens"), "{line}");
    assert_eq!(store.json(&["replay", SESSION])["totals"]["simulated"]["overflows"], 0);
    let (_, explained, _) = store.run(&["explain", SESSION]);
    assert!(
        explained.starts_with("No overflow yet, but the prompt has 43,009 tokens; the window is 32,000"),
        "{explained}"
    );
    let (code, line, _) = store.run(&["check", SESSION, "--budget", "42k"]);
    assert!(code == 1 && line.contains("1 of 2 calls exceeds 42,000 tokens; the first is #2 (a2)"), "{line}");
}

#[test]
fn the_dataset_holds_fractional_counts() {
    let mut odd = answer("a1", "q", 900, "stop");
    odd["message"]["usage"]["input"] = json!(2000.5);
    let mut huge = answer("a2", "a1", 900, "stop");
    huge["message"]["usage"]["input"] = json!(9.3e18);
    let store = store(CONFIG, &[odd, huge]);
    let out = store.path().join("dataset");
    let (code, text, error) =
        store.run(&["export", "--format", "parquet", "--out", out.to_str().expect("text")]);
    assert_eq!((code, error.as_str()), (0, ""), "{text}");
    assert!(text.contains("calls 2"), "{text}");
}

#[test]
fn after_a_commit_the_next_prompt_includes_the_fixed_part() {
    let mut entries = vec![answer("a0", "q", 25_000, "toolUse")];
    let mut last = "a0".to_owned();
    for at in 1..8 {
        let result = json!({ "role": "toolResult", "toolName": "read", "toolCallId": format!("call-{last}"),
            "content": [{ "type": "text", "text": "word ".repeat(1_200) }], "isError": false });
        entries.push(message(&format!("r{at}"), Some(&last), &result));
        entries.push(answer(
            &format!("a{at}"),
            &format!("r{at}"),
            25_000 + 1_500 * at,
            if at == 7 { "stop" } else { "toolUse" },
        ));
        last = format!("a{at}");
    }
    let store = store(CONFIG, &entries);
    let mut words = vec!["commit", SESSION, "--apply"];
    for set in [
        "contextPruning.mode=cache-ttl",
        "contextPruning.keepLastAssistants=1",
        "contextPruning.softTrimRatio=0",
        "contextPruning.hardClearRatio=0",
        "contextPruning.minPrunableToolChars=0",
    ] {
        words.extend(["--set", set]);
    }
    let (code, out, error) = store.run(&words);
    assert_eq!(code, 0, "{out}{error}");
    let tokens = store.json(&["sessions"])["sessions"][0]["tokens"].clone();
    assert_eq!(tokens["source"], "calibrated", "{tokens}");
    assert!(
        (24_900..28_000).contains(&tokens["value"].as_u64().expect("tokens")),
        "{tokens}: the fixed part is missing"
    );
}
