//! Op `overflow_match`: error texts and answers as a release classifies them.

use std::path::Path;

use clawscope::gateway::ruleset::Ruleset;
use clawscope::js::{JsException, JsString, Object, Value};
use clawscope::policy::overflow::{Detection, Runtime, detect};

use super::super::or_throws;
use super::super::overflowed_answer::AnswerJudge;
use super::{Session, number, on_session};

pub(super) fn answer(ruleset: Ruleset, case: &Value, root: &Path) -> Result<Value, JsException> {
    let mut result = Object::default();
    let texts = case.get("settings").and_then(|settings| settings.get("errorMessages")?.as_array());
    if let Some(texts) = texts {
        let judged = |text: &JsString| {
            let details = detect(&text.to_string_lossy(), "", runtime(ruleset));
            let mut judged = gateways_view(details);
            judged.set("pi", Value::Bool(details.in_run));
            Value::Object(judged)
        };
        let texts = texts.iter().filter_map(Value::as_str);
        result.set("strings", Value::Array(texts.map(judged).collect()));
    }
    if case.get("transcript").is_some() {
        result.set("assistants", assistants(ruleset, &on_session(case, root)?));
    }
    Ok(Value::Object(result))
}

fn runtime(ruleset: Ruleset) -> Runtime<'static> {
    Runtime::of_ruleset(ruleset, None)
}

/// Whether the pi of a release takes an empty answer for an overflow: since pi 0.72, in the gateway since 2026.5.3.
fn counts_length(ruleset: Ruleset) -> bool {
    let release: Vec<u32> = ruleset.id().split('.').filter_map(|part| part.parse().ok()).collect();
    release >= vec![2026, 5, 3]
}

fn gateways_view(details: Detection) -> Object {
    Object::from([
        ("overflow", details.overflow),
        ("likely", details.likely),
        ("compactionFailure", details.compaction_failure),
        ("rateLimit", details.rate_limit),
    ])
}

fn assistants(ruleset: Ruleset, session: &Session) -> Value {
    let window = session.setting("contextWindow").and_then(Value::as_f64);
    let judge = AnswerJudge { runtime: runtime(ruleset), window, counts_length: counts_length(ruleset) };
    let mut judged = Vec::new();
    for (at, message) in session.messages().iter().enumerate() {
        if !message.get("role").is_some_and(|role| role.str_is("assistant")) {
            continue;
        }
        let text = message.get("errorMessage").and_then(Value::as_str);
        let mut item = text
            .map(|text| gateways_view(detect(&text.to_string_lossy(), "", runtime(ruleset))))
            .unwrap_or_default();
        item.set("index", number(at as f64));
        item.set("stopReason", message.get("stopReason").cloned().unwrap_or(Value::Null));
        item.set("pi", or_throws(judge.overflowed(message)));
        judged.push(Value::Object(item));
    }
    Value::Array(judged)
}
