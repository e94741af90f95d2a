//! JSON whose keys are in a fixed order, to compare messages of two programs.

use clawscope::js::{self, Value};

/// A value as text, the keys of its objects sorted.
pub(crate) fn sorted(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by(|a, b| a.0.cmp(b.0));
            let member = |(key, value)| format!("{}:{}", js::stringify_str(key), sorted(value));
            format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        other => js::stringify(other),
    }
}
