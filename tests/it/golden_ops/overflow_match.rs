//! Op `overflow_match`: error texts and assistant messages as the two programs judge them.

use std::path::Path;

use clawscope::js::{JsException, JsString, Value};
use clawscope::policy::overflow::{self, gateway};

use super::{Object, Session, number, object, on_session, or_throws};

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
    let failed = object([("stopReason", Value::from("error")), ("errorMessage", Value::from(text.clone()))]);
    judged.set("pi", or_throws(overflow::pi::is_overflow_message(&failed, None)));
    Value::Object(judged)
}

fn gateways_view(text: &JsString, judged: &mut Object) {
    let text = text.to_string_lossy();
    judged.set("overflow", Value::Bool(gateway::is_overflow(&text)));
    judged.set("likely", Value::Bool(gateway::is_likely_overflow(&text)));
    judged.set("compactionFailure", Value::Bool(gateway::is_compaction_failure(&text)));
    judged.set("rateLimit", Value::Bool(gateway::is_rate_limit(&text)));
}

fn assistants(session: &Session) -> Value {
    let window = session.setting("contextWindow").and_then(Value::as_f64);
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
        item.set("pi", or_throws(overflow::pi::is_overflow_message(message, window)));
        judged.push(Value::Object(item));
    }
    Value::Array(judged)
}
