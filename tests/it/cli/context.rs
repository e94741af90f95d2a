//! `tree`, `context` and its estimators.

use serde_json::{Value, json};

use super::{has_keys, overflowed, sum};
use crate::support::store::{LAST_PROMPT, RESULT_CHARS, RESULTS, Store, long_session, program, run};

#[test]
fn tree_marks_the_active_path_the_leaf_and_the_branches() {
    let store = Store::new();
    let answer = store.json(&["tree", "main"]);
    let nodes = answer["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), long_session().len() - 1);
    assert_eq!(answer["leaf"], "touch-0");
    let node = |id: &str| nodes.iter().find(|node| node["entry"] == id).unwrap();
    assert_eq!((&node("side-0")["active"], &node("side-0")["depth"]), (&json!(false), &json!(1)));
    assert_eq!((&node("touch-0")["leaf"], &node("touch-0")["active"]), (&json!(true), &json!(true)));
    assert_eq!(node("user-0")["children"], json!(["side-0", "call-0"]));
    let (_, out, _) = store.run(&["tree", "main"]);
    assert!(out.contains("├╴○ side-0") && out.lines().last().unwrap().contains("◀"), "{out}");
}

#[test]
fn the_tokens_of_a_context_are_the_sum_over_its_messages() {
    let store = Store::new();
    let answer = store.json(&["context", "agent:main:main"]);
    let wanted = ["leaf", "window", "estimate", "messages", "sessionTokens", "messageTokens", "budget"];
    has_keys(&answer, &wanted);
    has_keys(&answer["messages"][0], &["index", "entry", "role", "tool", "tokens", "chars"]);
    let messages = &answer["messages"];
    assert_eq!(messages.as_array().unwrap().len(), 1 + 2 * RESULTS + 3);
    assert_eq!(answer["messageTokens"], sum(messages, "tokens"));
    assert_eq!(answer["budget"]["total"], answer["nextCall"]["tokens"]["value"]);
    let side = "another way".len().div_ceil(4) as u64;
    assert_eq!(answer["sessionTokens"], sum(messages, "tokens") + side);
    let estimate = &answer["estimate"];
    assert_eq!(
        (&estimate["usageTokens"], &estimate["trailingTokens"]),
        (&json!(LAST_PROMPT + 10), &json!(0))
    );
    assert_eq!(answer["window"], json!({ "tokens": 200_000, "source": "model", "contextTokens": 20_000 }));
    for message in messages.as_array().unwrap() {
        assert_eq!(message["tokens"].as_u64().unwrap(), message["chars"].as_u64().unwrap().div_ceil(4));
    }
}

#[test]
fn estimators_are_shown_for_every_counted_call() {
    let store = Store::new();
    let answer = store.json(&["context", "agent:main:main", "--estimators"]);
    let wanted = ["session", "leaf", "fixedTokens", "calibration", "chars", "images", "copies"];
    has_keys(&answer, &wanted);
    let names = ["pi", "gateway", "weighted", "usage", "calibrated"];
    let estimators = answer["estimators"].as_array().expect("a list");
    assert_eq!(estimators.iter().map(|item| item["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let calls = answer["calls"].as_array().expect("a list");
    assert!(!calls.is_empty());
    for call in calls {
        has_keys(call, &["entry", "line", "measured", "shrunk"]);
        has_keys(&call["estimates"], &names);
        assert!(call["measured"].as_u64().is_some() && call["estimates"]["pi"].as_u64().is_some());
    }
    // The estimates of the next prompt equal those of the context itself.
    let context = store.json(&["context", "agent:main:main"]);
    let fixed = answer["fixedTokens"].as_u64().unwrap_or(0);
    assert_eq!(estimators[0]["now"], fixed + context["messageTokens"].as_u64().expect("tokens"));
    assert_eq!(estimators[3]["now"], context["estimate"]["tokens"]);
}

#[test]
fn estimators_in_words_show_the_last_calls_and_all_on_demand() {
    let words = |all: &[&str]| {
        let mut words = vec!["context", "agent:main:feishu:direct:ou_3f7c21ab", "--demo", "--estimators"];
        words.extend(all);
        run(&mut program(&words)).1
    };
    let text = words(&[]);
    assert!(text.contains("chars/4 estimates ~") && text.contains("; messages alone "), "{text}");
    assert!(
        text.contains("the last 20, with the error") && text.contains("--all lists every call"),
        "{text}"
    );
    assert!(words(&["--all"]).lines().count() > text.lines().count());
}

#[test]
fn a_context_can_end_at_another_entry_and_hold_its_messages() {
    let store = Store::new();
    let answer = store.json(&["context", "long", "--leaf", "side", "--messages"]);
    assert_eq!(answer["leaf"], "side-0");
    assert_eq!(answer["messages"][1]["message"]["content"][0]["text"], "another way");
    let (code, _, error) = store.run(&["context", "long", "--leaf", "nowhere"]);
    assert_eq!(code, 2, "{error}");
    let (code, _, error) = store.run(&["context", "long", "--leaf", "call"]);
    assert!(code == 2 && error.contains("matches 6 entries"), "{error}");
}

#[test]
fn a_silent_answer_is_marked_in_the_tree() {
    let store = overflowed();
    let answer = store.json(&["tree", "main"]);
    let silent: Vec<_> =
        answer["nodes"].as_array().unwrap().iter().filter(|node| node["silent"] == true).collect();
    assert_eq!((silent.len(), &silent[0]["entry"]), (1, &json!("answer-9")));
    let (_, out, _) = store.run(&["tree", "main"]);
    assert!(out.contains("assistant silent"), "{out}");
}

#[test]
fn a_context_shows_the_memory_flush_and_the_window_check() {
    let store = Store::new();
    let flush = &store.json(&["context", "main"])["memoryFlush"];
    has_keys(flush, &["state", "threshold", "total", "toGo", "late", "rule"]);
    // The flush uses the model's window, which the cap of 20,000 does not lower.
    assert_eq!((&flush["state"], &flush["threshold"]), (&json!("waiting"), &json!(176_000)));
    assert_eq!(
        (&flush["total"], &flush["toGo"]),
        (&json!({ "tokens": LAST_PROMPT + 10, "projected": true }), &json!(176_000 - LAST_PROMPT - 10))
    );
    let (_, out, _) = store.run(&["context", "main"]);
    assert!(out.contains("memory flush: at 176"), "{out}");
    assert!(out.contains("low context window: anthropic/claude-opus-4-5 ctx=20000 (warn<32000)"), "{out}");
    let off = "{ agents: { defaults: { compaction: { memoryFlush: { enabled: false } } } } }";
    store.write("openclaw.json", off);
    assert_eq!(store.json(&["context", "main"])["memoryFlush"]["state"], "off");
}

#[test]
fn long_results_have_the_length_that_these_tests_assume() {
    let answer = Store::new().json(&["context", "main"]);
    let result =
        answer["messages"].as_array().unwrap().iter().find(|message| message["role"] == "toolResult");
    assert_eq!(result.unwrap()["chars"], RESULT_CHARS);
}

#[test]
fn the_next_call_is_shown_under_settings_of_the_command_line() {
    let store = Store::new();
    let answer = store.json(&["context", "main", "--set", "contextTokens=9000"]);
    assert_eq!(answer["window"]["contextTokens"], 9000);
    let budget = |answer: &Value| answer["budget"].to_string();
    let own = store.json(&["context", "main"]);
    assert_ne!(budget(&answer), budget(&own));
    assert!(answer["messages"].as_array().unwrap().iter().any(|message| !message["sent"].is_null()));
    let (code, out, error) = store.run(&["context", "main", "--set", "contextTokens=9000"]);
    assert!(
        code == 0
            && out.contains("window 200,000 (model list; contextTokens 9,000)")
            && out.contains("under these settings"),
        "{out}{error}"
    );
    let (code, _, error) = store.run(&["context", "main", "--set", "contextToken=9000"]);
    assert!(code == 2 && error.contains("did you mean `contextTokens`?"), "{error}");
    assert_eq!(store.run(&["context", "main", "--set", "contextTokens=9000", "--messages"]).0, 2);
    assert_eq!(store.run(&["context", "main", "--set", "contextTokens=9000", "--estimators"]).0, 2);
}
