//! Op `overflow_match`: error texts and answers as pi 1.5 classifies them.

use std::path::Path;

use clawscope::gateway::ruleset::PiRelease;
use clawscope::js::{JsException, JsString, Object, Value};
use clawscope::policy::overflow::detect;
use clawscope::store::entry::Role;

use super::super::overflowed_answer::is_recoverable_length;
use super::super::{number, object, or_throws};
use super::{NEWEST_RUNTIME, built, judge, moved};

pub(super) fn answer(pi: PiRelease, case: &Value, root: &Path) -> Result<Value, JsException> {
    let setting = |name: &str| case.get("settings").and_then(|settings| settings.get(name));
    let mut result = Object::default();
    if let Some(texts) = setting("errorMessages").and_then(Value::as_array) {
        let provider = setting("provider").and_then(Value::as_str).map(JsString::to_string_lossy);
        let judged = texts.iter().filter_map(Value::as_str).map(|text| {
            let text = text.to_string_lossy();
            Value::Bool(detect(&text, provider.as_deref().unwrap_or_default(), NEWEST_RUNTIME).in_run)
        });
        result.set("strings", Value::Array(judged.collect()));
    }
    if case.get("transcript").is_some() {
        let mut session = moved(pi, case, root)?;
        built(&mut session)?;
        let window = setting("contextWindow").and_then(Value::as_f64);
        let most = setting("maxTokens").and_then(Value::as_f64).unwrap_or(0.0);
        let messages = session.messages();
        let assistants = session.context.messages.iter().zip(&messages).enumerate();
        let judged = assistants.filter(|(_, (known, _))| known.size.role == Role::Assistant).map(
            |(at, (_, message))| {
                object([
                    ("index", number(at as f64)),
                    ("stopReason", message.get("stopReason").cloned().unwrap_or(Value::Null)),
                    ("overflow", or_throws(judge(window).overflowed(message))),
                    ("recoverableLength", or_throws(is_recoverable_length(message, most))),
                ])
            },
        );
        result.set("assistants", Value::Array(judged.collect()));
    }
    Ok(Value::Object(result))
}
