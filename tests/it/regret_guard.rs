//! The gateway's guard against loops after a compaction counts repeated calls; regret counts the same ones.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::store::program;

fn line(transcript: &mut String, at: usize, body: &Value) {
    let mut entry = json!({
        "id": format!("e{at}"),
        "parentId": at.checked_sub(1).map(|before| format!("e{before}")),
        "timestamp": format!("2026-11-19T13:{:02}:{:02}.000Z", at / 60, at % 60),
    });
    let (entry_members, body) = (entry.as_object_mut().unwrap(), body.as_object().unwrap().clone());
    entry_members.extend(body);
    writeln!(transcript, "{entry}").unwrap();
}

/// A transcript with these calls before and after a compaction that keeps nothing.
fn transcript(before: &[Value], after: &[Value]) -> String {
    let mut text =
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-11-19T13:00:00.000Z\"}\n"
            .to_owned();
    let mut bodies = vec![json!({ "type": "message", "message": { "role": "user", "content": "go" } })];
    let calls = |calls: &[Value], bodies: &mut Vec<Value>| {
        for call in calls {
            let (id, tool) = (format!("c{}", bodies.len()), &call[0]);
            let block = json!({ "type": "toolCall", "id": id, "name": tool, "arguments": call[1] });
            bodies.push(json!({ "type": "message", "message":
                { "role": "assistant", "content": [block], "stopReason": "toolUse" } }));
            let content = json!([{ "type": "text", "text": "some words about nothing" }]);
            bodies.push(json!({ "type": "message", "message":
                { "role": "toolResult", "toolCallId": id, "toolName": tool, "content": content } }));
        }
    };
    calls(before, &mut bodies);
    bodies.push(json!({ "type": "compaction", "summary": "They worked.", "firstKeptEntryId": "none", "tokensBefore": 9 }));
    calls(after, &mut bodies);
    for (at, body) in bodies.iter().enumerate() {
        line(&mut text, at, body);
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a transcript of its own, that no other program writes")]
fn regret_counts_the_repetitions_that_the_gateways_guard_counts() {
    let expected: Value = serde_json::from_str(include_str!("../golden-regret/expected.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut repeated = 0;
    for (number, case) in expected["cases"].as_array().unwrap().iter().enumerate() {
        let [before, after] = ["before", "after"].map(|name| case[name].as_array().unwrap().as_slice());
        let file = folder.path().join(format!("case-{number}.jsonl"));
        std::fs::write(&file, transcript(before, after)).unwrap();
        let output = program(&["replay", "--lost", &file.to_string_lossy(), "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = &answer["recorded"]["totals"]["fetchedAgain"];
        assert_eq!(*found, case["repeats"], "case {number}: {case}");
        repeated += found.as_u64().unwrap();
    }
    assert!(repeated > 20, "the cases repeat calls");
}
