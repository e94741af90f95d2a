//! Op `chat_preflight`: the check before a chat turn, of a session in a store of its own.

use std::path::Path;

use clawscope::context::tokens::estimate_under;
use clawscope::gateway::env::Environment;
use clawscope::gateway::registry::Provenance;
use clawscope::gateway::ruleset::{Ruleset, RulesetChoice};
use clawscope::js::{self, Value};
use clawscope::session::LoadedSession;
use clawscope::session::list::list_sessions_with;
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::units::Tokens;

use super::super::transcript;
use super::{number, object};
use crate::support::fixture::put;
use crate::support::session::NOW;

pub(super) fn answer(ruleset: Ruleset, case: &Value, root: &Path) -> Value {
    let state = tempfile::tempdir().expect("a folder");
    let settings = case.get("settings").expect("settings");
    write_store(state.path(), settings, &transcript(case, root));
    let session = opened(state.path(), ruleset);
    let prompt = settings.get("prompt").and_then(Value::as_str).map(|text| text.trim().clone());
    let prompt = prompt.filter(|text| !text.is_empty());
    let message = prompt.map(|text| {
        let message = object([("role", Value::from("user")), ("content", Value::String(text))]);
        estimate_under(ruleset.rules(), &message).expect("an estimate")
    });
    let compaction = &session.configured_settings.compaction;
    let is_heartbeat = settings.get("heartbeat").is_some();
    let threshold = compaction.chat_threshold(session.window.tokens).filter(|_| !is_heartbeat);
    let check = session.chat_check_with(message).filter(|_| !is_heartbeat);
    let known = |tokens: Option<Tokens>| tokens.map_or(Value::Null, |tokens| number(tokens.get()));
    object([
        ("compacts", Value::Bool(check.is_some_and(|check| check.is_due()))),
        ("window", known(threshold.map(|_| compaction.chat_window(session.window.tokens)))),
        ("threshold", known(threshold)),
        ("promptTokens", known(message.filter(|_| threshold.is_some()))),
        ("total", known(check.map(|check| check.total.tokens))),
    ])
}

fn opened(state: &Path, ruleset: Ruleset) -> LoadedSession {
    let requested = RulesetChoice::from_version(ruleset.id(), Provenance::Flag).expect("a version");
    let request = StoreRequest::Path(state.to_path_buf());
    let place = StoreLocation::new(&request, Environment::default()).expect("a place");
    let listed = list_sessions_with(&place, Some(&requested), NOW);
    let [item] = &listed.items[..] else { panic!("{:?}", listed.items) };
    open(&listed.store, &item.key, None, NOW, &mut |_, _| true).expect("it opens")
}

/// Writes configuration, row and transcript of a case.
fn write_store(state: &Path, settings: &Value, transcript: &Path) {
    let json = |key: &str| settings.get(key).map_or("null".to_owned(), js::stringify);
    let provider = settings.get("provider").and_then(Value::as_str);
    let provider = provider.map_or("example".to_owned(), clawscope::js::JsString::to_string_lossy);
    let cap = settings
        .get("agentContextTokens")
        .map(|tokens| format!(r#","contextTokens":{}"#, js::stringify(tokens)));
    let compaction = settings.get("compaction").map_or("{}".to_owned(), js::stringify);
    let config = format!(
        r#"{{"models":{{"providers":{{"{provider}":{{"models":[{{"id":"model","name":"model","contextWindow":{}}}]{}}}}}}},
        "agents":{{"defaults":{{"compaction":{compaction}{}}}}}}}"#,
        json("contextWindow"),
        settings
            .get("providerParams")
            .map_or(String::new(), |params| format!(r#","params":{}"#, js::stringify(params))),
        cap.unwrap_or_default(),
    );
    put(&state.join("openclaw.json"), config);
    let sessions = state.join("agents/main/sessions");
    let row = json("row");
    let row = row.strip_prefix('{').filter(|row| *row != "}").map_or("}".to_owned(), |row| format!(",{row}"));
    let id = "5e551011-0000-4000-8000-000000000001";
    put(
        &sessions.join("sessions.json"),
        format!(
            r#"{{"agent:main:main":{{"sessionId":"{id}","updatedAt":1767225600000,"modelProvider":"{provider}","model":"model"{row}}}"#
        ),
    );
    put(&sessions.join(format!("{id}.jsonl")), std::fs::read(transcript).expect("the transcript"));
}
