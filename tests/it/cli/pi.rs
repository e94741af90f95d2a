//! Sessions of today's pi.

use serde_json::{Value, json};

use crate::support::store::{RESULTS, lines, long_session, message, program, run};

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
    // The cache touch belongs to a gateway.
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
    assert_eq!(context["budget"]["total"], context["nextCall"]["tokens"]["value"]);
    let breakdown = json(&["context", "--breakdown"]);
    assert!(
        breakdown["system"]["chars"].as_u64() > Some(0) && breakdown["schemas"]["chars"].as_u64() > Some(0)
    );
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
fn pi_settings_are_shown_set_and_varied_with_their_file() {
    let (dir, _) = todays_store();
    let settings = dir.path().join("settings.json");
    write_file(&settings,
        "{\n \"compaction\": {\n  \"reserveTokens\": 30000,\n  \"modelOverrides\": { \"anthropic/claude-opus-4-5\": { \"keepRecentTokens\": 5000 } }\n }\n}",
    )
    .unwrap();
    let models = r#"{"providers":{"anthropic":{"models":[{"id":"claude-opus-4-5","contextWindow":64000}]}}}"#;
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
    let own = setting("compaction.modelOverrides[anthropic/claude-opus-4-5].keepRecentTokens");
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
            .ends_with("modelOverrides[anthropic/claude-opus-4-5].keepRecentTokens")
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
        let mut body = json!({ "role": "assistant", "content": content, "provider": "anthropic", "model": "claude-opus-4-5",
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
fn advice_for_an_overflow_in_todays_pi_names_pi_settings() {
    let dir = outgrown();
    let session = ["019bb7d3", "--store", dir.path().to_str().unwrap(), "--json"];
    let json = |words: &[&str]| -> Value {
        let (code, text, error) = run(&mut program(&[words, &session].concat()));
        assert_eq!(code, 0, "{words:?}: {error}");
        serde_json::from_str(&text).unwrap()
    };
    let explained = json(&["explain"]);
    let text = explained.to_string();
    assert!(text.contains("the last check saw 181,"), "{text}");
    assert!(!text.contains("the check before this run saw"), "{text}");
    let settings = dir.path().join("settings.json");
    let advice = &explained["advice"][0];
    assert_eq!(
        (&advice["set"], &advice["helps"]),
        (&json!({ "compaction.reserveTokens": 20000 }), &json!(true))
    );
    let patch = advice["patch"].as_str().unwrap();
    assert!(patch.starts_with(&format!("// {}\n", settings.display())), "{patch}");

    // The replay looks where pi looks, with pi's own estimate: without a change the refused call is refused again.
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
fn every_command_uses_todays_pi_rules_for_its_sessions() {
    let (dir, _) = todays_store();
    let path = dir.path().to_str().unwrap();
    let ask = |words: &[&str]| run(&mut program(words));
    let (_, list, _) = ask(&["sessions", path]);
    assert!(list.contains("· pi 1.5.1–1.6.0 · ") && !list.contains("0.55"), "{list}");
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
    // A gateway's tables show nothing there; pi's own file does.
    assert!(!doctor.contains("contextPruning") && !doctor.contains("memoryFlush"), "{doctor}");
    assert!(
        doctor.contains("compaction.reserveTokens") && doctor.contains("pi uses its defaults"),
        "{doctor}"
    );
    let (_, doctor, _) = ask(&["doctor", path, "--json"]);
    let doctor: Value = serde_json::from_str(&doctor).unwrap();
    assert_eq!(doctor["rulesets"], json!({ "pi-1.5": 1 }));
    // No session of pi resets by itself, under any of its versions.
    let (_, named, _) = ask(&["sessions", path, "--ruleset", "pi-1.5", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&named).unwrap()["sessions"][0]["reset"], json!(null));

    let session = ["019acff0", "--store", path];
    let (_, recovery, _) = ask(&[&["explain", "--recovery"], &session[..]].concat());
    assert!(recovery.contains("in the run") && !recovery.contains("pi-0.55"), "{recovery}");
    let (code, _, error) = ask(&[&["commit"], &session[..]].concat());
    assert!(code == 4 && error.contains("pi itself prunes nothing") && !error.contains("--gates"), "{error}");
    let set = ["--set", "contextPruning.softTrimRatio=0", "--set", "contextPruning.hardClearRatio=0"];
    let (_, commit, error) =
        ask(&[&["commit"], &session[..], &set[..], &["--set", "contextPruning.minPrunableToolChars=0"]]
            .concat());
    assert!(commit.contains("context_edit") && !commit.contains("gateway"), "{commit}{error}");
}
