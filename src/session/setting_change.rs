//! Parses `--set KEY=VALUE` and `--settings FILE`.
//!
//! Values are validated as the gateway validates its own configuration, so that a setting which works here works there.

use std::path::Path;

use crate::gateway::compaction::CompactionSettings;
use crate::gateway::config::GatewayConfig;
use crate::gateway::duration::parse_duration_ms;
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::{Control, Unit};
use crate::gateway::ruleset::{Ruleset, unread_reason};
use crate::js::{self, Value};
use crate::policy::Policy;
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::settings::{PolicySetting, SettingSources, policy_settings};
use crate::session::{LoadedSession, session_settings};

/// The option or file, the key, the value found and the value expected, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChangeError(pub String);

/// Precedes the keys of the pruner.
pub const PRUNING_PREFIX: &str = "contextPruning.";
pub use crate::session::session_settings::CONTEXT_TOKENS;
const COMPACTION_PREFIX: &str = "compaction.";
/// The turn limit of a session, on any channel.
const HISTORY_LIMIT: &str = "historyLimit";
/// Optional before any key, as in the configuration itself.
const DEFAULTS_PREFIX: &str = "agents.defaults.";

#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    /// `contextTokens`, or the key of a policy's setting, such as `contextPruning.ttl`.
    pub key: String,
    /// The policy that the setting belongs to; `None` for the window.
    pub policy: Option<Policy>,
    /// In the form that the configuration holds.
    pub value: Value,
    /// The source of the change: an option or a file.
    pub origin: Provenance,
}

/// The rule that validates a key's value.
enum ValueKind {
    Mode,
    Tokens,
    Setting(Control),
}

struct KnownKey {
    key: String,
    policy: Option<Policy>,
    value_kind: ValueKind,
}

/// Reads the changes in the order in which they apply: the last one of a key wins.
pub fn read_changes(file: Option<&Path>, sets: &[String]) -> Result<Vec<SettingChange>, ChangeError> {
    let mut changes = file.map(read_file).transpose()?.unwrap_or_default();
    for set in sets {
        changes.push(parse_change("--set", set)?);
    }
    Ok(changes)
}

/// Returns the full key for a name from a configuration or a person.
///
/// # Errors
/// When no setting has this name. The error names `option` and the known keys.
pub fn full_key(option: &str, key: &str) -> Result<String, ChangeError> {
    find_key(key.trim()).map(|known| known.key).ok_or_else(|| unknown_key_error(option, key.trim()))
}

/// Returns why the session's version lacks a setting that another version has, or `None` if it has it.
pub fn missing_in_version(session: &LoadedSession, key: &str) -> Option<&'static str> {
    let row = session.setting_rows.iter().find(|row| row.key() == key);
    row.and_then(|row| row.setting.control.fixed_reason())
        .or_else(|| session_settings::describe_missing(session, key))
}

/// Like [`missing_in_version`], with the release that dropped the key and its replacement, or the release that adds it.
pub fn describe_missing(session: &LoadedSession, key: &str) -> Option<String> {
    let why = missing_in_version(session, key)?;
    Some(unread_reason(session.ruleset.id, key).unwrap_or_else(|| why.to_owned()))
}

/// Returns every known key, in the order of the configuration.
pub fn known_keys() -> Vec<String> {
    all_setting_rows()
        .iter()
        .map(PolicySetting::key)
        .chain(session_settings::KEYS.map(str::to_owned))
        .collect()
}

/// Returns every setting, without a configuration: from the reference, or from a later release that adds it.
fn all_setting_rows() -> Vec<PolicySetting> {
    let of = |ruleset| {
        policy_settings(&SettingSources {
            config: &GatewayConfig::empty(),
            ruleset,
            session_key: "",
            runtime: CompactionSettings::default(),
            window: f64::NAN,
            clear: &ClearSettings::default(),
        })
    };
    let later = of(Ruleset::V2026_6_11);
    let movable = |row: PolicySetting| match row.setting.control.fixed_reason() {
        Some(_) => later.iter().find(|other| other.key() == row.key()).cloned().unwrap_or(row),
        None => row,
    };
    of(Ruleset::default()).into_iter().map(movable).collect()
}

/// Parses `KEY=VALUE` as the gateway would.
///
/// # Errors
/// When the key is unknown or the gateway would reject the value. The error names `option`.
pub fn parse_change(option: &str, text: &str) -> Result<SettingChange, ChangeError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(ChangeError(format!(
            "{option} {text:?}: expected KEY=VALUE, such as contextPruning.softTrimRatio=0.2"
        )));
    };
    let KnownKey { key, policy: step, value_kind: rule } =
        find_key(key.trim()).ok_or_else(|| unknown_key_error(option, key.trim()))?;
    let typed = parse_value(&rule, value.trim());
    let value = validate(&rule, &typed)
        .map_err(|expected| invalid_value_error(option, &key, value.trim(), expected))?;
    Ok(SettingChange { key, policy: step, value, origin: Provenance::Flag })
}

