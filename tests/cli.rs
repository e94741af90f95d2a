//! The command line, as a person and a script use it: every command on stores made by hand, exit codes, JSON shapes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test stops there")]

#[path = "support/store.rs"]
mod store;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use clawscope::js;
use clawscope::store::measure::prune_chars;
use serde_json::{Value, json};
use store::{COLD, RESULT_CHARS, RESULTS, Store, TOUCHED_MS, lines, long_session, message, program, run};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[track_caller]
fn has_keys(value: &Value, wanted: &[&str]) {
    let found = keys(value);
    assert!(wanted.iter().all(|key| found.contains(key)), "{wanted:?} in {found:?}");
}

fn sum(list: &Value, key: &str) -> u64 {
    list.as_array().expect("a list").iter().map(|item| item[key].as_u64().expect("whole")).sum()
}

#[test]
fn sessions_lists_each_session_with_everything_a_script_needs() {
    let answer = Store::new().json(&["sessions"]);
    has_keys(&answer, &["place", "demo", "ruleset", "sessions", "findings"]);
    let session = &answer["sessions"][0];
    let wanted = [
        "key",
        "agent",
        "kind",
        "id",
        "path",
        "model",
        "window",
        "windowGuard",
        "tokens",
        "entries",
        "compactions",
        "updatedAt",
        "flags",
    ];
    has_keys(session, &wanted);
    assert_eq!((&session["key"], &session["id"]), (&json!("agent:main:main"), &json!("long-1")));
    assert_eq!((&session["window"], &session["windowGuard"]), (&json!(20_000), &json!("warn")));
    assert_eq!(session["entries"], long_session().len() - 1);
    assert_eq!(session["tokens"], json!({ "value": 100, "source": "measured" }));
}

#[test]
fn results_after_the_last_answer_count_in_the_list_too() {
    let store = Store::new();
    let result = json!({ "role": "toolResult", "toolCallId": "t", "toolName": "exec",
        "content": [{ "type": "text", "text": "x".repeat(400_000) }], "isError": false });
    store.append(&message("late", Some("touch-0"), &result));
    let answer = store.json(&["sessions"]);
    let session = &answer["sessions"][0];
    let estimate = &store.json(&["context", "main"])["estimate"]["tokens"];
    assert_eq!(session["tokens"], json!({ "value": estimate, "source": "calibrated" }));
    assert!(
        estimate.as_u64() > Some(100_000) && session["flags"] == json!([]),
        "no call was refused: {session}"
    );
}

#[test]
fn a_session_without_a_row_is_called_what_it_calls_itself_or_what_was_requested_first() {
    let store = Store::new();
    let folder = "sessions/--w--/";
    let ask = |text: &str| message("a", None, &json!({ "role": "user", "content": text }));
    let header = |id: &str| json!({ "type": "session", "version": 3, "id": id, "cwd": "/w" });
    let name = json!({ "type": "session_info", "id": "b", "parentId": "a", "name": "release notes" });
    store.write(&format!("{folder}1_x.jsonl"), &lines(&[header("x"), ask("why\n is  it slow?")]));
    store.write(&format!("{folder}2_y.jsonl"), &lines(&[header("y"), ask("why?"), name]));
    let answer = store.json(&["sessions", store.path().join("sessions").to_str().unwrap()]);
    let titles: Vec<_> =
        answer["sessions"].as_array().unwrap().iter().map(|s| (&s["id"], &s["title"])).collect();
    assert!(titles.contains(&(&json!("x"), &json!("why is it slow?"))), "{titles:?}");
    assert!(titles.contains(&(&json!("y"), &json!("release notes"))), "{titles:?}");
}

#[test]
fn the_table_of_sessions_stays_aligned_under_wide_names() {
    let store = Store::new();
    store.write_rows(&json!({
        "agent:main:main": { "sessionId": "long-1", "displayName": "家里人 👪" },
        "agent:main:b": { "sessionId": "b", "displayName": "short" },
    }));
    let (code, out, _) = store.run(&["sessions"]);
    assert_eq!(code, 0);
    let head = out.lines().find(|line| line.contains("tokens")).expect("a head");
    let end = clawscope::text::width(&head[..head.find("window").expect("window") + "window".len()]);
    let row = out.lines().find(|line| line.contains("家里人")).expect("the row");
    let own_end = clawscope::text::width(&row[..row.find("20,000").expect("the window") + "20,000".len()]);
    assert_eq!(end, own_end, "{out}");
}

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
    assert_eq!(answer["budget"]["total"], sum(messages, "tokens"));
    let side = "another way".len().div_ceil(4) as u64;
    assert_eq!(answer["sessionTokens"], sum(messages, "tokens") + side);
    let estimate = &answer["estimate"];
    assert_eq!((&estimate["usageTokens"], &estimate["trailingTokens"]), (&json!(110), &json!(0)));
    assert_eq!(answer["window"], json!({ "tokens": 20_000, "source": "agentContextTokens" }));
    for message in messages.as_array().unwrap() {
        assert_eq!(message["tokens"].as_u64().unwrap(), message["chars"].as_u64().unwrap().div_ceil(4));
    }
}

