//! The part of the gateway's schema that covers the settings shown here. On a value that the schema refuses, the
//! gateway runs on an empty configuration (store B4; pruning 3.1, compaction 2.6). The keys are those of the
//! reference; in a file of a later version, unknown keys are allowed.

use serde_json::Value;

use super::ruleset::Version;

enum ValueSchema {
    OneOf(&'static [&'static str]),
    Text,
    Bool,
    TextList,
    /// A whole number with this minimum.
    Integer(f64),
    /// A number within these bounds.
    Number(f64, f64),
    /// An object with only these keys.
    Strict(&'static [(&'static str, ValueSchema)]),
    /// Not checked here.
    Any,
}

use ValueSchema::{Any, Bool, Integer, Number, OneOf, Strict, Text, TextList};

const PRUNING: ValueSchema = Strict(&[
    ("mode", OneOf(&["off", "cache-ttl"])),
    ("ttl", Text),
    ("keepLastAssistants", Integer(0.0)),
    ("softTrimRatio", Number(0.0, 1.0)),
    ("hardClearRatio", Number(0.0, 1.0)),
    ("minPrunableToolChars", Integer(0.0)),
    ("tools", Strict(&[("allow", TextList), ("deny", TextList)])),
    (
        "softTrim",
        Strict(&[("maxChars", Integer(0.0)), ("headChars", Integer(0.0)), ("tailChars", Integer(0.0))]),
    ),
    ("hardClear", Strict(&[("enabled", Bool), ("placeholder", Text)])),
]);

const COMPACTION: ValueSchema = Strict(&[
    ("mode", OneOf(&["default", "safeguard"])),
    ("reserveTokens", Integer(0.0)),
    ("keepRecentTokens", Integer(1.0)),
    ("reserveTokensFloor", Integer(0.0)),
    ("maxHistoryShare", Number(0.1, 0.9)),
    ("identifierPolicy", OneOf(&["strict", "off", "custom"])),
    ("identifierInstructions", Text),
    (
        "memoryFlush",
        Strict(&[
            ("enabled", Bool),
            ("softThresholdTokens", Integer(0.0)),
            ("forceFlushTranscriptBytes", Any),
            ("prompt", Text),
            ("systemPrompt", Text),
        ]),
    ),
]);