/// Reads a file that is an `openclaw.json`, its `agents.defaults`, or its `contextPruning` alone.
fn read_file(path: &Path) -> Result<Vec<SettingChange>, ChangeError> {
    let reported = |what: String| ChangeError(format!("--settings {}: {what}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| reported(format!("cannot read the file: {error}. Check the path.")))?;
    let root: serde_json::Value =
        json5::from_str(&text).map_err(|error| reported(format!("not JSON5: {error}. Correct the file.")))?;
    let defaults = root.pointer("/agents/defaults").unwrap_or(&root);
    let mut changes = Vec::new();
    let mut take = |key: String, value: &serde_json::Value| {
        let named = find_key(&key).ok_or_else(|| unknown_key_error(&path.display().to_string(), &key))?;
        let KnownKey { key, policy: step, value_kind: rule } = named;
        let value = Value::from(value);
        let value = validate(&rule, &value).map_err(|expected| {
            invalid_value_error(&path.display().to_string(), &key, &js::stringify(&value), expected)
        })?;
        let origin = Provenance::File { path: path.to_path_buf(), line: None, key: key.clone() };
        changes.push(SettingChange { key, policy: step, value, origin });
        Ok::<_, ChangeError>(())
    };
    if !defaults.is_object() {
        return Err(reported("expected an object: an openclaw.json, or only its contextPruning.".into()));
    }
    let whole = defaults.get("contextPruning").is_some() || root.pointer("/agents/defaults").is_some();
    if let Some(tokens) = defaults.get(CONTEXT_TOKENS) {
        take(CONTEXT_TOKENS.to_owned(), tokens)?;
    }
    for (key, value) in flatten_settings(defaults.get("compaction").filter(|_| whole)) {
        // The other keys of compaction concern the summary's writer and the memory flush, which no policy uses.
        if find_key(&format!("{COMPACTION_PREFIX}{key}")).is_some() {
            take(format!("{COMPACTION_PREFIX}{key}"), value)?;
        }
    }
    let pruning = if whole { defaults.get("contextPruning") } else { Some(defaults) };
    for (key, value) in flatten_settings(pruning) {
        if whole || key != CONTEXT_TOKENS {
            take(format!("{PRUNING_PREFIX}{}", key.strip_prefix(PRUNING_PREFIX).unwrap_or(&key)), value)?;
        }
    }
    Ok(changes)
}

/// Returns the dotted keys and values of an object, two levels deep as the pruner's settings are.
fn flatten_settings(object: Option<&serde_json::Value>) -> Vec<(String, &serde_json::Value)> {
    let mut leaves = Vec::new();
    for (key, value) in object.and_then(serde_json::Value::as_object).into_iter().flatten() {
        match value.as_object() {
            Some(inner) => leaves.extend(inner.iter().map(|(name, value)| (format!("{key}.{name}"), value))),
            None => leaves.push((key.clone(), value)),
        }
    }
    leaves
}

/// Finds a key as the configuration or the command line spells it.
fn find_key(key: &str) -> Option<KnownKey> {
    let key = key.strip_prefix(DEFAULTS_PREFIX).unwrap_or(key);
    let limit = key.starts_with("channels.")
        && [".historyLimit", ".dmHistoryLimit"].iter().any(|end| key.ends_with(end));
    let key = if limit { HISTORY_LIMIT } else { key };
    if session_settings::is_session_setting(key) {
        return Some(KnownKey { key: key.to_owned(), policy: None, value_kind: ValueKind::Tokens });
    }
    let row = all_setting_rows().into_iter().find(|row| row.key() == key)?;
    let mode = row.policy == Policy::Prune && row.setting.key == "mode";
    let rule = if mode { ValueKind::Mode } else { ValueKind::Setting(row.setting.control) };
    Some(KnownKey { key: key.to_owned(), policy: Some(row.policy), value_kind: rule })
}

/// Converts command-line text to the value that a configuration would hold.
fn parse_value(rule: &ValueKind, text: &str) -> Value {
    match rule {
        ValueKind::Tokens | ValueKind::Setting(Control::Switch) => {
            js::parse(text).unwrap_or_else(|_| Value::from(text))
        }
        ValueKind::Setting(Control::Slider { unit, .. }) if *unit != Unit::Milliseconds => {
            js::parse(text).unwrap_or_else(|_| Value::from(text))
        }
        ValueKind::Setting(Control::List) => parse_list(text),
        _ => Value::from(text),
    }
}

/// Parses names as a JSON list, or separated by commas.
fn parse_list(text: &str) -> Value {
    if let Ok(list @ Value::Array(_)) = js::parse(text) {
        return list;
    }
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    Value::Array(names.map(Value::from).collect())
}

/// Returns the value if the gateway would accept it, else the value it expects.
fn validate(rule: &ValueKind, value: &Value) -> Result<Value, &'static str> {
    let number =
        |fits: fn(f64) -> bool| value.as_f64().is_some_and(|number| number.is_finite() && fits(number));
    let (fits, expected) = match rule {
        ValueKind::Mode => (value.str_is("off") || value.str_is("cache-ttl"), "off or cache-ttl"),
        ValueKind::Tokens => (number(|n| n >= 1.0 && n.fract() == 0.0), "a whole number, 1 or more"),
        ValueKind::Setting(Control::Slider { unit: Unit::Milliseconds, .. }) => {
            (value.as_str().and_then(parse_duration_ms).is_some(), "a duration such as 30m, 1h or 1h30m")
        }
        ValueKind::Setting(Control::Slider { unit: Unit::Share, .. }) => {
            (number(|n| (0.0..=1.0).contains(&n)), "a number from 0 to 1")
        }
        ValueKind::Setting(Control::Slider { .. }) => {
            (number(|n| n >= 0.0 && n.fract() == 0.0), "a whole number, 0 or more")
        }
        ValueKind::Setting(Control::Switch) => (value.as_bool().is_some(), "true or false"),
        ValueKind::Setting(Control::List) => {
            let texts = value.as_array().is_some_and(|list| list.iter().all(|item| item.as_str().is_some()));
            (texts, "tool names and patterns, such as exec,web_* or [\"exec\"]")
        }
        ValueKind::Setting(Control::Fixed { why, .. }) => (false, *why),
        ValueKind::Setting(Control::Text) => {
            (value.as_str().is_some_and(|text| !text.is_blank()), "text that is not blank")
        }
    };
    if fits { Ok(value.clone()) } else { Err(expected) }
}

fn unknown_key_error(place: &str, key: &str) -> ChangeError {
    ChangeError(format!("{place}: unknown setting {key:?}; expected one of {}", known_keys().join(", ")))
}

fn invalid_value_error(place: &str, key: &str, found: &str, expected: &str) -> ChangeError {
    ChangeError(format!("{place}: {key} is {found:?}; expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn set(text: &str) -> Result<SettingChange, String> {
        parse_change("--set", text).map_err(|error| error.0)
    }

    #[test]
    fn every_known_key_takes_a_value_of_its_kind() {
        let values = [
            ("mode", "cache-ttl"),
            ("ttl", "10"),
            ("hardClear.enabled", "false"),
            ("clearToolInputs", "true"),
            ("keepSent", "true"),
            ("midTurnPrecheck.enabled", "true"),
            ("countByModel", "true"),
            ("hardClear.placeholder", "gone = away"),
            ("tools.allow", "exec, web_*"),
            ("tools.deny", r#"["a,b"]"#),
        ];
        for key in known_keys() {
            let named = values.iter().find(|(name, _)| key.ends_with(name)).map_or("1", |(_, value)| value);
            let change = set(&format!("{key}={named}")).unwrap();
            assert_eq!((change.key, change.origin), (key, Provenance::Flag));
        }
        assert_eq!(set("contextPruning.ttl=10").unwrap().value, Value::from("10"));
        assert_eq!(set("contextPruning.tools.deny=[\"a,b\"]").unwrap().value.as_array().unwrap().len(), 1);
        assert_eq!(set("agents.defaults.contextTokens=128000").unwrap().key, "contextTokens");
    }

    #[test]
    fn unknown_keys_list_the_known_ones_and_wrong_types_say_what_fits() {
        let unknown = set("contextPruning.softTrimRation=0.2").unwrap_err();
        assert!(unknown.contains("contextPruning.softTrimRatio,"), "{unknown}");
        for wrong in [
            "contextPruning.softTrimRatio=2",
            "contextPruning.softTrimRatio=high",
            "contextPruning.keepLastAssistants=1.5",
            "contextPruning.hardClear.enabled=1",
            "contextPruning.hardClear.placeholder= ",
            "contextPruning.ttl=soon",
            "contextPruning.mode=on",
            "contextTokens=-1",
        ] {
            assert!(set(wrong).unwrap_err().contains("expected"), "{wrong}");
        }
        assert!(set("softTrimRatio").unwrap_err().contains("KEY=VALUE"));
    }

    #[test]
    fn a_file_may_be_the_whole_configuration_or_the_object_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json5");
        for text in [
            "{ agents: { defaults: { contextPruning: { softTrim: { maxChars: 5 }, ttl: '1h' } } } }",
            "{ contextPruning: { softTrim: { maxChars: 5 }, ttl: '1h' }, }",
            "{ softTrim: { maxChars: 5 }, ttl: '1h' }",
        ] {
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            let changes = read_changes(Some(&path), &["contextPruning.ttl=2h".into()]).unwrap();
            let keys: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
            assert_eq!(
                keys,
                ["contextPruning.softTrim.maxChars", "contextPruning.ttl", "contextPruning.ttl"],
                "{text}"
            );
        }
    }
}