#[test]
fn estimators_are_reported_for_every_call_that_was_counted() {
    let store = Store::new();
    let answer = store.json(&["context", "agent:main:main", "--estimators"]);
    let wanted = ["session", "leaf", "fixedTokens", "tokenizer", "calibration", "chars", "images", "copies"];
    has_keys(&answer, &wanted);
    let names = ["pi", "gateway", "weighted", "usage", "bpe", "calibrated"];
    let estimators = answer["estimators"].as_array().expect("a list");
    assert_eq!(estimators.iter().map(|item| item["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let calls = answer["calls"].as_array().expect("a list");
    assert!(!calls.is_empty());
    for call in calls {
        has_keys(call, &["entry", "line", "measured", "shrunk"]);
        has_keys(&call["estimates"], &names);
        assert!(call["measured"].as_u64().is_some() && call["estimates"]["pi"].as_u64().is_some());
    }
    // What the estimates say of the next prompt is what the context itself says.
    let context = store.json(&["context", "agent:main:main"]);
    assert_eq!(estimators[0]["now"], context["budget"]["total"]);
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
    assert!(text.contains("chars/4 estimates ~") && text.contains("for the messages alone"), "{text}");
    assert!(text.contains("the last 20 (--all shows every call)") && text.contains("approximates"), "{text}");
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

/// The long session, refused for its size, compacted, and answered.
fn overflowed() -> Store {
    let store = Store::new();
    let refused = json!({ "role": "assistant", "content": [], "stopReason": "error", "provider": "anthropic",
        "model": "claude-opus-4-6", "timestamp": 1_772_700_100_000_u64,
        "errorMessage": "prompt is too long: 203412 tokens > 200000 maximum" });
    store.append(&message("user-1", Some("touch-0"), &json!({ "role": "user", "content": "and now?" })));
    store.append(&message("refused-0", Some("user-1"), &refused));
    store.append(&json!({ "type": "compaction", "id": "compaction-0", "parentId": "refused-0", "summary": "so far",
        "firstKeptEntryId": "user-1", "tokensBefore": 203_412, "timestamp": "2026-03-05T08:42:00.000Z", "fromHook": true }));
    let silent = json!({ "role": "assistant", "content": [{ "type": "text", "text": "NO_REPLY" }], "stopReason": "stop" });
    store.append(&message("answer-9", Some("compaction-0"), &silent));
    store
}

#[test]
fn recovery_sets_what_is_recorded_beside_what_is_expected() {
    let store = overflowed();
    let answer = store.json(&["recovery", "main"]);
    let wanted =
        ["session", "window", "compaction", "happened", "overflow", "attempts", "ending", "recorded"];
    has_keys(&answer, &wanted);
    let overflow = &answer["overflow"];
    assert_eq!(
        (&overflow["entry"], &overflow["tokens"], &overflow["limit"]),
        (&json!("refused-0"), &json!(203_412), &json!(200_000))
    );
    assert_eq!(overflow["detectors"]["chat"], true);
    assert_eq!(answer["compaction"]["mode"], "safeguard");
    assert_eq!(answer["compaction"]["maxResultChars"], 24_000);
    let steps = answer["attempts"][0]["steps"].as_array().unwrap();
    let reported: Vec<_> =
        steps.iter().map(|step| (&step["step"], &step["outcome"], &step["shown"])).collect();
    let [refused, compacted, answered] = reported.as_slice() else { panic!("{reported:?}") };
    assert_eq!(*refused, (&json!("call"), &json!("refused"), &json!(true)));
    assert_eq!(*compacted, (&json!("compactionInRun"), &json!("cancelled"), &json!(true)));
    assert_eq!(answered.0, &json!("runAgain"));
    let recorded: Vec<_> = answer["recorded"].as_array().unwrap().iter().map(|seen| &seen["what"]).collect();
    assert_eq!(recorded, ["refused", "compacted", "answered"]);
    let (code, out, _) = store.run(&["recovery", "main"]);
    assert_eq!(code, 0);
    assert!(out.contains("overflow at refused-0") && out.contains("compaction 8.10"), "{out}");
}

#[test]
fn recovery_of_a_session_that_never_overflowed_is_that_of_its_next_call() {
    let answer = Store::new().json(&["recovery", "main"]);
    assert_eq!((&answer["happened"], &answer["overflow"]["entry"]), (&json!(false), &json!(null)));
    assert_eq!(answer["recorded"], json!([]));
}

#[test]
fn an_explanation_names_the_verdict_first_and_has_stable_keys() {
    let store = overflowed();
    let answer = store.json(&["explain", "main"]);
    let wanted = [
        "schemaVersion",
        "session",
        "ruleset",
        "overflow",
        "events",
        "verdict",
        "mechanism",
        "parts",
        "guards",
        "counts",
        "mismeasured",
        "aftermath",
        "findings",
        "advice",
        "recorded",
        "tried",
        "exhausted",
        "noSettingHelps",
    ];
    has_keys(&answer, &wanted);
    assert_eq!(answer["schemaVersion"], 2);
    let event = &answer["events"][0];
    assert_eq!(
        (&event["entry"], &event["requested"], &event["limit"]),
        (&json!("refused-0"), &json!(203_412), &json!(200_000))
    );
    has_keys(&answer["verdict"], &["class", "confidence", "line"]);
    let first = &answer["findings"][0];
    has_keys(first, &["class", "confidence", "text", "rule", "flips", "evidence", "lines", "numbers"]);
    assert_eq!((&first["class"], &first["text"]), (&answer["verdict"]["class"], &answer["verdict"]["line"]));
    assert!(first["evidence"].as_array().unwrap().contains(&json!("refused-0")), "{first}");
    for advice in answer["advice"].as_array().unwrap() {
        let keys = [
            "set",
            "helps",
            "hasRoom",
            "overflows",
            "peak",
            "cost",
            "note",
            "fits",
            "before",
            "after",
            "compactions",
            "limit",
            "patch",
            "commands",
        ];
        has_keys(advice, &keys);
        assert!(
            advice["overflows"].is_u64() && advice["peak"].is_u64() && advice["cost"].is_number(),
            "{advice}"
        );
        assert_eq!(advice["helps"] == true, advice["overflows"] == 0, "{advice}");
    }
    let (code, out, _) = store.run(&["explain", "main"]);
    assert_eq!((code, out.lines().next()), (0, answer["verdict"]["line"].as_str()));
}

#[test]
fn a_whole_store_is_explained_with_those_at_risk_first() {
    let store = overflowed();
    let answer = store.json(&["explain", "--all", "--window", "1000", "--window", "131072"]);
    let session = &answer["sessions"][0];
    let keys = ["session", "overflow", "verdict", "noSettingHelps", "tokens", "window", "windows"];
    has_keys(session, &keys);
    assert_eq!(session["overflow"], true);
    let windows: Vec<_> =
        session["windows"].as_array().unwrap().iter().map(|it| (&it["window"], &it["overflows"])).collect();
    assert_eq!(windows.len(), 2);
    assert_eq!(windows[1], (&json!(131_072), &json!(false)));
    let (code, out, _) = store.run(&["explain", "--all"]);
    assert!(code == 0 && out.starts_with("1 session, 1 overflowed"), "{out}");
    let (code, _, error) = store.run(&["explain"]);
    assert!(code == 2 && error.contains("SESSION"), "{error}");
    let (code, _, error) = store.run(&["explain", "main", "--window", "5"]);
    assert!(code == 2 && error.contains("--all"), "{error}");
}

#[test]
fn each_session_of_the_demo_shows_its_story() {
    let output = program(&["--demo", "explain", "--all", "--json"]).output().expect("it runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let stories = [
        ("agent:main:slack:channel:c07infra", "parallel-results"),
        ("agent:main:telegram:direct:8812", "pruning-inert"),
        ("agent:main:feishu:direct:ou_3f7c21ab", "healthy"),
        ("agent:main:discord:channel:118204471002", "healthy"),
        ("agent:research:subagent:0d6f4b52-8a1c-4c55-9e0b-2b7f0f3ad914", "healthy"),
        ("agent:research:main", "healthy"),
        ("agent:research:llvm-notes", "healthy"),
        ("agent:main:whatsapp:group:120363041188", "healthy"),
        ("agent:main:hook:9c2d7a64-0b1e-4f0a-8a55-6d2f4f6c1b23", "healthy"),
        ("agent:main:cron:5b0e6c1e-77a2-4a43-9c52-1f2d8a6b9e10", "healthy"),
    ];
    let sessions = answer["sessions"].as_array().expect("a list");
    for (key, class) in stories {
        let session =
            sessions.iter().find(|it| it["session"]["key"] == key).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(
            (&session["verdict"]["class"], &session["verdict"]["confidence"]),
            (&json!(class), &json!("sure")),
            "{key}"
        );
        // Each told alone says the same.
        let alone = program(&["--demo", "explain", key, "--json"]).output().expect("it runs");
        let alone: Value = serde_json::from_slice(&alone.stdout).expect("JSON");
        assert_eq!(alone["verdict"], session["verdict"], "{key}");
    }
    assert_eq!(sessions.iter().filter(|it| it["overflow"] == true).count(), 2);
    assert_eq!(sessions.iter().filter(|it| it["noSettingHelps"] == true).count(), 1);
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
fn a_context_shows_how_far_the_memory_flush_is_and_what_the_gateway_thinks_of_the_window() {
    let store = Store::new();
    let flush = &store.json(&["context", "main"])["memoryFlush"];
    has_keys(flush, &["state", "threshold", "total", "toGo", "late", "rule"]);
    // The window of the flush is the model's own, which the cap of 20,000 does not lower.
    assert_eq!((&flush["state"], &flush["threshold"]), (&json!("waiting"), &json!(176_000)));
    assert_eq!(
        (&flush["total"], &flush["toGo"]),
        (&json!({ "tokens": 110, "projected": true }), &json!(175_890))
    );
    let (_, out, _) = store.run(&["context", "main"]);
    assert!(out.contains("memory flush: at 176"), "{out}");
    assert!(out.contains("low context window: anthropic/claude-opus-4-6 ctx=20000 (warn<32000)"), "{out}");
    let off = "{ agents: { defaults: { compaction: { memoryFlush: { enabled: false } } } } }";
    store.write("openclaw.json", off);
    assert_eq!(store.json(&["context", "main"])["memoryFlush"]["state"], "off");
}

#[test]
fn a_breakdown_adds_up_and_holds_the_report_as_it_is_stored() {
    let (code, out, error) =
        run(&mut program(&["context", "telegram:direct:8812", "--demo", "--breakdown", "--json"]));
    assert_eq!(code, 0, "{error}");
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let wanted = [
        "session",
        "leaf",
        "window",
        "budget",
        "percent",
        "system",
        "files",
        "schemas",
        "roles",
        "text",
        "thinking",
        "tools",
        "images",
        "heaviest",
        "history",
        "remainder",
        "report",
    ];
    has_keys(&answer, &wanted);
    let (budget, tokens) = (&answer["budget"], |value: &Value| value["tokens"].as_u64().expect("whole"));
    let system = &answer["system"];
    let pieces = tokens(&system["instructions"]) + tokens(&system["skills"]) + tokens(&system["toolList"]);
    assert_eq!((budget["system"].as_u64(), pieces), (Some(tokens(system)), tokens(system)));
    assert_eq!(
        sum(&system["skills"]["items"], "tokens") + tokens(&system["skills"]["around"]),
        tokens(&system["skills"])
    );
    let files = &answer["files"];
    assert_eq!(sum(&files["items"], "tokens") + tokens(&files["around"]), budget["files"]);
    let nested = |key: &str, inner: &str| -> u64 {
        let tools = answer["tools"].as_array().expect("a list").iter();
        tools.filter_map(|tool| tool[key][inner].as_u64()).sum()
    };
    assert_eq!(nested("schema", "tokens") + tokens(&answer["schemas"]["other"]), budget["tools"]);
    assert_eq!(nested("results", "tokens"), budget["results"]);
    assert_eq!(nested("calls", "tokens") + tokens(&answer["text"]), budget["asst"]);
    assert_eq!(answer["thinking"]["tokens"], budget["thinking"]);
    let of = |part: &str| -> u64 {
        let roles = answer["roles"].as_array().expect("a list").iter();
        roles.filter(|role| role["part"] == part).map(tokens).sum()
    };
    assert_eq!(
        (of("you"), of("summary")),
        (budget["you"].as_u64().unwrap(), budget["summary"].as_u64().unwrap())
    );
    assert_eq!(
        (&answer["report"]["source"], &answer["report"]["systemPrompt"]["chars"]),
        (&json!("run"), &json!(62_800))
    );
    let remainder = &answer["remainder"];
    let difference = remainder["measured"].as_i64().unwrap() - remainder["estimated"].as_i64().unwrap();
    assert_eq!((&remainder["reason"], &remainder["tokens"]), (&json!("estimator"), &json!(difference)));
    assert_eq!(remainder["measured"], 176_174);
    let states: Vec<&str> =
        files["items"].as_array().unwrap().iter().map(|file| file["status"].as_str().unwrap()).collect();
    assert_eq!(states.iter().filter(|state| **state == "truncated").count(), 2, "{states:?}");
    assert!(states.contains(&"missing") && files["warnings"].as_array().unwrap().len() == 2);
    assert_eq!(answer["heaviest"][0]["block"]["type"], "text");
    assert_eq!(answer["history"]["compactions"], 1);
    let path = |of: &str| answer["history"][of]["tokens"].as_u64().unwrap();
    assert!(path("file") >= path("path") && path("path") > path("window"));
}

#[test]
fn without_a_report_the_remainder_says_so_and_nothing_is_made_up() {
    let store = Store::new();
    let answer = store.json(&["context", "main", "--breakdown"]);
    assert!(
        answer["system"].is_null() && answer["files"].is_null() && answer["schemas"].is_null(),
        "{answer}"
    );
    assert!(answer["report"].is_null());
    assert_eq!(
        (&answer["remainder"]["reason"], &answer["remainder"]["measured"]),
        (&json!("no-report"), &json!(100))
    );
    let (code, out, _) = store.run(&["context", "main", "--breakdown"]);
    assert!(code == 0 && out.contains("no report stored"), "{out}");
    let other = store.json(&["context", "main", "--breakdown", "--leaf", "side"]);
    assert_eq!(
        (&other["remainder"]["reason"], &other["remainder"]["tokens"]),
        (&json!("not-measured"), &Value::Null)
    );
    assert_eq!(store.run(&["context", "main", "--breakdown", "--messages"]).0, 2);
}

#[test]
fn an_odd_report_is_reported_as_far_as_it_makes_sense() {
    let store = Store::new();
    let report = json!({ "source": "estimate", "systemPrompt": { "chars": 4_000, "projectContextChars": "many" },
        "injectedWorkspaceFiles": [null, { "name": "\u{1b}[2JA.md", "injectedChars": 9_999 }],
        "skills": 5, "tools": { "schemaChars": 400, "entries": [{ "name": "exec", "schemaChars": 300 }] } });
    store.write_rows(&json!({ "agent:main:main": { "sessionId": "long-1", "systemPromptReport": report } }));
    let answer = store.json(&["context", "main", "--breakdown"]);
    assert_eq!((&answer["system"]["tokens"], &answer["files"]["tokens"]), (&json!(0), &json!(1_000)));
    assert_eq!(answer["tools"][0]["schema"], json!({ "chars": 300, "tokens": 75, "properties": null }));
    assert_eq!(
        (&answer["schemas"]["other"]["tokens"], &answer["remainder"]["reason"]),
        (&json!(25), &json!("estimated-report"))
    );
    assert_eq!(answer["report"], report);
    let (_, out, _) = store.run(&["context", "main", "--breakdown"]);
    assert!(!out.contains('\u{1b}') && out.contains("A.md"), "{out}");
}

#[test]
fn simulate_shows_a_fate_for_every_message_and_its_sums_agree() {
    let store = Store::new();
    let answer = store.json(&["simulate", "main", "--now", COLD]);
    has_keys(&answer, &["settings", "before", "after", "fates", "gate", "window", "provenance"]);
    let fates = &answer["fates"];
    has_keys(&fates[0], &["index", "entry", "fate", "reason", "before", "after"]);
    assert_eq!(answer["gate"]["open"], true);
    assert_eq!(answer["before"]["chars"], sum(fates, "before"));
    assert_eq!(answer["after"]["chars"], sum(fates, "after"));
    assert_eq!(answer["before"]["tokens"], sum(fates, "tokensBefore"));
    assert_eq!(answer["after"]["tokens"], sum(fates, "tokensAfter"));
    assert!(answer["after"]["tokens"].as_u64() < answer["before"]["tokens"].as_u64());
    let context = store.json(&["context", "main"]);
    assert_eq!(answer["before"]["tokens"], context["messageTokens"]);
    assert_eq!(sum(&context["messages"], "prunerChars"), sum(fates, "before"));
    assert_eq!(answer["provenance"]["softTrimRatio"], "default");
    assert!(answer["provenance"]["minPrunableToolChars"].as_str().unwrap().ends_with("openclaw.json:3"));
}

#[test]
fn the_sizes_that_simulate_predicts_are_those_of_its_messages() {
    let store = Store::new();
    for set in [
        "contextPruning.hardClear.enabled=false",
        "contextPruning.softTrim.headChars=1",
        "contextPruning.hardClearRatio=0",
    ] {
        let answer = store.json(&["simulate", "main", "--messages", "--set", set]);
        let fates = answer["fates"].as_array().unwrap();
        assert!(fates.iter().any(|fate| fate["before"] != fate["after"]), "{set}");
        for (fate, message) in fates.iter().zip(answer["messages"].as_array().unwrap()) {
            let message = js::parse(&message.to_string()).unwrap();
            assert_eq!(prune_chars(&message), Ok(fate["after"].as_f64().unwrap()), "{set} {fate}");
        }
    }
}

#[test]
fn at_a_given_moment_a_shut_gate_leaves_everything_as_it_is() {
    let store = Store::new();
    let warm = ["simulate", "main", "--now", "2026-03-05T08:41:00Z"];
    let answer = store.json(&warm);
    assert_eq!(answer["gate"]["reason"], "cache-warm");
    assert_eq!(answer["before"], answer["after"]);
    let (code, out, _) = store.run(&warm);
    assert!(code == 0 && out.contains("gate: shut"), "{out}");
}

#[test]
fn without_a_moment_the_effect_is_shown_and_the_gate_is_reported_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    clawscope::store::demo::write_to(dir.path()).unwrap();
    let words = ["simulate", "agent:main:telegram:direct:8812", "--json", "--store"];
    let (code, out, error) = run(program(&words).arg(dir.path()));
    assert_eq!(code, 0, "{error}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert!(answer["after"]["tokens"].as_u64() < answer["before"]["tokens"].as_u64());
}

#[test]
fn the_parts_of_a_compaction_add_up_and_its_lines_are_reported_once() {
    let words = ["simulate", "telegram:direct:8812", "--demo", "--policy", "compact"];
    let (_, out, _) = run(program(&words).arg("--json"));
    let answer: Value = serde_json::from_str(&out).unwrap();
    let of = |part: &str, key: &str| answer["compaction"][part][key].as_u64().unwrap();
    let parts = ["previousSummary", "history", "turnPrefix", "kept", "lost"];
    let sum = |key: &str| parts.iter().map(|part| of(part, key)).sum::<u64>();
    assert_eq!(sum("tokens"), answer["steps"][0]["tokensBefore"].as_u64().unwrap());
    assert_eq!(sum("messages"), answer["steps"][0]["messagesBefore"].as_u64().unwrap());
    assert_eq!(of("previousSummary", "messages"), 1);
    let (_, out, _) = run(&mut program(&words));
    assert!(out.contains("the summary before, taken up into the new one (compaction 3.12)"), "{out}");
    assert!(!out.contains("\n\n\n"), "{out}");
}

#[test]
fn sentences_group_their_digits_as_the_tables_do() {
    for words in
        [["context", "telegram:direct:8812", "--demo"], ["recovery", "telegram:direct:8812", "--demo"]]
    {
        let (code, out, _) = run(&mut program(&words));
        assert_eq!(code, 0);
        assert!(!out.contains('\u{a0}'), "{out}");
    }
    let (_, out, _) = run(&mut program(&["context", "telegram:direct:8812", "--demo"]));
    assert!(
        out.contains("as the runtime counts: ~189,030 = 176,202 measured at 916be621 + ~12,828 since"),
        "{out}"
    );
    assert!(out.contains("by part: ~169,359 = system ~9,600"), "{out}");
}

#[test]
fn a_session_without_messages_gets_no_empty_tables() {
    let store = Store::new();
    store.write("empty.jsonl", "{\"type\":\"session\",\"version\":3,\"id\":\"e\",\"timestamp\":\"2026-03-05T08:00:00.000Z\",\"cwd\":\"/\"}\n");
    let path = store.path().join("empty.jsonl");
    for command in ["simulate", "context"] {
        let (code, out, error) = run(program(&[command]).arg(&path));
        assert_eq!(code, 0, "{error}");
        assert!(!out.contains("unchanged") && !out.contains("by part"), "{out}");
    }
}

#[test]
fn setting_a_key_switches_pruning_on_for_the_preview() {
    let store = Store::new();
    store.write("openclaw.json", "{}");
    let answer = store.json(&["simulate", "main", "--now", COLD]);
    assert_eq!(
        (&answer["gate"]["reason"], &answer["settings"]["mode"]),
        (&json!("pruning-off"), &json!("off"))
    );
    let set = "contextPruning.softTrimRatio=0.01";
    let answer =
        store.json(&["simulate", "main", "--now", COLD, "--set", set, "--set", "contextTokens=30000"]);
    assert_eq!((&answer["gate"]["open"], &answer["settings"]["mode"]), (&json!(true), &json!("cache-ttl")));
    assert_eq!(
        (&answer["settings"]["softTrimRatio"], &answer["window"]["tokens"]),
        (&json!(0.01), &json!(30_000))
    );
    assert_eq!(answer["provenance"]["softTrimRatio"], "command line");
    let off = store.json(&["simulate", "main", "--set", set, "--set", "contextPruning.mode=off"]);
    assert_eq!(off["gate"]["reason"], "pruning-off");
}

#[test]
fn unknown_keys_and_wrong_values_are_usage_errors_that_teach() {
    let store = Store::new();
    let (code, out, error) = store.run(&["simulate", "main", "--set", "contextPruning.softRatio=0.2"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("contextPruning.softTrimRatio") && error.contains("contextTokens"), "{error}");
    let (code, _, error) =
        store.run(&["simulate", "main", "--set", "contextPruning.keepLastAssistants=few", "--json"]);
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!((code, &error["error"]["kind"]), (2, &json!("usage")));
    assert!(error["error"]["message"].as_str().unwrap().contains("a whole number, 0 or more"));
    assert_eq!(store.run(&["simulate", "main", "--policy", "magic"]).0, 2);
    assert_eq!(store.run(&["context", "main", "--nope"]).0, 2);
}

#[test]
fn steps_run_in_the_gateways_order_and_hand_their_tokens_on() {
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
fn a_compaction_shows_what_it_keeps_and_what_a_summary_replaces() {
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
fn every_key_of_a_step_is_taken_by_its_name_and_a_step_left_out_is_named() {
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
fn settings_come_from_a_file_and_the_command_line_comes_after() {
    let store = Store::new();
    store.write("new.json5", "{ contextPruning: { softTrimRatio: 0.05, softTrim: { maxChars: 100 }, } }");
    let file = store.path().join("new.json5").to_string_lossy().into_owned();
    let words = ["simulate", "main", "--settings", &file, "--set", "contextPruning.softTrimRatio=0.06"];
    let settings = &store.json(&words)["settings"];
    assert_eq!((&settings["softTrimRatio"], &settings["softTrim"]["maxChars"]), (&json!(0.06), &json!(100)));
}

/// A store of today's pi with one session in it: a prompt with a tool, a call, its long result, and three answers.
fn todays_store() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("sessions/--w--");
    std::fs::create_dir_all(&folder).unwrap();
    let id = "019acff0-65e9-7dcc-a629-f857ee0478a9";
    let mut entries = long_session();
    entries[0]["id"] = json!(id);
    let tool = json!({ "name": "exec", "description": "runs", "parameters": {} });
    let system = json!({ "role": "system", "content": "", "sections": { "preamble": "You help." }, "toolsAdded": [tool], "timestamp": 1 });
    entries[1]["parentId"] = json!("system-0");
    entries.insert(1, message("system-0", None, &system));
    // The touch is a gateway's.
    entries.pop();
    let file = folder.join(format!("2026-03-05T08-00-00-000Z_{id}.jsonl"));
    std::io::Write::write_all(&mut std::fs::File::create(&file).unwrap(), lines(&entries).as_bytes())
        .unwrap();
    (dir, file)
}

#[test]
fn a_session_of_todays_pi_is_committed_as_context_edits_and_taken_back() {
    let (dir, file) = todays_store();
    let place = ["019acff0", "--store", dir.path().to_str().unwrap(), "--json"];
    let json = |words: &[&str]| -> Value {
        let (code, text, error) = run(&mut program(&[words, &place].concat()));
        assert_eq!(code, 0, "{words:?}: {error}");
        serde_json::from_str(&text).unwrap()
    };
    let context = json(&["context"]);
    assert_eq!(context["ruleset"]["id"], "pi-1.5");
    assert_eq!(context["messages"][0]["role"], "system");
    assert!(context["budget"]["system"].as_u64() > Some(0) && context["budget"]["tools"].as_u64() > Some(0));
    let before = std::fs::read(&file).unwrap();
    let commit = ["commit", "--policy", "truncate", "--set", "truncate.maxChars=3000"];
    let dry = json(&commit);
    assert_eq!((&dry["way"], &dry["applied"]), (&json!("context_edit"), &json!(false)));
    assert!(dry["why"].as_str().unwrap().contains("copies nothing"), "{}", dry["why"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let done = json(&[&commit[..], &["--apply"]].concat());
    let text = String::from_utf8(std::fs::read(&file).unwrap()).unwrap();
    let added = text.strip_prefix(std::str::from_utf8(&before).unwrap()).expect("the old bytes stay");
    assert_eq!(added.matches("\"type\":\"context_edit\"").count(), RESULTS);
    assert_eq!(added.matches("\"type\":\"message\"").count(), 0);
    assert_eq!(done["changed"].as_array().unwrap().len(), RESULTS);
    let edited = json(&["context"]);
    let edits = edited["messages"].as_array().unwrap().iter().filter(|it| !it["edit"].is_null()).count();
    assert_eq!(edits, RESULTS);
    assert!(edited["messageTokens"].as_u64() < context["messageTokens"].as_u64());
    json(&["undo", "--apply"]);
    assert_eq!(json(&["context"])["messages"], context["messages"]);
}

#[test]
fn pis_own_settings_are_shown_set_and_varied_with_the_file_that_holds_them() {
    let (dir, _) = todays_store();
    let settings = dir.path().join("settings.json");
    write_file(&settings,
        "{\n \"compaction\": {\n  \"reserveTokens\": 30000,\n  \"modelOverrides\": { \"anthropic/claude-opus-4-6\": { \"keepRecentTokens\": 5000 } }\n }\n}",
    )
    .unwrap();
    let models = r#"{"providers":{"anthropic":{"models":[{"id":"claude-opus-4-6","contextWindow":64000}]}}}"#;
    write_file(dir.path().join("models.json"), models).unwrap();
    let path = dir.path().to_str().unwrap();
    let json = |words: &[&str]| -> Value {
        let (code, text, error) = run(&mut program(&[words, &["--json"]].concat()));
        assert_eq!(code, 0, "{words:?}: {error}");
        serde_json::from_str(&text).unwrap()
    };
    let doctor = json(&["doctor", path]);
    let setting = |key: &str| -> Value {
        let settings = doctor["settings"].as_array().unwrap();
        settings.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("{key}: {settings:?}")).clone()
    };
    let at = |line: u32| json!(format!("{}:{line}", settings.display()));
    assert_eq!(setting("compaction.reserveTokens")["from"], at(3));
    assert_eq!(setting("compaction.keepRecentTokens")["from"], "default");
    let own = setting("compaction.modelOverrides[anthropic/claude-opus-4-6].keepRecentTokens");
    assert_eq!((&own["value"], &own["from"]), (&json!(5000), &at(4)));
    assert_eq!((&doctor["contextPruning"], &doctor["memoryFlush"]), (&json!([]), &json!([])));

    let session = ["019acff0", "--store", path];
    let sweep = json(&[&["sweep"], &session[..]].concat());
    let keys: Vec<&str> =
        sweep["axes"].as_array().unwrap().iter().map(|axis| axis["key"].as_str().unwrap()).collect();
    assert!(!keys.is_empty() && keys.iter().all(|key| key.starts_with("compaction.")), "{keys:?}");
    let vary = ["sweep", "--vary", "compaction.keepRecentTokens=2000,8000"];
    let sweep = json(&[&vary[..], &session[..]].concat());
    assert_eq!(sweep["axes"][0]["values"], json!([2000, 5000, 8000]));
    assert_eq!(sweep["providerWindow"], 64000);
    let cut = ["simulate", "--policy", "compact", "--set", "compaction.keepRecentTokens=1000"];
    let cut = json(&[&cut[..], &session[..]].concat());
    let kept = &cut["steps"][0]["settings"]["compaction.keepRecentTokens"];
    assert_eq!((&kept["value"], &kept["from"]), (&json!(1000), &json!("command line")));
    assert!(
        kept["reader"]
            .as_str()
            .unwrap()
            .ends_with("modelOverrides[anthropic/claude-opus-4-6].keepRecentTokens")
    );
}

fn write_file(path: impl AsRef<std::path::Path>, text: impl AsRef<str>) -> std::io::Result<()> {
    std::io::Write::write_all(&mut std::fs::File::create(path)?, text.as_ref().as_bytes())
}

/// A run of today's pi over Chinese reports, of which chars / 4 sees a quarter: the last one, of 8,000 tokens by that estimate,
/// is 33,000 to the provider, and the prompt is refused.
fn outgrown() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let id = "019bb7d3-6ec4-7297-ad11-de2f9c053cb9";
    let mut entries = vec![
        json!({ "type": "session", "version": 3, "id": id, "timestamp": "2026-11-20T08:00:00.000Z", "cwd": "/w" }),
    ];
    let mut add = |body: &Value| {
        let number = entries.len();
        let parent = (number > 1).then(|| format!("{:08x}", number - 1));
        let mut entry = message(&format!("{number:08x}"), parent.as_deref(), body);
        entry["timestamp"] = json!(format!("2026-11-20T08:{:02}:{:02}.000Z", number / 3, number % 3 * 20));
        entry["message"]["timestamp"] = json!(1_795_161_600_000_u64 + number as u64 * 20_000);
        entries.push(entry);
    };
    let answer = |content: Value, total: u64| {
        let error = (total == 0)
            .then_some(r#"400: {"message":"prompt is too long: 206000 tokens > 200000 maximum"}"#);
        let usage = json!({ "input": total.min(500), "output": total.min(100), "cacheRead": total.saturating_sub(600), "cacheWrite": 0,
            "totalTokens": total, "cost": { "input": 0.01, "output": 0.001, "cacheRead": 0.001, "cacheWrite": 0, "total": 0.012 } });
        let mut body = json!({ "role": "assistant", "content": content, "provider": "anthropic", "model": "claude-opus-4-6",
            "api": "anthropic-messages", "stopReason": "toolUse", "usage": usage });
        if let Some(error) = error {
            (body["stopReason"], body["errorMessage"]) = (json!("error"), json!(error));
        }
        body
    };
    add(&json!({ "role": "system", "content": "You help.", "sections": {}, "toolsAdded": [] }));
    add(&json!({ "role": "user", "content": [{ "type": "text", "text": "read all the reports" }] }));
    for at in 0..26 {
        let call = format!("c{at}");
        let block = json!([{ "type": "toolCall", "id": call, "name": "read", "arguments": { "path": at.to_string() } }]);
        add(&answer(block, 3000 + at * 6800));
        let text = "报告内容很长，需要仔细阅读。".repeat(if at == 25 { 2300 } else { 464 });
        add(
            &json!({ "role": "toolResult", "toolCallId": call, "toolName": "read", "isError": false, "content": [{ "type": "text", "text": text }] }),
        );
    }
    add(&answer(json!([]), 0));
    let file = dir.path().join(format!("sessions/--w--/2026-11-20T08-00-00-000Z_{id}.jsonl"));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    write_file(file, lines(&entries)).unwrap();
    write_file(dir.path().join("settings.json"), r#"{"compaction":{"keepRecentTokens":9000}}"#).unwrap();
    dir
}

#[test]
fn a_run_of_todays_pi_that_outgrew_its_window_is_answered_by_its_own_settings() {
    let dir = outgrown();
    let session = ["019bb7d3", "--store", dir.path().to_str().unwrap(), "--json"];
    let json = |words: &[&str]| -> Value {
        let (code, text, error) = run(&mut program(&[words, &session].concat()));
        assert_eq!(code, 0, "{words:?}: {error}");
        serde_json::from_str(&text).unwrap()
    };
    let explained = json(&["explain"]);
    let text = explained.to_string();
    assert!(text.contains("compared 181,"), "{text}");
    assert!(!text.contains("not checked during a run"), "{text}");
    let settings = dir.path().join("settings.json");
    let advice = &explained["advice"][0];
    assert_eq!(
        (&advice["set"], &advice["helps"]),
        (&json!({ "compaction.reserveTokens": 20000 }), &json!(true))
    );
    let patch = advice["patch"].as_str().unwrap();
    assert!(patch.starts_with(&format!("// {}\n", settings.display())), "{patch}");

    // The replay looks where pi looks, with pi's own estimate: as things are the refused call is refused again.
    let sweep = json(&["sweep", "--vary", "compaction.reserveTokens=17000,20000,40000"]);
    let cells = sweep["cells"].as_array().unwrap();
    let fits: Vec<bool> = cells.iter().map(|cell| cell["fits"].as_bool().unwrap()).collect();
    assert_eq!(fits, [false, false, true, true], "{cells:?}");
    let smallest = &sweep["smallestChange"];
    assert_eq!(smallest["set"], json!({ "compaction.reserveTokens": 20000 }));
    let patch = smallest["patch"].as_str().unwrap();
    assert!(patch.starts_with(&format!("// {}\n", settings.display())), "{patch}");
    assert!(patch.contains("\"reserveTokens\": 20000"), "{patch}");
    assert_eq!(smallest["commands"], json!([]));
}

#[test]
fn todays_pi_is_known_by_its_own_rules_wherever_it_is_spoken_of() {
    let (dir, _) = todays_store();
    let path = dir.path().to_str().unwrap();
    let ask = |words: &[&str]| run(&mut program(words));
    let (_, list, _) = ask(&["sessions", path]);
    assert!(list.contains("· pi 1.5.1–1.5.2\n") && !list.contains("0.55"), "{list}");
    let (_, list, _) = ask(&["sessions", path, "--json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(
        (&list["ruleset"]["id"], &list["sessions"][0]["ruleset"]),
        (&json!("pi-0.55"), &json!("pi-1.5"))
    );
    let (_, doctor, _) = ask(&["doctor", path]);
    assert!(
        doctor.contains("rules      pi-1.5 for 1 transcript of 1") && !doctor.contains("the gateway runs"),
        "{doctor}"
    );
    // A gateway's tables say nothing there; pi's own file does.
    assert!(!doctor.contains("contextPruning") && !doctor.contains("memoryFlush"), "{doctor}");
    assert!(
        doctor.contains("compaction.reserveTokens") && doctor.contains("pi runs on its defaults"),
        "{doctor}"
    );
    let (_, doctor, _) = ask(&["doctor", path, "--json"]);
    let doctor: Value = serde_json::from_str(&doctor).unwrap();
    assert_eq!(doctor["rulesets"], json!({ "pi-1.5": 1 }));
    // Nothing of pi's begins anew by itself, whichever of its versions is named.
    let (_, named, _) = ask(&["sessions", path, "--ruleset", "pi-1.5", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&named).unwrap()["sessions"][0]["reset"], json!(null));

    let session = ["019acff0", "--store", path];
    let (_, recovery, _) = ask(&[&["recovery"], &session[..]].concat());
    assert!(recovery.contains("under the rules of pi-0.55; since 0.87 pi removes"), "{recovery}");
    let (code, _, error) = ask(&[&["commit"], &session[..]].concat());
    assert!(code == 4 && error.contains("pi itself prunes nothing") && !error.contains("--gates"), "{error}");
    let set = ["--set", "contextPruning.softTrimRatio=0", "--set", "contextPruning.hardClearRatio=0"];
    let (_, commit, error) =
        ask(&[&["commit"], &session[..], &set[..], &["--set", "contextPruning.minPrunableToolChars=0"]]
            .concat());
    assert!(commit.contains("context_edit") && !commit.contains("gateway"), "{commit}{error}");
}

#[test]
fn a_commit_is_a_dry_run_until_it_is_applied_and_can_be_taken_back() {
    let store = Store::new();
    let before = std::fs::read(store.transcript()).unwrap();
    let words = ["commit", "main"];
    let dry = store.json(&words);
    assert_eq!(
        (&dry["applied"], &dry["kind"], &dry["lock"]),
        (&json!(false), &json!("commit"), &json!("free"))
    );
    assert_eq!(std::fs::read(store.transcript()).unwrap(), before);
    let planned = store.json(&["simulate", "main"]);
    assert_eq!(dry["tokens"]["after"], planned["after"]["tokens"]);

    let (code, out, error) = store.run(&[&words[..], &["--apply"]].concat());
    assert!(code == 0 && out.contains("clawscope undo main --apply"), "{out}{error}");
    let after = std::fs::read(store.transcript()).unwrap();
    assert!(
        after.starts_with(&before)
            && after.len() as u64 == before.len() as u64 + dry["bytes"].as_u64().unwrap()
    );
    assert_eq!(store.json(&["context", "main"])["messageTokens"], planned["after"]["tokens"]);

    let undone = store.json(&["undo", "main", "--apply"]);
    assert_eq!((&undone["applied"], &undone["entries"]), (&json!(true), &json!(1)));
    assert_eq!(undone["undo"], "clawscope undo main --redo --apply");
    assert_eq!(store.json(&["context", "main"])["messageTokens"], planned["before"]["tokens"]);
    let (_, out, _) = store.run(&["undo", "main", "--redo", "--apply"]);
    assert!(out.ends_with("to undo it: clawscope undo main --apply\n"), "{out}");
    assert_eq!(store.json(&["context", "main"])["messageTokens"], planned["after"]["tokens"]);
}

#[test]
fn refusals_exit_with_four_and_say_why() {
    let store = Store::new();
    let refused = |words: &[&str], why: &str| {
        let (code, _, error) = store.run(words);
        assert!(code == 4 && error.contains(why), "{words:?}: {code} {error}");
    };
    refused(&["undo", "main"], "no commit to undo");
    refused(&["commit", "main", "--now", "2026-03-05T08:41:00Z"], "Without --gates and --now");
    refused(&["commit", "main", "--set", "contextPruning.softTrimRatio=1"], "changes nothing");
    let pid = std::process::id();
    store.write(
        "agents/main/sessions/long-1.jsonl.lock",
        &json!({ "pid": pid, "createdAt": js::iso_text(now_ms()) }).to_string(),
    );
    refused(&["commit", "main", "--apply"], "locked by");
    let bytes = std::fs::read(store.transcript()).unwrap();
    assert_eq!(bytes, lines(&long_session()).into_bytes());
    let (code, _, error) = run(&mut program(&["commit", "--demo", "slack:channel:c07infra", "--apply"]));
    assert!(code == 4 && error.contains("demo store"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_transcript_is_read_with_what_its_row_shows_and_never_written() {
    let store = Store::new();
    let link = store.path().join("agents/main/sessions/link.jsonl");
    std::os::unix::fs::symlink("long-1.jsonl", &link).unwrap();
    let link = link.to_str().unwrap();
    assert_eq!(store.json(&["context", link])["session"]["key"], "agent:main:main");
    let (code, _, error) = store.run(&["commit", link, "--apply"]);
    assert!(code == 4 && error.contains("this is a symbolic link"), "{error}");
    assert_eq!(std::fs::read(store.transcript()).unwrap(), lines(&long_session()).into_bytes());
}

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

fn now_ms() -> i64 {
    use clawscope::commit::Clock as _;
    clawscope::commit::SystemClock.now_ms()
}

#[test]
fn an_orphan_is_written_to_only_when_that_is_allowed() {
    let store = Store::new();
    store.write_rows(&json!({}));
    let words = ["commit", "long-1"];
    let (code, _, error) = store.run(&words);
    assert!(code == 4 && error.contains("no row"), "{error}");
    let answer = store.json(&[&words[..], &["--allow-orphan", "--apply"]].concat());
    assert!(answer["undo"].as_str().unwrap().contains("--allow-orphan"));
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
fn a_store_copied_from_another_machine_opens() {
    let store = Store::new();
    let foreign = r"C:\Users\mei\.openclaw\agents\main\sessions\long-1.jsonl";
    store.write_rows(&json!({ "agent:main:main": { "sessionId": "long-1", "sessionFile": foreign } }));
    let mut command = program(&["sessions", "--json"]);
    let (code, out, error) = run(command.arg(store.path()));
    assert_eq!(code, 0, "{error}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["sessions"][0]["entries"], long_session().len() - 1, "{answer}");
    let place = store.path().to_string_lossy().into_owned();
    let (code, out, error) = run(&mut program(&["context", "--store", &place, "main", "--json"]));
    assert!(code == 0 && out.contains("result-5"), "{error}");
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

#[test]
fn doctor_names_the_entry_when_the_gateway_would_fail_on_it() {
    let store = Store::new();
    store.append(&message("odd", Some("touch-0"), &json!({ "role": "user", "content": null })));
    let finding = store.json(&["doctor"])["findings"][0].clone();
    assert_eq!((&finding["entry"], &finding["line"]), (&json!("odd"), &json!(long_session().len() + 1)));
    let (code, _, error) = store.run(&["simulate", "main", "--set", "contextPruning.softTrimRatio=0"]);
    assert!(code == 3 && error.contains("`clawscope doctor` tells"), "{error}");
}

#[test]
fn doctor_shows_the_memory_flush_as_the_version_has_it() {
    let store = Store::new();
    let size = |ruleset: &str| {
        let rows = store.json(&["doctor", "--ruleset", ruleset])["memoryFlush"].clone();
        let rows = rows.as_array().unwrap();
        let row = rows.iter().find(|row| row["key"] == "memoryFlush.forceFlushTranscriptBytes");
        row.unwrap()["value"].clone()
    };
    assert_eq!((size("2026.3.2"), size("2026.2.19")), (json!(2_097_152), json!(0)));
}

/// The finding of `doctor` whose words hold a text.
#[track_caller]
fn finding_with(store: &Store, text: &str) -> Value {
    let answer = store.json(&["doctor"]);
    let findings = answer["findings"].as_array().unwrap().iter();
    let own = findings.filter(|finding| finding["what"].as_str().unwrap().contains(text)).collect::<Vec<_>>();
    assert_eq!(own.len(), 1, "{answer}");
    own[0].clone()
}

#[test]
fn doctor_reads_the_retired_place_of_settings_and_says_when_a_release_ignores_it() {
    let store = Store::new();
    let setting = |store: &Store| {
        let answer = store.json(&["doctor"]);
        let rows = answer["contextPruning"].as_array().unwrap().clone();
        rows.iter().find(|row| row["key"] == "ttl").map(|row| row["value"].clone())
    };
    store.write("openclaw.json", "{\n agent: { contextPruning: { mode: 'cache-ttl', ttl: '7m' } },\n}");
    let finding = finding_with(&store, "old name of agents.defaults");
    assert_eq!((&finding["severity"], &finding["line"]), (&json!("note"), &json!(2)), "{finding}");
    assert_eq!(setting(&store), Some(json!("7m")));
    store.write(
        "openclaw.json",
        "{\n meta: { lastTouchedVersion: '2026.9.6' },\n agent: { contextPruning: { mode: 'cache-ttl', ttl: '7m' } },\n}",
    );
    let finding = finding_with(&store, "it reads only agents.defaults");
    assert_eq!((&finding["severity"], &finding["line"]), (&json!("warning"), &json!(3)), "{finding}");
    assert_ne!(setting(&store), Some(json!("7m")), "an ignored place sets nothing");
}

#[test]
fn doctor_notices_a_price_per_token_at_its_line() {
    let store = Store::new();
    let config = |input: &str| {
        format!(
            "{{\n models: {{ providers: {{ lab: {{ models: [\n  {{ id: 'own-model', cost: {{\n   input: {input} }} }},\n ] }} }} }},\n}}"
        )
    };
    store.write("openclaw.json", &config("0.000003"));
    let finding = finding_with(&store, "looks like a price per token");
    assert!(finding["what"].as_str().unwrap().contains("lab/own-model"), "{finding}");
    assert_eq!(finding["line"], 4, "{finding}");
    store.write("openclaw.json", &config("3"));
    assert!(!store.run(&["doctor"]).1.contains("price per token"));
}

#[test]
fn doctor_names_the_floor_that_raises_a_reserve() {
    let store = Store::new();
    let shown = |reserve: &str| {
        let config = format!(
            "{{ agents: {{ defaults: {{ contextTokens: 200000, compaction: {{ {reserve} reserveTokensFloor: 30000 }} }} }} }}"
        );
        store.write("openclaw.json", &config);
        let (code, out, error) = store.run(&["doctor"]);
        assert_eq!(code, 0, "{error}");
        out.replace('\u{a0}', " ")
    };
    let low = shown("reserveTokens: 9000,");
    assert!(low.contains("overrides the configured reserve 9,000"), "{low}");
    let own = shown("");
    assert!(own.contains("overrides the runtime's reserve"), "{own}");
    assert!(!shown("reserveTokens: 40000,").contains("overrides the configured"));
}

#[test]
fn a_recorded_run_is_compared_with_the_transcript() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trajectory");
    let ask = |words: &[&str]| {
        run(&mut program(&[&["context"], words, &["--recorded", "--store", fixture]].concat()))
    };
    let (code, out, error) = ask(&["agent:main:main", "--json", "--run", "3"]);
    assert_eq!(code, 0, "{error}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["verdict"], "equal after repairs, recorder cuts and redaction");
    has_keys(&answer["run"], &["number", "of", "id", "started", "place", "gateway", "trigger", "status"]);
    let wanted = ["recorded", "atStart", "rebuilt", "repaired", "repairs", "cuts", "redacted", "difference"];
    has_keys(&answer["context"], &wanted);
    assert_eq!(answer["context"]["redacted"], json!(["/5/content/1/arguments/command"]));
    let (_, out, _) = ask(&["agent:main:main"]);
    assert!(out.contains("64 messages recorded of 71 at the start") && out.contains("Run 1 of 5"), "{out}");
    let (_, out, _) = ask(&["telegram:direct:5550001", "--run", "2"]);
    assert!(out.contains("dropped the whole context"), "{out}");
    let (code, out, _) = ask(&["cron:7"]);
    assert!(code == 0 && out.contains("elsewhere: /srv/demo/trajectories/"), "{out}");
    assert_eq!(ask(&["agent:main:main", "--run", "6"]).0, 2);
    assert_eq!(ask(&["agent:main:main", "--leaf", "fee433ad"]).0, 2);
}

#[test]
fn a_message_changed_since_the_run_is_the_first_difference() {
    let store = Store::new();
    let fixture = std::path::Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/trajectory/agents/main/sessions"
    ));
    let id = "a1f00000-1111-4222-8333-444455556666";
    let read = |end: &str| std::fs::read_to_string(fixture.join(format!("{id}{end}"))).unwrap();
    let write = |end: &str, text: &str| store.write(&format!("agents/main/sessions/{id}{end}"), text);
    write(".jsonl", &read(".jsonl").replace("job 7 added", "job 8 \\u001b[2Jadded"));
    write(".trajectory.jsonl", &read(".trajectory.jsonl"));
    let answer = store.json(&["context", id, "--recorded"]);
    let difference = &answer["context"]["difference"];
    assert_eq!((&answer["verdict"], &difference["position"]), (&json!("different"), &json!(4)), "{answer}");
    assert_eq!(difference["rebuilt"]["entry"], "a12c20d7");
    assert_eq!(
        (&difference["paths"], &difference["recorded"]["role"]),
        (&json!(["/content/0/text"]), &json!("toolResult"))
    );
    let (code, out, _) = store.run(&["context", id, "--recorded"]);
    assert!(code == 0 && out.contains("#4") && out.contains("a12c20d7") && !out.contains('\u{1b}'), "{out}");
    store.write(
        &format!("agents/main/sessions/{id}.trajectory.jsonl"),
        &read(".trajectory.jsonl").replace("19864a6b", "ffffffff"),
    );
    assert_eq!(store.json(&["context", id, "--recorded"])["verdict"], "leaf missing");
}

#[test]
fn doctor_shows_what_is_wrong_with_file_and_line() {
    let store = Store::new();
    let healthy = store.json(&["doctor"]);
    has_keys(
        &healthy,
        &[
            "stateDir",
            "config",
            "counts",
            "agents",
            "contextPruning",
            "compaction",
            "memoryFlush",
            "locks",
            "findings",
        ],
    );
    assert_eq!(healthy["stateDir"]["why"], "by OPENCLAW_STATE_DIR");
    assert_eq!((&healthy["counts"]["sessions"], &healthy["counts"]["transcripts"]), (&json!(1), &json!(1)));
    store.append(&json!(null));
    store.write("openclaw.json", "{\n agents: [,\n}");
    let (code, out, error) = store.run(&["doctor", "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 3, "{error}");
    assert_eq!(answer["config"]["error"]["line"], 2, "{answer}");
    assert!(answer["config"]["error"]["column"].is_u64());
    let lines = answer["findings"].as_array().unwrap().iter().filter_map(|finding| finding["line"].as_u64());
    assert!(lines.into_iter().any(|line| line as usize == long_session().len() + 1), "{answer}");
    assert!(store.run(&["doctor"]).1.contains("openclaw.json:2:"));
}

#[test]
fn without_a_store_the_demo_is_in_and_says_so() {
    let (code, out, error) = run(&mut program(&["sessions"]));
    assert!(code == 0 && out.starts_with("demo store"), "{out}");
    assert!(error.contains("no gateway store") && error.contains("OPENCLAW_STATE_DIR"), "{error}");
    let (_, out, _) = run(&mut program(&["sessions", "--demo", "--json"]));
    let answer: Value = serde_json::from_str(&out).unwrap();
    let sessions = answer["sessions"].as_array().unwrap();
    assert!(answer["demo"] == true && sessions.len() >= 8);
    let dir = tempfile::tempdir().unwrap();
    clawscope::store::demo::write_to(dir.path()).unwrap();
    for session in sessions.iter().filter(|session| !session["entries"].is_null()) {
        let key = session["key"].as_str().unwrap();
        let (code, out, error) = run(program(&["simulate", key, "--json", "--store"]).arg(dir.path()));
        assert_eq!(code, 0, "{key}: {error}");
        let answer: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(answer["after"]["chars"], sum(&answer["fates"], "after"), "{key}");
    }
}

#[test]
fn help_teaches_every_command_key_and_exit_code() {
    let (code, out, _) = run(&mut program(&["--help"]));
    assert_eq!(code, 0);
    let commands = [
        "sessions",
        "tree",
        "context",
        "simulate",
        "commit",
        "undo",
        "commits",
        "compare",
        "watch",
        "doctor",
        "completions",
        "man",
    ];
    for word in commands.iter().chain(&[
        "contextPruning.tools.deny",
        "contextTokens",
        "NO_COLOR",
        "OPENCLAW_STATE_DIR",
        "Exit codes",
    ]) {
        assert!(out.contains(word), "{word}");
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
        assert!(code == 0 && out.contains("simulate"), "{shell}");
    }
    let (code, out, _) = run(&mut program(&["man"]));
    assert!(code == 0 && out.contains(".TH") && out.contains("simulate"));
    assert!(run(&mut program(&["man", "simulate"])).1.contains("ignore"));
    assert_eq!(run(&mut program(&["man", "nothing"])).0, 2);
}

#[test]
fn a_slip_in_a_command_is_no_path() {
    let (code, _, error) = run(&mut program(&["sesions"]));
    assert!(code == 2 && error.contains("neither a command nor a path"), "{error}");
    assert_eq!(run(&mut program(&["/no/such/store"])).0, 3);
    assert_eq!(run(&mut program(&["sessions", "/no/such/store"])).0, 3);
    assert_eq!(run(&mut program(&["/tmp", "sessions"])).0, 2);
    assert_eq!(run(&mut program(&["sessions", "--demo", "--agent", "nobody"])).0, 2);
    assert_eq!(run(&mut program(&["sessions", "--profile", "../x"])).0, 2);
}

#[test]
fn another_configuration_can_be_tried() {
    let store = Store::new();
    store.write("other.json", "{ agents: { defaults: { contextTokens: 9000 } } }");
    let other = store.path().join("other.json").to_string_lossy().into_owned();
    let answer = store.json(&["simulate", "main", "--config", &other]);
    assert_eq!(
        (&answer["window"]["tokens"], &answer["gate"]["reason"]),
        (&json!(9000), &json!("pruning-off"))
    );
    store.write("other.json", "{ nope");
    assert_eq!(store.run(&["sessions", "--config", &other]).0, 3);
    assert_eq!(store.run(&["sessions", "--config", "/no/such"]).0, 2);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
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
    assert_eq!(line["contextTokens"], before["messageTokens"].as_u64().unwrap() + 2);
    assert_eq!(line["sessionTokens"], before["sessionTokens"].as_u64().unwrap() + 2);
    store.write("agents/main/sessions/new.jsonl", &lines(&long_session()[..2]));
    let line = next();
    assert_eq!((&line["entry"], &line["agent"]), (&json!("user-0"), &json!("main")));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    assert_eq!(run(&mut program(&["watch", "--demo"])).0, 3);
}

#[test]
fn long_results_are_as_long_as_these_tests_reckon_with() {
    let answer = Store::new().json(&["context", "main"]);
    let result =
        answer["messages"].as_array().unwrap().iter().find(|message| message["role"] == "toolResult");
    assert_eq!(result.unwrap()["chars"], RESULT_CHARS);
}

#[test]
fn the_version_in_the_configuration_decides_whose_rules_apply() {
    let store = Store::new();
    for words in [&["sessions"][..], &["doctor"], &["context", "long-1"], &["simulate", "long-1"]] {
        let ruleset = &store.json(words)["ruleset"];
        assert_eq!(ruleset["id"], "2026.3.2", "{words:?}");
        assert_eq!(ruleset["from"], "clawscope's default", "{words:?}");
    }
    store.write("openclaw.json", "{\n meta: { lastTouchedVersion: '2026.9.6' },\n agents: { defaults: { contextPruning: { mode: 'cache-ttl', softTrimRatio: 0.9 } } } }");
    let answer = store.json(&["doctor"]);
    assert_eq!((&answer["ruleset"]["id"], &answer["ruleset"]["note"]), (&json!("2026.9.2"), &Value::Null));
    let from = answer["ruleset"]["from"].as_str().unwrap();
    assert!(from.ends_with("openclaw.json:2, meta.lastTouchedVersion"), "{from}");
    let row = |list: &str, key: &str| {
        let rows = answer[list].as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).unwrap().clone()
    };
    let ratio = row("contextPruning", "softTrimRatio");
    assert_eq!((&ratio["value"], &ratio["from"]), (&json!(0.3), &json!("built in since 2026.8.1")));
    let reserve = row("compactionSettings", "reserveTokens");
    assert_eq!((&reserve["value"], &reserve["from"]), (&json!(20_000), &json!("built in since 2026.8.1")));
    let (_, text, _) = store.run(&["simulate", "long-1"]);
    assert!(
        text.contains("rules of openclaw 2026.9.2–9.6 (") && text.contains("built in since 2026.8.1"),
        "{text}"
    );
}

#[test]
fn a_replay_under_another_version_is_held_against_the_one_that_wrote_the_store() {
    let store = Store::new();
    let (_, text, _) = store.run(&["replay", "long-1", "--ruleset", "2026.9.6"]);
    assert!(text.contains("the store does not name the version that wrote it"), "{text}");
    store.write("openclaw.json", "{ meta: { lastTouchedVersion: '2026.3.2' } }");
    let answer = store.json(&["replay", "long-1", "--ruleset", "2026.9.6"]);
    let ids = [&answer["recordedRuleset"]["id"], &answer["ruleset"]["id"]];
    assert_eq!(ids, ["2026.3.2", "2026.9.2"]);
    assert!(answer["policy"].as_array().unwrap().contains(&json!("compact")), "{}", answer["policy"]);
    let (_, text, _) = store.run(&["replay", "long-1", "--ruleset", "2026.9.6"]);
    assert!(text.contains("simulated under the rules of openclaw 2026.9.2–9.6 (command line)"), "{text}");
    let same = store.json(&["replay", "long-1", "--ruleset", "2026.3.2"]);
    assert_eq!(same["recordedRuleset"]["id"], same["ruleset"]["id"]);
    assert_eq!(same["totals"]["recorded"]["peak"], same["totals"]["simulated"]["peak"]);
}

#[test]
fn a_rule_that_is_cited_can_be_printed() {
    let store = Store::new();
    let (code, text, _) = store.run(&["rule", "pruning-5.12", "releases", "R61"]);
    assert!(code == 0 && text.starts_with("pruning 5.12  ") && text.contains("\nreleases R61  "), "{text}");
    assert!(!text.contains('␊'), "{text}");
    let answer = store.json(&["rule", "compaction-8.1"]);
    assert_eq!(
        (&answer["rules"][0]["document"], &answer["rules"][0]["id"]),
        (&json!("compaction"), &json!("8.1"))
    );
    let (code, _, error) = store.run(&["rule", "pruning-99"]);
    assert!(
        code == 2 && error.contains("\"pruning-99\" is not a rule; expected an id of pruning"),
        "{error}"
    );
    let (_, contents, _) = store.run(&["rule"]);
    assert!(contents.contains("\n  5 Pruning algorithm\n"), "{contents}");
}

#[test]
fn an_upgrade_of_the_demo_compacts_before_the_prompt_that_was_refused() {
    let words = ["replay", "telegram:direct:8812", "--demo", "--ruleset", "2026.7.1"];
    let answer = Store::new().json(&words);
    let of = |trace: &str, key: &str| answer["totals"][trace][key].as_u64().unwrap();
    assert_eq!([of("recorded", "overflows"), of("simulated", "overflows")], [1, 0]);
    assert!(of("simulated", "compactions") > of("recorded", "compactions"));
    let calls = answer["calls"].as_array().unwrap();
    let requested =
        |call: &&Value| call["simulated"]["checked"].as_str().is_some_and(|route| route != "fits");
    let compacted = calls.iter().filter(requested).filter(|call| !call["simulated"]["compacted"].is_null());
    assert!(compacted.count() > 0, "the check asked for it");
}

#[test]
fn a_version_can_be_requested_and_one_between_two_says_whose_rules_are_used() {
    let store = Store::new();
    let ruleset = |words: &[&str]| store.json(&[&["context", "long-1"], words].concat())["ruleset"].clone();
    let requested = ruleset(&["--ruleset", "2026.5.6"]);
    assert_eq!((&requested["id"], &requested["from"]), (&json!("2026.5.2"), &json!("command line")));
    assert!(requested["note"].as_str().unwrap().contains("2026.5.6 was not checked itself"));
    assert_eq!(ruleset(&["--ruleset", "2026.9.6"])["id"], "2026.9.2");
    let variable = store
        .command(&["context", "long-1", "--json"])
        .env("CLAWSCOPE_RULESET", "2026.2.19")
        .output()
        .unwrap();
    let variable: Value = serde_json::from_slice(&variable.stdout).unwrap();
    assert_eq!(
        (&variable["ruleset"]["id"], &variable["ruleset"]["from"]),
        (&json!("2026.2.19"), &json!("CLAWSCOPE_RULESET"))
    );
    store.write("home/.config/clawscope/config.toml", "ruleset = \"pi-0.55\"\n");
    let file = store
        .command(&["context", "long-1", "--json"])
        .env("HOME", store.path().join("home"))
        .output()
        .unwrap();
    let file: Value = serde_json::from_slice(&file.stdout).unwrap();
    assert_eq!(file["ruleset"]["id"], "pi-0.55");
    let (code, _, error) = store.run(&["sessions", "--ruleset", "newest"]);
    assert_eq!(code, 2);
    assert!(
        error.contains(
            "--ruleset: \"newest\" is not a version; expected a release of the gateway such as 2026.4.15"
        ),
        "{error}"
    );
}

#[test]
fn a_setting_that_the_version_does_not_have_is_refused() {
    let store = Store::new();
    let set =
        |ruleset: &str, set: &str| store.run(&["simulate", "long-1", "--ruleset", ruleset, "--set", set]);
    let (code, _, error) = set("2026.9", "contextPruning.softTrimRatio=0.1");
    assert_eq!(code, 2);
    assert!(error.contains("contextPruning.softTrimRatio cannot be set: openclaw 2026.9.2–9.6 does not read it (removed in 2026.8.1, built in: 0.3)"), "{error}");
    assert_eq!(set("2026.9", "contextTokens=5000").0, 2);
    for (ruleset, key) in
        [("2026.9", "contextPruning.ttl=2h"), ("2026.3.2", "contextPruning.softTrimRatio=0.1")]
    {
        assert_eq!(set(ruleset, key).0, 0, "{ruleset} {key}");
    }
}

#[test]
fn the_version_before_never_prunes_and_the_newest_sees_another_window() {
    let store = Store::new();
    let answer = store.json(&["simulate", "long-1", "--now", COLD, "--ruleset", "2026.2.19"]);
    assert_eq!((&answer["gate"]["reason"], &answer["changed"]), (&json!("no-pruner"), &json!(false)));
    let reference = store.json(&["simulate", "long-1", "--now", COLD]);
    assert_eq!((&reference["changed"], &reference["window"]["tokens"]), (&json!(true), &json!(20_000)));
    let newest = store.json(&["simulate", "long-1", "--now", COLD, "--ruleset", "2026.9"]);
    assert_ne!(newest["window"]["tokens"], json!(20_000));
}

#[test]
fn a_database_beside_an_agent_means_2026_9() {
    let store = Store::new();
    store.write("agents/main/agent/openclaw-agent.sqlite", "");
    // One without sessions is of another use.
    assert_eq!(store.json(&["sessions"])["ruleset"]["id"], "2026.3.2");
    let made = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sqlite-2026.9.6/openclaw-agent.sqlite");
    std::fs::copy(made, store.path().join("agents/main/agent/openclaw-agent.sqlite")).unwrap();
    let ruleset = store.json(&["sessions"])["ruleset"].clone();
    assert_eq!(ruleset["id"], "2026.9.2");
    assert_eq!(ruleset["from"], "2026.9.6 last wrote openclaw-agent.sqlite");
    assert_eq!(ruleset["release"], "2026.9.6");
}

#[test]
fn the_newest_version_cuts_turns_in_batches() {
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
fn replay_puts_every_recorded_call_beside_the_same_under_other_settings() {
    let store = Store::new();
    let answer = store.json(&["replay", "main"]);
    has_keys(
        &answer,
        &["session", "ruleset", "providerWindow", "retention", "policy", "calls", "totals", "log"],
    );
    let calls = answer["calls"].as_array().unwrap();
    assert_eq!(calls.len(), RESULTS + 3);
    for (at, call) in calls.iter().enumerate() {
        assert_eq!(call["index"], at);
        has_keys(&call["recorded"], &["tokens", "measured", "overflow", "cost"]);
        let keys =
            ["tokens", "overflow", "cleared", "trimmed", "compacted", "cacheRead", "cacheWrite", "cost"];
        has_keys(&call["simulated"], &keys);
        assert_eq!(call["recorded"]["tokens"], call["simulated"]["tokens"]);
    }
    assert_eq!(answer["totals"]["recorded"]["cost"], answer["totals"]["simulated"]["cost"]);
    let cleared = store.json(&["replay", "main", "--set", "clearToolUses.trigger=4000"]);
    let last = &cleared["calls"][RESULTS + 2];
    assert!(last["simulated"]["cleared"].as_u64() > Some(0), "{last}");
    assert!(last["simulated"]["tokens"].as_u64() < last["recorded"]["tokens"].as_u64());
    assert!(cleared["log"].as_array().unwrap().iter().any(|fired| fired["kind"] == "clear"));
}

#[test]
fn replay_prints_a_summary_the_calls_and_what_the_policies_did() {
    let (code, out, _) = Store::new().run(&["replay", "main", "--set", "clearToolUses.trigger=4000"]);
    assert_eq!(code, 0);
    for part in ["9 calls: recorded,", "largest prompt", "call-0", "what the policies did: ", "clear"] {
        assert!(out.contains(part), "{part} in {out}");
    }
}

#[test]
fn sweep_answers_with_cells_a_front_and_the_smallest_change() {
    let store = Store::new();
    let vary =
        ["sweep", "main", "--vary", "clearToolUses.trigger=4000,8000", "--vary", "clearToolUses.keep=1..3:1"];
    let answer = store.json(&vary);
    has_keys(
        &answer,
        &["session", "ruleset", "axes", "cells", "pareto", "smallestChange", "current", "policy"],
    );
    let (axes, cells) = (answer["axes"].as_array().unwrap(), answer["cells"].as_array().unwrap());
    let product: usize = axes.iter().map(|axis| axis["values"].as_array().unwrap().len()).product();
    assert_eq!(cells.len(), product);
    for cell in cells {
        has_keys(cell, &["set", "overflows", "peak", "cost", "cleared", "summaries"]);
        has_keys(&cell["set"], &["clearToolUses.trigger", "clearToolUses.keep"]);
    }
    // A cell is what a replay under its settings comes to.
    let at = cells.iter().position(|cell| cell["set"]["clearToolUses.trigger"] == 4000).unwrap();
    let keep = format!("clearToolUses.keep={}", cells[at]["set"]["clearToolUses.keep"]);
    let replayed = store.json(&["replay", "main", "--set", "clearToolUses.trigger=4000", "--set", &keep]);
    let totals = &replayed["totals"]["simulated"];
    assert_eq!((&cells[at]["peak"], &cells[at]["overflows"]), (&totals["peak"], &totals["overflows"]));
    assert!(answer["smallestChange"]["set"].is_object(), "{}", answer["smallestChange"]);
}

#[test]
fn sweep_shows_the_map_and_saves_the_patch_of_the_smallest_change() {
    let store = Store::new();
    let file = store.path().join("patch.json5");
    let file = file.to_str().unwrap();
    let requested = || {
        let mut demo = program(&["--demo", "sweep", "telegram:direct:8812", "--headroom", "10%"]);
        demo.args(["--patch", file]);
        demo.args([
            "--vary",
            "contextPruning.ttl=30m..2h:30m",
            "--vary",
            "contextPruning.keepLastAssistants=1,5",
        ]);
        demo
    };
    let (code, out, error) = run(&mut requested());
    assert_eq!((code, error.contains("saved as")), (0, true), "{error}");
    for part in [
        "best trade-offs",
        "largest prompt: ttl down, keepLastAssistants across",
        "smallest change: contextPruning.ttl 1h → 30m",
        "overflowing calls 1 → 0",
        "openclaw config set agents.defaults.contextPruning.ttl 30m",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let patch: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).expect("JSON");
    assert_eq!(patch, json!({ "agents": { "defaults": { "contextPruning": { "ttl": "30m" } } } }));
    // Nothing is overwritten.
    let (code, _, error) = run(&mut requested());
    assert_eq!((code, error.contains("already exists")), (4, true), "{error}");
    let own = store.path().join("openclaw.json");
    let (code, _, error) = store.run(&["sweep", "main", "--patch", own.to_str().unwrap()]);
    assert_eq!((code, error.contains("never overwrites your")), (4, true), "{error}");
    for odd in [
        &["--vary", "guard.budgetShare=0.1,0.2"][..],
        &["--vary", "contextPruning.ttl=soon"],
        &["--headroom", "much"],
        &["--vary", "contextPruning.ttl=5m", "--vary", "contextPruning.ttl=6m"],
        &["--vary", "contextPruning.ttl=5m", "--set", "contextPruning.ttl=6m"],
        &["--vary", "clearToolUses.keep=1,2", "--policy", "prune"],
        &[
            "--vary",
            "contextPruning.ttl=5m",
            "--ruleset",
            "2026.9",
            "--vary",
            "contextPruning.softTrimRatio=0.1",
        ],
    ] {
        let (code, _, error) = store.run(&[&["sweep", "main"], odd].concat());
        assert_eq!((code, error.starts_with("error: --")), (2, true), "{odd:?}: {error}");
    }
}

#[test]
fn replay_shows_the_course_in_sentences_for_those_who_do_not_look_at_tables() {
    let args = ["replay", "main", "--timeline", "--set", "clearToolUses.trigger=4000"];
    let (code, out, _) = Store::new().run(&args);
    assert_eq!(code, 0);
    for part in [
        "9 calls, ",
        "Thresholds in prompt tokens: window ",
        "Recorded: the largest answered prompt is ",
        "Simulated with ",
        "messages cleared",
        "every prompt fits",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let sentences = out.lines().filter(|line| line.contains(" tokens")).count();
    assert!(out.contains(", compact 180,000"), "the runtime's own window counts: {out}");
    assert!(sentences > 3 && !out.contains('│') && !out.contains('\t'), "{out}");
    assert_eq!(Store::new().run(&["replay", "main", "--timeline", "--all"]).0, 2);
}

#[test]
fn check_answers_by_its_exit_code_and_in_one_line() {
    let store = Store::new();
    let (code, out, error) = store.run(&["check", "main", "--budget", "1000000"]);
    assert_eq!((code, out.lines().count(), error.as_str()), (0, 1, ""));
    let (code, out, error) = store.run(&["check", "main", "--budget", "99"]);
    assert_eq!((code, out.lines().count(), error.as_str()), (1, 1, ""));
    assert!(out.contains("9 of 9 calls over 99 tokens, the first at call-0"), "{out}");
    let (code, out, _) = store.run(&["check", "main", "--budget", "99", "--json"]);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &answer["fits"], &answer["over"]), (1, &json!(false), &json!(9)));
    assert_eq!(store.run(&["check", "main", "--budget", "much"]).0, 2);
}

#[test]
fn steps_follow_the_rules_of_the_version() {
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

/// The real database of a gateway of 2026.9 in a state dir, with what was moved out of it.
fn database() -> tempfile::TempDir {
    let made = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-2026.9.6");
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("agents/main");
    std::fs::create_dir_all(main.join("agent")).unwrap();
    std::fs::create_dir_all(main.join("sessions/cold")).unwrap();
    std::fs::copy(made.join("openclaw-agent.sqlite"), main.join("agent/openclaw-agent.sqlite")).unwrap();
    for name in std::fs::read_dir(made.join("sessions/cold")).unwrap() {
        let name = name.unwrap();
        std::fs::copy(name.path(), main.join("sessions/cold").join(name.file_name())).unwrap();
    }
    dir
}

#[test]
fn every_command_reads_a_database() {
    let dir = database();
    let store = dir.path().to_str().unwrap();
    let run = |args: &[&str]| {
        let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin("clawscope"));
        let output = command.args(args).env("HOME", dir.path()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0..=4)), "{args:?}: {message}");
        assert!(!message.contains("cannot be read"), "{args:?}: {message}");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), message)
    };
    for session in ["main", "subagent:77777777-7777-4777-8777-777777777777", "44444444", "88888888"] {
        let commands: [&[&str]; 9] = [
            &["tree"],
            &["context"],
            &["context", "--breakdown"],
            &["context", "--messages"],
            &["simulate"],
            &["explain"],
            &["replay"],
            &["recovery"],
            &["check", "--budget", "100%"],
        ];
        for command in commands {
            let args = [&command[..1], &[session], &command[1..], &["--json", "--store", store]].concat();
            let (code, out, message) = run(&args);
            assert!(code != Some(2), "{args:?}: {message}");
            assert!(serde_json::from_str::<Value>(&out).is_ok(), "{args:?}: {message}{out}");
        }
    }
    let (_, doctor, _) = run(&["doctor", store, "--json"]);
    let doctor: Value = serde_json::from_str(&doctor).unwrap();
    assert_eq!((&doctor["counts"]["earlier"], &doctor["counts"]["cold"]), (&json!(2), &json!(2)));
    assert_eq!(doctor["findings"], json!([]));
    assert_eq!(doctor["databases"][0]["schemaVersion"], 23);
    let (code, _, message) = run(&["undo", "main", "--apply", "--store", store]);
    assert_eq!(code, Some(4), "{message}");
    assert!(message.contains("only the gateway may write to its database"), "{message}");
    let (_, tree, _) = run(&["tree", "cron:job-1", "--json", "--store", store]);
    let tree: Value = serde_json::from_str(&tree).unwrap();
    assert_eq!(tree["branches"][1]["headline"], "q1");
}

#[test]
fn doctor_shows_every_setting_with_its_chain_and_when_each_session_begins_anew() {
    let store = Store::new();
    store.write(
        "openclaw.json",
        "{ $include: 'base.json',\n session: { reset: { mode: 'idle', idleMinutes: 30 } },\n agents: { defaults: { contextPruning: { softTrimRatio: 0.2 } } } }",
    );
    store.write("base.json", "{ session: { scope: 'global', reset: {\n atHour: 6, idleMinutes: 5 } },\n agents: { defaults: { contextPruning: { softTrimRatio: 0.1 } } } }");
    let answer = store.json(&["doctor"]);
    let row = |list: &str, key: &str| {
        let rows = answer[list].as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("{key}")).clone()
    };
    let ends = |value: &Value, end: &str| value.as_str().is_some_and(|text| text.ends_with(end));
    let idle = row("settings", "session.reset.idleMinutes");
    assert!(
        idle["value"] == 30
            && ends(&idle["from"], "/openclaw.json:2")
            && ends(&idle["over"][0], "/base.json:2"),
        "{idle}"
    );
    let scope = row("settings", "session.dmScope");
    assert_eq!(
        (&scope["value"], &scope["from"], &scope["over"]),
        (&json!("main"), &json!("default"), &json!([]))
    );
    let soft = row("contextPruning", "softTrimRatio");
    assert!(ends(&soft["from"], "default") || ends(&soft["over"][0], "/base.json:3"), "{soft}");
    let life = row("lifecycle", "agent:main:main");
    assert_eq!(
        (&life["type"], &life["mode"]["value"], &life["idleMinutes"]["value"]),
        (&json!("direct"), &json!("idle"), &json!(30))
    );
    let next = TOUCHED_MS + 30 * 60_000;
    assert_eq!(
        (&life["next"]["at"], &life["next"]["reason"], &life["next"]["due"]),
        (&json!(next), &json!("idle"), &json!(true))
    );
    assert!(life["leaves"].as_str().unwrap().contains("orphan"));
    let (code, out, _) = store.run(&["doctor"]);
    assert_eq!(code, 0);
    for part in ["base.json:2", "idle 30m", "the next message resets the session", "over"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(store.json(&["sessions"])["sessions"][0]["reset"]["next"]["at"], json!(next));
}

#[test]
fn the_daily_reset_falls_in_the_time_zone_of_the_host() {
    let store = Store::new();
    let at = |zone: &str| {
        let output = store.command(&["sessions", "--json"]).env("TZ", zone).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let next = answer["sessions"][0]["reset"]["next"].clone();
        (next["at"].as_u64().unwrap(), next["local"].as_str().unwrap().to_owned())
    };
    // Touched on 2026-03-05 at 08:40 UTC.
    assert_eq!(at("UTC"), (1_772_769_600_000, "2026-03-06 04:00 UTC".to_owned()));
    assert_eq!(at("Asia/Shanghai"), (1_772_740_800_000, "2026-03-06 04:00 Asia/Shanghai".to_owned()));
}

#[test]
fn a_remote_configuration_says_whose_host_to_ask() {
    let store = Store::new();
    store
        .write("openclaw.json", "{ gateway: { mode: 'remote', remote: { url: 'wss://gw.example:18789' } } }");
    let (_, out, _) = store.run(&["doctor"]);
    assert!(out.contains("ssh -t gw.example clawscope"), "{out}");
}

#[test]
fn a_replay_under_other_rules_says_so_if_they_read_another_path_from_a_damaged_tree() {
    let session = "agent:main:hook:9c2d7a64-0b1e-4f0a-8a55-6d2f4f6c1b23";
    for (ruleset, is_same) in [("2026.4.15", true), ("2026.9.2", false)] {
        let (code, text, errors) = run(&mut program(&["replay", "--demo", session, "--ruleset", ruleset]));
        assert_eq!((code, errors.as_str()), (0, ""));
        assert_eq!(text.contains("simulated under the rules of"), is_same, "{text}");
        assert_eq!(text.contains("would read another path"), !is_same, "{text}");
    }
}
