//! The changed settings as a patch for `openclaw.json`: shown and copied, never applied by us.

use crate::app::tuning::TuningPane;
use crate::gateway::prune_setting::PruneSetting;
use crate::gateway::setting_value::{insert, ttl_text};
use crate::js::{Object, Value};

impl TuningPane {
    /// The changed settings as a patch for `openclaw.json` (JSON5), the switch included where pruning is off.
    pub fn patch(&self, configured_on: bool) -> String {
        let mut pruning = Object::default();
        if !configured_on {
            pruning.set("mode", Value::from("cache-ttl"));
        }
        for (at, row) in self.rows.iter().enumerate().filter(|(at, _)| self.is_changed(*at)) {
            insert(&mut pruning, row.key, patch_value(row, &self.values[at]));
        }
        let wrap = |key: &str, value: Value| Value::Object(Object::from([(key, value)]));
        let patch = wrap("agents", wrap("defaults", wrap("contextPruning", Value::Object(pruning))));
        pretty(&patch, 0)
    }
}

fn patch_value(row: &PruneSetting, value: &Value) -> Value {
    if row.key == "ttl" { ttl_text(value) } else { value.clone() }
}

/// JSON with two spaces a level, as the gateway writes its config.
fn pretty(value: &Value, level: usize) -> String {
    match value.as_object() {
        Some(object) if !object.is_empty() => {
            let indent = "  ".repeat(level + 1);
            let members = object.iter().map(|(key, value)| {
                format!("{indent}{}: {}", crate::js::stringify_str(key), pretty(value, level + 1))
            });
            format!("{{\n{}\n{}}}", members.collect::<Vec<_>>().join(",\n"), "  ".repeat(level))
        }
        _ => crate::js::stringify(value),
    }
}
