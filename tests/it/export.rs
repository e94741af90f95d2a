//! Exports that a person can safely pass on: no secret in any form, the same numbers without the
//! words, a transcript that the runtime opens, a page that a browser searches.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::browser::Browser;
use crate::support::pi::Pi;
use crate::support::secrets::samples;
use crate::support::store::{Store, lines, long_session, message, program, run};

const FORMATS: [&str; 4] = ["html", "md", "json", "pi"];
/// A session of the demo store with branches, a compaction and long results.
const DEMO: &str = "agent:main:telegram:direct:8812";

/// A store whose session holds every shape of secret in every place that may hold text.
fn leaky() -> Store {
    let store = Store::new();
    let mut entries = long_session();
    let mut parent = "touch-0".to_owned();
    for (at, sample) in samples().iter().enumerate() {
        let id = format!("s{at:07}");
        let text = &sample.text;
        let body = match at % 5 {
            0 => json!({ "role": "user", "content": text, "timestamp": 1 }),
            1 => json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1 }),
            2 => json!({ "role": "assistant", "stopReason": "toolUse", "timestamp": 1, "content": [
                { "type": "thinking", "thinking": text },
                { "type": "toolCall", "id": id, "name": "exec", "arguments": { "command": text } }] }),
            3 => {
                json!({ "role": "toolResult", "toolCallId": id, "toolName": "exec", "isError": false, "timestamp": 1,
                "content": [{ "type": "text", "text": text }], "details": { "output": text } })
            }
            _ => json!({ "role": "bashExecution", "command": text, "output": text, "timestamp": 1 }),
        };
        entries.push(message(&id, Some(&parent), &body));
        parent = id;
    }
    let custom = json!({ "type": "custom", "customType": "x", "id": "custom-1", "parentId": parent,
        "timestamp": "2026-03-05T09:00:00.000Z", "data": { "botToken": "only-the-key-tells-17" } });
    entries.push(custom);
    let bare =
        json!({ "role": "user", "content": "it was only-the-key-tells-17, wasn't it?", "timestamp": 1 });
    entries.push(message("bare-1", Some("custom-1"), &bare));
    store.write("agents/main/sessions/long-1.jsonl", &lines(&entries));
    store
}

fn exported(store: &Store, words: &[&str]) -> String {
    let (code, out, error) = store.run(&[&["export", "main"], words].concat());
    assert_eq!(code, 0, "{words:?}: {error}");
    out
}

#[test]
fn no_form_lets_a_secret_out_with_a_plan_or_without() {
    let store = leaky();
    let plan: &[&str] = &["--policy", "truncate,prune", "--set", "contextPruning.softTrimRatio=0"];
    for format in FORMATS {
        for plan in [&[][..], plan] {
            let text = exported(&store, &[&["--format", format], plan].concat());
            for sample in samples() {
                assert!(!text.contains(&sample.secret), "{format} {plan:?}: {}", sample.name);
            }
            assert!(!text.contains("only-the-key-tells-17"), "{format} {plan:?}");
            assert!(text.contains("[redacted:anthropic-key:1]") || format == "md", "{format} {plan:?}");
        }
        let text = exported(&store, &["--format", format, "--no-redact"]);
        assert!(samples().iter().all(|sample| text.contains(&sample.secret)), "{format}");
        let text = exported(&store, &["--format", format, "--shape-only"]);
        assert!(samples().iter().all(|sample| !text.contains(&sample.secret)), "{format}");
    }
}

