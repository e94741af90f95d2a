//! `context --recorded`.

use serde_json::{Value, json};

use super::has_keys;
use crate::support::store::{Store, program, run};

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
    assert!(code == 0 && out.contains("#5") && out.contains("a12c20d7") && !out.contains('\u{1b}'), "{out}");
    store.write(
        &format!("agents/main/sessions/{id}.trajectory.jsonl"),
        &read(".trajectory.jsonl").replace("19864a6b", "ffffffff"),
    );
    assert_eq!(store.json(&["context", id, "--recorded"])["verdict"], "leaf missing");
}
