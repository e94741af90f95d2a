//! The command line, as a person and a script use it: every command on stores made by hand, exit codes, JSON shapes.

mod breakdown;
mod commits;
mod completions;
mod context;
mod database;
mod doctor;
mod explain;
mod foreign_stores;
mod lookup;
mod pi;
mod policies;
mod program;
mod recorded;
mod replay;
mod rulesets;
mod search;
mod secrets;
mod sessions;
mod simulate;
mod sweep;
mod usage;
mod way_out;
mod widths;

use serde_json::{Value, json};

use crate::support::store::{Store, message};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[track_caller]
fn has_keys(value: &Value, wanted: &[&str]) {
    let found = keys(value);
    assert!(!wanted.is_empty());
    assert!(wanted.iter().all(|key| found.contains(key)), "{wanted:?} in {found:?}");
}

fn sum(list: &Value, key: &str) -> u64 {
    list.as_array().expect("a list").iter().map(|item| item[key].as_u64().expect("whole")).sum()
}

/// The long session, refused for its size, compacted, and answered.
fn overflowed() -> Store {
    let store = Store::new();
    let refused = json!({ "role": "assistant", "content": [], "stopReason": "error", "provider": "anthropic",
        "model": "claude-opus-4-5", "timestamp": 1_772_700_100_000_u64,
        "errorMessage": "prompt is too long: 203412 tokens > 200000 maximum" });
    store.append(&message("user-1", Some("touch-0"), &json!({ "role": "user", "content": "and now?" })));
    store.append(&message("refused-0", Some("user-1"), &refused));
    store.append(&json!({ "type": "compaction", "id": "compaction-0", "parentId": "refused-0", "summary": "so far",
        "firstKeptEntryId": "user-1", "tokensBefore": 203_412, "timestamp": "2026-03-05T08:42:00.000Z", "fromHook": true }));
    let silent = json!({ "role": "assistant", "content": [{ "type": "text", "text": "NO_REPLY" }], "stopReason": "stop" });
    store.append(&message("answer-9", Some("compaction-0"), &silent));
    store
}