#[test]
fn signatures_of_a_provider_are_masked_but_no_secrets() {
    let store = Store::new();
    let mut entries = long_session();
    let thought =
        json!({ "type": "thinking", "thinking": "hm", "thinkingSignature": "c2lnbmF0dXJlLW9mLXRoaW5raW5n" });
    let body = json!({ "role": "assistant", "stopReason": "stop", "timestamp": 1, "content": [thought] });
    entries.push(message("sealed-1", Some("touch-0"), &body));
    store.write("agents/main/sessions/long-1.jsonl", &lines(&entries));
    let (code, out, error) = store.run(&["export", "main", "--format", "json"]);
    assert_eq!(code, 0, "{error}");
    assert!(error.ends_with("no secret found, 1 provider signature omitted.\n"), "{error}");
    assert!(out.contains(r#""thinkingSignature":"[redacted:signature:1]""#) && !out.contains("c2lnbmF0"));
    assert!(out.contains(r#""redacted":{"secrets":{},"signatures":1,"images":0}"#));
}

#[test]
fn an_exported_branch_is_not_explained_by_what_the_export_leaves_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("branch.jsonl");
    let file = file.to_str().expect("a path");
    for (session, class) in
        [("slack:channel:c07infra", "parallel-results"), ("telegram:direct:8812", "wrong-window")]
    {
        let made =
            run(&mut program(&["export", session, "--demo", "--format", "pi", "--force", "--out", file]));
        assert_eq!(made.0, 0, "{made:?}");
        let (_, out, error) = run(&mut program(&["explain", file, "--json"]));
        let answer: Value = serde_json::from_str(&out).expect(&error);
        let verdict = &answer["verdict"];
        assert_eq!(verdict["class"], class, "{verdict}");
        // The window of the configuration is not in the file.
        assert_eq!(verdict["confidence"] == "sure", class != "wrong-window", "{verdict}");
    }
}

#[test]
fn a_screen_export_masks_secrets() {
    let store = Store::new();
    let secret = &samples()[0].secret;
    store.append(&message(
        "k",
        Some("touch-0"),
        &json!({ "role": "user", "content": format!("key {secret}") }),
    ));
    let shown = |words: &[&str]| {
        let svg = exported(&store, &[&["--format", "svg", "--size", "160x45"], words].concat());
        assert!(svg.starts_with("<svg") && svg.contains("width=\"1616\""), "{svg}");
        svg
    };
    assert!(shown(&["--no-redact"]).contains(&secret[..20]));
    let masked = shown(&[]);
    for at in 0..secret.len() - 8 {
        assert!(!masked.contains(&secret[at..at + 8]), "{}", &secret[at..at + 8]);
    }
}

#[test]
fn the_json_export_has_every_entry_before_and_after_the_plan() {
    let store = Store::new();
    let plan = ["--format", "json", "--policy", "prune", "--set", "contextPruning.hardClearRatio=0.1"];
    let answer: Value = serde_json::from_str(&exported(&store, &plan)).unwrap();
    assert_eq!((&answer["schemaVersion"], &answer["format"]), (&json!(1), &json!("clawscope-session")));
    let entries = answer["entries"].as_array().unwrap();
    assert_eq!(entries.len(), long_session().len() - 1);
    let changed: Vec<&Value> = entries.iter().filter(|entry| !entry["after"].is_null()).collect();
    let simulated = store.json(&["simulate", "main", "--set", "contextPruning.hardClearRatio=0.1"]);
    assert_eq!(answer["plan"]["tokensAfter"], simulated["after"]["tokens"]);
    assert!(!changed.is_empty() && changed.iter().all(|entry| entry["fate"]["fate"] != "kept"));
    let side = entries.iter().find(|entry| entry["entry"] == "side-0").unwrap();
    assert_eq!((&side["active"], &side["depth"], &side["context"]), (&json!(false), &json!(1), &Value::Null));
    assert_eq!(side["value"]["message"]["content"][0]["text"], "another way");
    let all = exported(&store, &["--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&all).unwrap()["plan"], Value::Null);
}

#[test]
fn an_export_never_overwrites_unasked_and_never_writes_into_a_sessions_folder() {
    let store = Store::new();
    let out = store.path().join("out.html");
    let words = ["export", "main", "--format", "html", "--out", out.to_str().unwrap()];
    assert_eq!(store.run(&words).0, 0);
    let first = fs::read_to_string(&out).unwrap();
    let (code, _, error) = store.run(&words);
    assert!(code == 4 && error.contains("--force"), "{error}");
    fs::File::create(&out).and_then(|mut file| file.write_all(b"mine")).unwrap();
    assert_eq!(store.run(&words).0, 4);
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
    assert_eq!(store.run(&[&words[..], &["--force"]].concat()).0, 0);
    assert_eq!(fs::read_to_string(&out).unwrap().len(), first.len());
    let before = fs::read(store.transcript()).unwrap();
    let beside = store.transcript().with_file_name("copy.jsonl");
    for path in [store.transcript(), beside.clone()] {
        let words = ["export", "main", "--format", "pi", "--force", "--out", path.to_str().unwrap()];
        let (code, _, error) = store.run(&words);
        let expected = if path == beside { "folder of sessions" } else { "is the session file itself" };
        assert!(code == 4 && error.contains(expected), "{error}");
    }
    assert!(!beside.exists() && fs::read(store.transcript()).unwrap() == before);
}

/// Every session of the demo store that has a context.
fn demo_keys() -> Vec<String> {
    let (code, out, error) = run(&mut program(&["sessions", demo_folder().to_str().unwrap(), "--json"]));
    assert_eq!(code, 0, "{error}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    let sessions = answer["sessions"].as_array().unwrap();
    let keys = sessions.iter().filter(|session| session["entries"].as_u64() > Some(0));
    keys.map(|session| session["key"].as_str().unwrap().to_owned()).collect()
}

/// The demo store, written once.
fn demo_folder() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().expect("a folder");
            clawscope::store::demo::write_to(folder.path()).expect("the demo store");
            folder
        })
        .path()
}

fn demo(words: &[&str]) -> Result<String, String> {
    let (code, out, error) =
        run(&mut program(&[words, &["--store", demo_folder().to_str().unwrap()]].concat()));
    if code == 0 { Ok(out) } else { Err(error) }
}

fn context_of(path: &Path) -> Value {
    let (code, out, error) = run(&mut program(&["context", path.to_str().unwrap(), "--json"]));
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_shaped_transcript_gives_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (mut compared, mut messages) = (0, 0);
    for key in demo_keys() {
        let Ok(tree) = demo(&["context", &key, "--json"]) else { continue };
        let tree: Value = serde_json::from_str(&tree).unwrap();
        let whole = folder.path().join(format!("{compared}.whole.jsonl"));
        let shape = folder.path().join(format!("{compared}.shape.jsonl"));
        demo(&["export", &key, "--format", "pi", "--no-redact", "--out", whole.to_str().unwrap()]).unwrap();
        demo(&["export", &key, "--format", "pi", "--shape-only", "--out", shape.to_str().unwrap()]).unwrap();
        let (whole, reported) = (context_of(&whole), context_of(&shape));
        for key in ["messages", "messageTokens", "leaf", "estimate", "window", "budget", "memoryFlush"] {
            assert_eq!(reported[key], whole[key], "{key} of {}", tree["session"]["key"]);
        }
        for key in ["messages", "messageTokens", "sessionTokens", "leaf", "estimate", "provider", "model"] {
            assert_eq!(reported[key], tree[key], "{key} of {}", tree["session"]["key"]);
        }
        compared += 1;
        messages += reported["messages"].as_array().unwrap().len();
    }
    assert!(compared >= 10, "{compared}");
    println!("compared {compared} sessions, {messages} messages");
}

#[test]
fn a_shaped_transcript_contains_no_word_of_the_original() {
    let shaped = demo(&["export", DEMO, "--format", "pi", "--shape-only"]).unwrap();
    let shown = demo(&["context", DEMO, "--messages", "--json"]).unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let messages = shown["messages"].as_array().unwrap().iter();
    let texts = messages.map(|item| item["message"]["content"][0]["text"].as_str().unwrap_or_default());
    let words = texts.flat_map(str::split_whitespace);
    let long = words.filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 9);
    let words: std::collections::BTreeSet<&str> = long.collect();
    assert!(words.len() > 100, "{}", words.len());
    for word in words {
        assert!(!shaped.contains(word), "{word}");
    }
}

/// Opens files with pi and returns its contexts as JSON.
fn opened(pi: &Pi, files: &[PathBuf]) -> Vec<Vec<Value>> {
    let contexts = pi.open(files, false).into_iter().map(|opened| opened.context);
    contexts.map(|context| context.iter().map(|json| serde_json::from_str(json).unwrap()).collect()).collect()
}

fn messages(answer: &str) -> Vec<Value> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let messages = answer["messages"].as_array().unwrap();
    messages.iter().map(|item| item.get("message").unwrap_or(item).clone()).collect()
}

#[test]
fn the_real_pi_opens_every_branch_with_the_same_context() {
    let Some(pi) = Pi::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut files, mut expected, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for key in demo_keys() {
        let Ok(context) = demo(&["context", &key, "--messages", "--json"]) else { continue };
        let file = folder.path().join(format!("{}.jsonl", files.len()));
        let words = ["export", &key, "--format", "pi", "--no-redact", "--out", file.to_str().unwrap()];
        demo(&words).unwrap();
        files.push(file);
        expected.push(messages(&context));
        names.push(key);
    }
    assert!(files.len() >= 10);
    for ((found, expected), name) in opened(&pi, &files).into_iter().zip(expected).zip(names) {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_real_pi_opens_a_planned_branch_with_the_messages_after_the_plan() {
    let Some(pi) = Pi::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plans: [&[&str]; 4] = [
        &["--policy", "prune", "--set", "contextPruning.hardClearRatio=0.1"],
        &["--policy", "gateway", "--set", "historyLimit=2"],
        &["--policy", "compact"],
        &[
            "--policy",
            "compact,history,prune",
            "--set",
            "historyLimit=1",
            "--set",
            "contextPruning.softTrimRatio=0",
        ],
    ];
    let (mut files, mut expected, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for key in demo_keys() {
        for plan in plans {
            let summary: &[&str] = if plan[1].contains("compact") { &["--with", "extractive"] } else { &[] };
            // Days after the last call: the gates are open, and a summary is made at the same moment by both.
            let now: &[&str] = &["--now", "2026-03-08T00:00:00Z"];
            let simulate = [&["simulate", &key, "--messages", "--json"], plan, summary, now].concat();
            let Ok(simulated) = demo(&simulate) else { continue };
            let file = folder.path().join(format!("{}.jsonl", files.len()));
            let export = ["export", &key, "--format", "pi", "--no-redact", "--out", file.to_str().unwrap()];
            demo(&[&export, plan, now].concat()).unwrap();
            files.push(file);
            expected.push(messages(&simulated));
            names.push(format!("{key} {plan:?}"));
        }
    }
    assert!(files.len() >= 40, "{}", files.len());
    for ((found, expected), name) in opened(&pi, &files).into_iter().zip(expected).zip(names) {
        assert_eq!(found, expected, "{name}");
    }
}

/// A number in a page that a browser has opened.
fn found_words(page: &str) -> &str {
    let start = page.find("id=\"found\"").expect("the place of the answer");
    let rest = &page[start..];
    &rest[rest.find('>').unwrap() + 1..rest.find('<').unwrap()]
}

#[test]
fn a_browser_opens_the_page_offline_and_searches_it() {
    let Some(browser) = Browser::find() else { return };
    let store = Store::new();
    let mut million = "padding ".repeat(125_000);
    million.insert_str(700_000, " needle-in-the-middle ");
    let result = json!({ "role": "toolResult", "toolCallId": "t", "toolName": "exec", "isError": false,
        "content": [{ "type": "text", "text": million }] });
    store.append(&message("big", Some("touch-0"), &result));
    let hostile =
        "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> \u{1b}[31m";
    store.append(&message("odd", Some("big"), &json!({ "role": "user", "content": hostile })));
    let page = store.path().join("page.html");
    let words = ["--format", "html", "--policy", "prune", "--out", page.to_str().unwrap()];
    exported(&store, &words);
    let text = fs::read_to_string(&page).unwrap();
    let policy = &text[text.find("Content-Security-Policy").unwrap()..];
    assert!(policy.contains("default-src 'none'"));
    for outside in ["http://", "https://", "//cdn", "@import", "src=\"h"] {
        assert!(!text.contains(outside), "{outside}");
    }
    let opened = browser.opened(&page, "q=needle-in-the-middle");
    assert_eq!(found_words(&opened), "1 of 1 in 1 entry");
    assert!(opened.contains("<mark class=\"now\">needle-in-the-middle</mark>"));
    assert!(opened.contains("<title>agent:main:main</title>") && !opened.contains("<title>taken"));
    let opened = browser.opened(&page, "q=ANOTHER%20way");
    assert_eq!(found_words(&opened), "1 of 1 in 1 entry");
    let branch = &opened[opened.find("<details class=\"branch\"").expect("a branch")..];
    assert!(branch.starts_with("<details class=\"branch\" open=\"\">"), "{}", &branch[..80]);
    assert_eq!(found_words(&browser.opened(&page, "q=no-such-word-anywhere")), "no match");
}

#[test]
fn impossible_export_options_are_errors() {
    let store = Store::new();
    for (words, code, expected) in [
        (&["--format", "svg", "--size", "9x9"][..], 2, "--size"),
        (&["--format", "svg", "--colours", "pink"], 2, "pink"),
        (&["--format", "svg", "--policy", "prune"], 2, "press S"),
        (&["--format", "html", "--shape-only", "--no-redact"], 2, "cannot be combined"),
        (&["--format", "docx"], 2, "docx"),
        (&["--format", "html", "--force"], 2, "--out"),
        (&["--format", "html", "--leaf", "nope"], 2, "no entry has this id"),
    ] {
        let (found, _, error) = store.run(&[&["export", "main"], words].concat());
        assert!(found == code && error.contains(expected), "{words:?}: {found} {error}");
    }
}

#[test]
fn the_ending_of_the_file_is_the_format() {
    let folder = tempfile::tempdir().unwrap();
    for (ending, start) in [("html", "<!"), ("md", "#"), ("json", "{"), ("jsonl", "{\"type\":\"session\"")] {
        let file = folder.path().join(format!("report.{ending}"));
        let (code, _, error) = run(&mut program(&["export", DEMO, "--demo", "-o", file.to_str().unwrap()]));
        assert_eq!(code, 0, "{ending}: {error}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(start), "{ending}: {}", &text[..60]);
    }
}
