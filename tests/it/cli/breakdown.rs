//! `context --breakdown`.

use serde_json::{Value, json};

use super::{has_keys, sum};
use crate::support::store::{LAST_PROMPT, Store, program, run};

#[test]
fn a_breakdown_adds_up_and_includes_the_stored_report() {
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
fn without_a_report_the_breakdown_has_null_fields() {
    let store = Store::new();
    let answer = store.json(&["context", "main", "--breakdown"]);
    assert!(
        answer["system"].is_null() && answer["files"].is_null() && answer["schemas"].is_null(),
        "{answer}"
    );
    assert!(answer["report"].is_null());
    assert_eq!(
        (&answer["remainder"]["reason"], &answer["remainder"]["measured"]),
        (&json!("no-report"), &json!(LAST_PROMPT))
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
fn the_valid_parts_of_an_odd_report_are_shown() {
    let store = Store::new();
    let report = json!({ "source": "estimate", "systemPrompt": { "chars": 4_000, "projectContextChars": "many" },
        "injectedWorkspaceFiles": [null, { "name": "\u{1b}[2JA.md", "injectedChars": 9_999 }],
        "skills": 5, "tools": { "schemaChars": 400, "entries": [{ "name": "exec", "schemaChars": 300 }] } });
    store.write_rows(&json!({ "agent:main:main": { "sessionId": "long-1", "systemPromptReport": report } }));
    let answer = store.json(&["context", "main", "--breakdown"]);
    assert_eq!((&answer["system"]["chars"], &answer["files"]["chars"]), (&json!(0), &json!(4_000)));
    assert_eq!(answer["files"]["tokens"], answer["budget"]["files"]);
    assert_eq!(answer["tools"][0]["schema"]["chars"], 300);
    assert_eq!(
        (&answer["schemas"]["other"]["chars"], &answer["remainder"]["reason"]),
        (&json!(100), &json!("estimated-report"))
    );
    assert_eq!(answer["report"], report);
    let (_, out, _) = store.run(&["context", "main", "--breakdown"]);
    assert!(!out.contains('\u{1b}'), "{out}");
}
