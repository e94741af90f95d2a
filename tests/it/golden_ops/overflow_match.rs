//! Op `overflow_match`: error texts and assistant messages as the two programs classify them.

use std::path::Path;

use clawscope::js::{JsException, JsString, Value};
use clawscope::policy::overflow::{Runtime, detect};

use super::overflowed_answer::AnswerJudge;
use super::{Object, Session, number, on_session, or_throws};

/// The runtime of the reference version.
const RUNTIME: Runtime<'_> = Runtime::OpenClaw("2026.3.2");

pub(crate) fn answer(case: &Value, root: &Path) -> Result<Value, JsException> {
    let mut result = Object::default();
    let texts = case.get("settings").and_then(|settings| settings.get("errorMessages")?.as_array());
    if let Some(texts) = texts {
        let texts = texts.iter().filter_map(Value::as_str);
        result.set("strings", Value::Array(texts.map(judged_text).collect()));
    }
    if case.get("transcript").is_some() {
        let session = on_session(case, root)?;
        result.set("assistants", assistants(&session));
    }
    Ok(Value::Object(result))
}

fn judged_text(text: &JsString) -> Value {
    let mut judged = Object::default();
    gateways_view(text, &mut judged);
    judged.set("pi", Value::Bool(detect(&text.to_string_lossy(), "", RUNTIME).in_run));
    Value::Object(judged)
}

fn gateways_view(text: &JsString, judged: &mut Object) {
    let detection = detect(&text.to_string_lossy(), "", RUNTIME);
    judged.set("overflow", Value::Bool(detection.overflow));
    judged.set("likely", Value::Bool(detection.likely));
    judged.set("compactionFailure", Value::Bool(detection.compaction_failure));
    judged.set("rateLimit", Value::Bool(detection.rate_limit));
}

fn assistants(session: &Session) -> Value {
    let window = session.setting("contextWindow").and_then(Value::as_f64);
    let judge = AnswerJudge { runtime: RUNTIME, window, counts_length: false };
    let mut judged = Vec::new();
    for (at, message) in session.messages().iter().enumerate() {
        if !message.get("role").is_some_and(|role| role.str_is("assistant")) {
            continue;
        }
        let mut item = Object::default();
        item.set("index", number(at as f64));
        item.set("stopReason", message.get("stopReason").cloned().unwrap_or(Value::Null));
        if let Some(text) = message.get("errorMessage").and_then(Value::as_str) {
            gateways_view(text, &mut item);
        }
        item.set("pi", or_throws(judge.overflowed(message)));
        judged.push(Value::Object(item));
    }
    Value::Array(judged)
}
