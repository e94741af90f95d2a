//! Keys that moved in an older release: the gateway moves a top-level `agent` to `agents.defaults` while loading
//! (pruning 3.1); 2026.9 ignores it.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::ruleset::{Ruleset, Version};
use crate::diagnostic::{Diagnostic, Severity};

pub(super) const RETIRED_KEY: &str = "agent";
/// Keys of `agent` that moved to other places.
const MOVED_ELSEWHERE: [&str; 3] = ["tools", "elevated", "bash"];

/// Moves `agent` to `agents.defaults`, whose own values win, and returns a diagnostic; `place` is the position of
/// `agent`.
pub(super) fn migrate(root: &mut Value, place: (PathBuf, Option<u32>)) -> Option<Diagnostic> {
    let retired = root.get(RETIRED_KEY)?.as_object()?.clone();
    let is_read = !is_newer(root);
    if is_read {
        let root = root.as_object_mut()?;
        let agents = root.entry("agents").or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
        let defaults =
            agents.entry("defaults").or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
        let kept = retired.iter().filter(|(key, _)| !MOVED_ELSEWHERE.contains(&key.as_str()));
        kept.for_each(|(key, value)| fill_missing(defaults.entry(key.as_str()), value));
    }
    let (severity, what) = if is_read {
        (
            Severity::Note,
            "`agent` is the old name of agents.defaults; the gateway moves its keys when it loads",
        )
    } else {
        (Severity::Warning, "this release ignores `agent`: it reads only agents.defaults")
    };
    let next = "move its keys to agents.defaults".to_owned();
    Some(Diagnostic {
        path: place.0,
        line: place.1.map(u64::from),
        subject: None,
        severity,
        message: what.to_owned(),
        advice: next,
    })
}

fn is_newer(root: &Value) -> bool {
    let version = root.pointer("/meta/lastTouchedVersion").and_then(Value::as_str);
    let ruleset = version.and_then(|text| text.parse::<Version>().ok()).map(|version| version.ruleset());
    ruleset.is_some_and(|ruleset| ruleset >= Ruleset::V2026_9_2)
}

/// Fills in missing values, objects key by key.
fn fill_missing(entry: serde_json::map::Entry<'_>, value: &Value) {
    let own = entry.or_insert_with(|| value.clone());
    if let (Value::Object(own), Value::Object(value)) = (own, value) {
        value.iter().for_each(|(key, value)| fill_missing(own.entry(key.as_str()), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(text: &str) -> (Value, Severity) {
        let mut root: Value = serde_json::from_str(text).unwrap();
        let finding = migrate(&mut root, (PathBuf::from("/c.json"), Some(2))).unwrap();
        (root, finding.severity)
    }

    #[test]
    fn retired_keys_fill_only_missing_values() {
        let (root, severity) = migrated(
            r#"{"agent":{"contextTokens":5,"tools":{},"contextPruning":{"mode":"off","ttl":"2h"}},
                "agents":{"defaults":{"contextPruning":{"ttl":"1h"}}}}"#,
        );
        let expected =
            serde_json::json!({ "contextPruning": { "ttl": "1h", "mode": "off" }, "contextTokens": 5 });
        assert_eq!((&root["agents"]["defaults"], severity), (&expected, Severity::Note));
    }

    #[test]
    fn the_newest_release_ignores_retired_keys_with_a_warning() {
        let (root, severity) =
            migrated(r#"{"meta":{"lastTouchedVersion":"2026.9.6"},"agent":{"contextTokens":5}}"#);
        assert!(root.get("agents").is_none());
        assert_eq!(severity, Severity::Warning);
    }

    #[test]
    fn a_configuration_without_retired_keys_has_no_note() {
        for text in ["{}", r#"{"agent":5}"#, r#"{"agents":{}}"#] {
            let mut root: Value = serde_json::from_str(text).unwrap();
            assert_eq!(migrate(&mut root, (PathBuf::new(), None)), None, "{text}");
        }
    }
}
