//! `sessions`: the list, its table, and the demo store.

use serde_json::{Value, json};

use super::{has_keys, sum};
use crate::support::store::{LAST_PROMPT, Store, lines, long_session, message, program, run};

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
    assert_eq!((&session["window"], &session["windowGuard"]), (&json!(200_000), &json!("warn")));
    assert_eq!(session["entries"], long_session().len() - 1);
    assert_eq!(
        session["tokens"],
        json!({ "value": LAST_PROMPT + 10, "source": "measured" }),
        "with the answer"
    );
}

#[test]
fn a_filter_without_sessions_does_not_look_like_an_empty_store() {
    let filtered = |filter: &str| run(&mut program(&["sessions", "--demo", "--filter", filter]));
    let (code, text, _) = filtered("nothinglikeit");
    assert!(code == 0 && text.ends_with("\n0 of 14 sessions match\n"), "{text}");
    let (code, _, error) = filtered("ful:>80");
    assert!(code == 2 && error.contains("unknown key ful; did you mean full?\n"), "{error}");
}

#[test]
fn results_after_the_last_answer_count_in_the_list_too() {
    let store = Store::new();
    let result = json!({ "role": "toolResult", "toolCallId": "t", "toolName": "exec",
        "content": [{ "type": "text", "text": "x".repeat(400_000) }], "isError": false });
    store.append(&message("late", Some("touch-0"), &result));
    let answer = store.json(&["sessions"]);
    let session = &answer["sessions"][0];
    let next = &store.json(&["context", "main"])["nextCall"]["tokens"];
    assert_eq!(&session["tokens"], next);
    assert_eq!(next["source"], "calibrated");
    assert!(
        next["value"].as_u64() > Some(60_000) && session["flags"] == json!([]),
        "the guard leaves half of it, and no call was refused: {session}"
    );
}

#[test]
fn a_session_without_a_row_is_titled_by_its_name_or_first_request() {
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
fn wide_names_keep_the_table_of_sessions_aligned() {
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
    let own_end = clawscope::text::width(&row[..row.find("200,000").expect("the window") + "200,000".len()]);
    assert_eq!(end, own_end, "{out}");
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
        ("agent:main:hook:9c2d7a64-0b1e-4f0a-8a55-6d2f4f6c1b23", "unreachable-entries"),
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
        // Each command prints the same by itself.
        let alone = program(&["--demo", "explain", key, "--json"]).output().expect("it runs");
        let alone: Value = serde_json::from_slice(&alone.stdout).expect("JSON");
        assert_eq!(alone["verdict"], session["verdict"], "{key}");
    }
    assert_eq!(sessions.iter().filter(|it| it["overflow"] == true).count(), 2);
    assert_eq!(sessions.iter().filter(|it| it["noSettingHelps"] == true).count(), 1);
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
fn without_a_store_the_demo_opens_with_a_notice() {
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
fn another_configuration_can_be_tried() {
    let store = Store::new();
    store.write("other.json", "{ agents: { defaults: { contextTokens: 9000 } } }");
    let other = store.path().join("other.json").to_string_lossy().into_owned();
    let answer = store.json(&["simulate", "main", "--config", &other]);
    assert_eq!(
        (&answer["window"]["contextTokens"], &answer["gate"]["reason"]),
        (&json!(9000), &json!("pruning-off"))
    );
    store.write("other.json", "{ nope");
    assert_eq!(store.run(&["sessions", "--config", &other]).0, 3);
    assert_eq!(store.run(&["sessions", "--config", "/no/such"]).0, 2);
}
