//! The changed settings as a patch for `openclaw.json`: shown and copied, never applied by us.

use crate::app::tuning::TuningPane;
use crate::gateway::prune_setting::{PruneSetting, Unit};
use crate::gateway::setting_value::{insert, plain_text, ttl_text};
use crate::js::{Object, Value};
use crate::policy::Step;
use crate::policy::settings::{Reader, StepSetting};

impl TuningPane {
    /// The changed settings as a patch for `openclaw.json` (JSON5), each at the path the gateway reads it from; pruning
    /// is switched on where a setting of it was changed and it is off. What no key of the gateway sets is told in
    /// comments.
    pub fn patch(&self, configured_on: bool) -> String {
        let mut patch = Object::default();
        let mut comments = Vec::new();
        if !configured_on && self.changed(Step::Prune) > 0 {
            insert(&mut patch, "agents.defaults.contextPruning.mode", Value::from("cache-ttl"));
        }
        for (at, row) in self.rows.iter().enumerate().filter(|(at, _)| self.is_changed(*at)) {
            match &row.reader {
                Reader::Gateway(path) => set(&mut patch, path, patch_value(&row.row, &self.values[at])),
                other => comments.push(comment(row, &plain(row, &self.values[at]), other)),
            }
        }
        if !patch.is_empty() {
            comments.push(pretty(&Value::Object(patch), 0));
        }
        comments.join("\n")
    }
}

/// Puts a value at a path. An own limit stands under the id of a person, which may hold dots itself.
fn set(patch: &mut Object, path: &str, value: Value) {
    let own = path
        .split_once(".dms.")
        .and_then(|(channel, rest)| Some((channel, rest.strip_suffix(".historyLimit")?)));
    let Some((channel, peer)) = own else { return insert(patch, path, value) };
    let limit = Value::Object(Object::from([("historyLimit", value)]));
    insert(patch, &format!("{channel}.dms"), Value::Object(Object::from([(peer, limit)])));
}

fn patch_value(row: &PruneSetting, value: &Value) -> Value {
    if row.control.unit() == Some(Unit::Milliseconds) { ttl_text(value) } else { value.clone() }
}

fn plain(row: &StepSetting, value: &Value) -> String {
    plain_text(row.row.control.unit(), value)
}

/// Says where a value would have to be set instead.
fn comment(row: &StepSetting, value: &str, reader: &Reader) -> String {
    let why = match reader {
        Reader::BuiltIn => "built into the gateway, no key sets it",
        Reader::Server => "derived by the gateway, which asks it of the provider's server",
        Reader::Client => "set by the client that sends the request, not by the gateway",
        Reader::Gateway(_) | Reader::Preview => "an assumption of this preview, nothing to set",
    };
    // A value may hold anything a person typed; a comment ends with its line.
    let value: String = value.chars().filter(|character| !character.is_control()).collect();
    format!("// {} {value}: {why}", row.key())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::compaction::CompactionSettings;
    use crate::gateway::config::GatewayConfig;
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::clear_tool_uses::ClearSettings;
    use crate::policy::settings::{RowSource, rows};

    fn pane(session_key: &str) -> TuningPane {
        let config = GatewayConfig::empty();
        let source = RowSource {
            config: &config,
            ruleset: Ruleset::default(),
            session_key,
            runtime: CompactionSettings::default(),
            window: 200_000.0,
            clear: &ClearSettings::default(),
        };
        let rows = rows(&source);
        let values = rows.iter().map(|row| row.row.value.clone()).collect();
        let mut pane = TuningPane::default();
        (pane.rows, pane.values) = (rows, values);
        pane
    }

    fn tune(pane: &mut TuningPane, key: &str, value: impl Into<Value>) {
        let at = pane.rows.iter().position(|row| row.key() == key).expect("a known key");
        pane.values[at] = value.into();
    }

    #[test]
    fn the_patch_holds_what_was_changed_and_switches_pruning_on_where_it_is_off() {
        let mut pane = pane("agent:main:main");
        tune(&mut pane, "contextPruning.softTrim.maxChars", 3000);
        tune(&mut pane, "contextPruning.ttl", 3_600_000);
        let patch = crate::js::parse(&pane.patch(false)).expect("nothing but JSON");
        let pruning = r#"{"mode":"cache-ttl","ttl":"1h","softTrim":{"maxChars":3000}}"#;
        let expected = format!(r#"{{"agents":{{"defaults":{{"contextPruning":{pruning}}}}}}}"#);
        assert_eq!(crate::js::stringify(&patch), expected);
        assert!(!pane.patch(true).contains("mode"));
    }

    #[test]
    fn every_key_goes_where_the_gateway_reads_it() {
        let mut pane = pane("agent:main:slack:channel:c1");
        tune(&mut pane, "compaction.reserveTokens", 34_000);
        tune(&mut pane, "historyLimit", 20);
        let patch = crate::js::stringify(&crate::js::parse(&pane.patch(false)).expect("nothing but JSON"));
        let compaction = r#"{"agents":{"defaults":{"compaction":{"reserveTokens":34000}}}"#;
        assert_eq!(patch, format!(r#"{compaction},"channels":{{"slack":{{"historyLimit":20}}}}}}"#));
    }

    #[test]
    fn a_persons_own_limit_stands_under_the_whole_id() {
        let mut patch = Object::default();
        set(&mut patch, "channels.matrix.dms.@a:b.example.historyLimit", 5.into());
        let expected = r#"{"channels":{"matrix":{"dms":{"@a:b.example":{"historyLimit":5}}}}}"#;
        assert_eq!(crate::js::stringify(&Value::Object(patch)), expected);
    }

    #[test]
    fn what_no_key_sets_is_told_in_a_comment() {
        let mut pane = pane("agent:main:main");
        tune(&mut pane, "guard.budgetShare", 0.6);
        tune(&mut pane, "clearToolUses.placeholder", "two\nlines");
        tune(&mut pane, "compaction.summaryTokens", 900);
        let patch = pane.patch(false);
        let lines: Vec<&str> = patch.lines().collect();
        assert_eq!(lines.len(), 3, "{patch}");
        assert!(lines.iter().all(|line| line.starts_with("// ")), "{patch}");
        assert!(lines[1].starts_with("// guard.budgetShare 0.6: built into the gateway"), "{patch}");
        assert!(lines[2].contains("placeholder twolines: set by the client"), "{patch}");
    }
}
