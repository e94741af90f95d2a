//! Secrets of transcripts and configurations in everything that commands print.

use serde_json::json;

use crate::support::store::{Store, lines, message};

/// Secrets that only the words around them reveal: in messages, arguments of calls, and a summary; then those of the
/// configuration.
const SECRETS: [&str; 6] = [
    "8f3a9c2d1e",
    "482130557",
    "tall9-orange42",
    "mint7-Harbour",
    "Kq92Lm37Vb64Nc55",
    "sk-ant-api03-Zx81Kq92Lm37Vb64Nc55Qa18",
];

fn store() -> Store {
    let store = Store::new();
    store.write(
        "openclaw.json",
        "{ agents: { defaults: { contextTokens: 20000, model: { primary: 'anthropic/sk-ant-api03-Zx81Kq92Lm37Vb64Nc55Qa18' },
            contextPruning: { mode: 'cache-ttl', minPrunableToolChars: 1000,
              hardClear: { placeholder: '[cleared, password: mint7-Harbour]' },
              tools: { deny: ['x-api-key: Kq92Lm37Vb64Nc55'] } } } } }",
    );
    let user = |text: &str| json!({ "role": "user", "content": text });
    let result = |id: &str, text: String| {
        json!({ "role": "toolResult", "toolCallId": id, "toolName": "exec",
            "content": [{ "type": "text", "text": text }] })
    };
    let call = |id: &str, command: &str| {
        json!({ "role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": "toolUse",
            "usage": { "input": 5000, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 5020 },
            "content": [{ "type": "toolCall", "id": id, "name": "exec", "arguments": { "command": command } }] })
    };
    let long = "a line of the log\n".repeat(700);
    let mut entries = vec![
        message(
            "u1",
            None,
            &user(
                "The database password is 8f3a9c2d1e and DB_PIN: 482130557. Never print DB_PASSWORD=tall9-orange42 in logs.",
            ),
        ),
        message("c1", Some("u1"), &call("k1", "mysql -u root -ptall9-orange42 app")),
        message("r1", Some("c1"), &result("k1", format!("password: 8f3a9c2d1e\nDB_PIN: 482130557\n{long}"))),
    ];
    entries.push(json!({ "type": "compaction", "id": "s1", "parentId": "r1", "timestamp": "2026-03-05T08:01:00.000Z",
        "summary": "They looked at the database. DB_PIN: 482130556", "firstKeptEntryId": "r1", "tokensBefore": 5000 }));
    for at in 0..4 {
        let (call_id, result_id) = (format!("c2{at}"), format!("r2{at}"));
        let parent = if at == 0 { "s1".to_owned() } else { format!("r2{}", at - 1) };
        entries.push(message(
            &call_id,
            Some(&parent),
            &call(&format!("k2{at}"), "mysql -u root -ptall9-orange42 app"),
        ));
        entries.push(message(
            &result_id,
            Some(&call_id),
            &result(&format!("k2{at}"), format!("id 8f3a9c2d1e 482130557\npassword: 8f3a9c2d1e\n{long}")),
        ));
    }
    entries.push(message(
        "u3",
        Some("r23"),
        &user("log in with the password 8f3a9c2d1e and DB_PIN: 482130557 again"),
    ));
    store.write("agents/main/sessions/long-1.jsonl", &lines(&entries));
    store
}

#[test]
fn no_command_prints_a_secret_that_it_took_out_of_its_words() {
    let store = store();
    let mut leaks = Vec::new();
    for words in [
        &["sessions"][..],
        &["sessions", "main"],
        &["tree", "main"],
        &["context", "main"],
        &["breakdown", "main"],
        &["recorded", "main"],
        &["explain", "--recovery", "main"],
        &["explain", "main"],
        &["explain", "--all"],
        &["cost", "main"],
        &["simulate", "main"],
        &["replay", "main"],
        &["replay", "--lost", "main"],
        &["replay", "--lost", "main", "--set", "clearToolUses.trigger=4000"],
        &["sweep", "main", "--vary", "contextPruning.keepLastAssistants=1,3"],
        &["check", "main"],
        &["simulate", "--summary", "main"],
        &["settings"],
        &["settings", "main"],
        &["doctor"],
        &["search", "database"],
        &["settings", "--presets"],
        &["estimators", "main"],
        &["migration"],
        &["undo", "--list", "main"],
        &["export", "main", "--format", "json"],
    ] {
        for json in [&[][..], &["--json"]] {
            let output = store.command(words).args(json).output().unwrap();
            let (out, error) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            for secret in SECRETS.iter().filter(|secret| out.contains(**secret) || error.contains(**secret)) {
                let line = out.lines().chain(error.lines()).find(|line| line.contains(*secret)).unwrap();
                let at = line.find(*secret).unwrap();
                let from = line.floor_char_boundary(at.saturating_sub(120));
                leaks.push(format!(
                    "{words:?} {json:?}: {}",
                    &line[from..line.ceil_char_boundary((at + 40).min(line.len()))]
                ));
            }
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}