const CHECKED_PATHS: [(&[&str], ValueSchema); 4] = [
    (&["agents", "defaults", "contextPruning"], PRUNING),
    (&["agents", "defaults", "compaction"], COMPACTION),
    (&["session", "store"], Text),
    (&["session", "scope"], OneOf(&["per-sender", "global"])),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidValue {
    pub(super) trail: Vec<String>,
    pub(super) message: String,
}

/// Returns an error for the first value that the gateway would refuse.
pub(super) fn validate(root: &Value) -> Result<(), InvalidValue> {
    if !root.is_object() {
        return Err(InvalidValue { trail: Vec::new(), message: "expected an object at the top".to_owned() });
    }
    let later = is_from_newer_version(root);
    for (path, shape) in &CHECKED_PATHS {
        let value = path.iter().try_fold(root, |value, key| value.get(key));
        if let Some(value) = value {
            check(value, shape, later, &mut path.iter().map(|&key| key.to_owned()).collect())?;
        }
    }
    Ok(())
}

/// Whether a later version, which may have keys that the reference does not know, wrote the file.
fn is_from_newer_version(root: &Value) -> bool {
    let version = root.pointer("/meta/lastTouchedVersion").and_then(Value::as_str);
    version.and_then(|text| text.parse().ok()).is_some_and(|version: Version| version.is_after_reference())
}

fn check(
    value: &Value,
    shape: &ValueSchema,
    later: bool,
    trail: &mut Vec<String>,
) -> Result<(), InvalidValue> {
    let number_fits = |low: f64, high: f64| value.as_f64().is_some_and(|n| (low..=high).contains(&n));
    let (fits, expected) = match shape {
        Any => (true, String::new()),
        Text => (value.is_string(), "a string".to_owned()),
        Bool => (value.is_boolean(), "true or false".to_owned()),
        TextList => (
            value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            "a list of strings".to_owned(),
        ),
        OneOf(words) => (value.as_str().is_some_and(|text| words.contains(&text)), one_of(words)),
        Integer(least) => (
            number_fits(*least, f64::MAX) && value.as_f64().is_some_and(|n| n.fract() == 0.0),
            format!("a whole number of at least {least}"),
        ),
        Number(low, high) => (number_fits(*low, *high), format!("a number from {low} to {high}")),
        Strict(keys) => return check_object(value, keys, later, trail),
    };
    if fits {
        Ok(())
    } else {
        Err(InvalidValue { trail: trail.clone(), message: format!("expected {expected}, found {value}") })
    }
}

fn check_object(
    value: &Value,
    keys: &[(&str, ValueSchema)],
    later: bool,
    trail: &mut Vec<String>,
) -> Result<(), InvalidValue> {
    let Some(object) = value.as_object() else {
        return Err(InvalidValue {
            trail: trail.clone(),
            message: format!("expected an object, found {value}"),
        });
    };
    for (key, item) in object {
        trail.push(key.clone());
        let known = keys.iter().find(|(name, _)| name == key);
        if known.is_none() && later {
            trail.pop();
            continue;
        }
        let Some((_, shape)) = known else {
            let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
            return Err(InvalidValue {
                trail: trail.clone(),
                message: format!("unknown key; expected one of {}", names.join(", ")),
            });
        };
        check(item, shape, later, trail)?;
        trail.pop();
    }
    Ok(())
}

fn one_of(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn refused(pruning: &Value, key: &str) {
        let root = json!({ "agents": { "defaults": { "contextPruning": pruning } } });
        let refused = validate(&root).unwrap_err();
        assert_eq!(
            refused.trail.join("."),
            format!("agents.defaults.contextPruning{key}"),
            "{}",
            refused.message
        );
    }

    #[test]
    fn every_pruning_key_has_its_type() {
        refused(&json!(null), "");
        refused(&json!({ "mode": "on" }), ".mode");
        refused(&json!({ "ttl": 5 }), ".ttl");
        refused(&json!({ "keepLastAssistants": 1.5 }), ".keepLastAssistants");
        refused(&json!({ "softTrimRatio": 1.1 }), ".softTrimRatio");
        refused(&json!({ "hardClearRatio": -0.1 }), ".hardClearRatio");
        refused(&json!({ "minPrunableToolChars": -1 }), ".minPrunableToolChars");
        refused(&json!({ "tools": { "allow": ["a", 1] } }), ".tools.allow");
        refused(&json!({ "softTrim": { "maxChars": "1" } }), ".softTrim.maxChars");
        refused(&json!({ "hardClear": { "enabled": "no" } }), ".hardClear.enabled");
        refused(&json!({ "hardClear": { "extra": 1 } }), ".hardClear.extra");
        refused(&json!({ "softtrimratio": 0.1 }), ".softtrimratio");
    }

    #[test]
    fn a_configuration_that_the_gateway_accepts_is_valid() {
        let root = json!({ "anything": 1, "agents": { "defaults": {
            "contextPruning": { "mode": "cache-ttl", "ttl": "not checked", "keepLastAssistants": 0, "softTrimRatio": 0,
                "hardClearRatio": 1, "tools": {}, "softTrim": {}, "hardClear": { "placeholder": "" } },
            "compaction": { "mode": "safeguard", "reserveTokens": 0, "maxHistoryShare": 0.9, "memoryFlush": {} } } } });
        assert_eq!(validate(&root), Ok(()));
    }

    #[test]
    fn a_later_release_may_have_new_keys_but_no_other_types() {
        let root = |version: &str, ttl: Value| {
            json!({ "meta": { "lastTouchedVersion": version }, "agents": { "defaults": {
                "contextPruning": { "ttl": ttl },
                "compaction": { "enabled": true, "midTurnPrecheck": { "enabled": true } } } } })
        };
        assert_eq!(validate(&root("2026.9.6", json!("1h"))), Ok(()));
        assert!(validate(&root("2026.9.6", json!(5))).is_err());
        assert!(validate(&root("2026.3.2", json!("1h"))).is_err());
        assert!(validate(&root("2026.2.19", json!("1h"))).is_err());
    }

    #[test]
    fn the_top_is_an_object() {
        for odd in [json!([]), json!(null), json!("x")] {
            assert!(validate(&odd).is_err());
        }
    }
}
