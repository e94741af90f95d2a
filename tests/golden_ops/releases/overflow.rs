//! Op `overflow_match`: error texts as a release judges them.

use clawscope::gateway::ruleset::Ruleset;
use clawscope::js::{JsString, Object, Value};
use clawscope::policy::overflow::by_release;

pub(super) fn answer(ruleset: Ruleset, case: &Value) -> Value {
    let texts = case.get("settings").and_then(|settings| settings.get("errorMessages")?.as_array());
    let judged = |text: &JsString| {
        let text = text.to_string_lossy();
        let said = by_release(&text, ruleset.id());
        Value::Object(Object::from([
            ("overflow", said.overflow),
            ("likely", said.likely),
            ("compactionFailure", said.compaction_failure),
            ("rateLimit", said.rate_limit),
            ("pi", said.in_run),
        ]))
    };
    let strings = texts.unwrap_or_default().iter().filter_map(Value::as_str).map(judged).collect();
    super::object([("strings", Value::Array(strings))])
}
