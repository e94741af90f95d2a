//! Parses `--set KEY=VALUE` and `--settings FILE`.
//!
//! Values are validated as the gateway validates its own configuration, so that a setting which works here works there.

use std::io::ErrorKind;
use std::path::Path;

use crate::config::parse_share;
use crate::files;
use crate::format::number::parse_count;
use crate::gateway::registry::Provenance;
use crate::gateway::setting_value::{Control, Unit, parse_duration};
use crate::js::{self, Value};
use crate::policy::Policy;
use crate::policy::settings::{SettingId, SettingSpec, config_keys, find_setting, nearest_setting};
use crate::session::{LoadedSession, session_settings};
use crate::units::Tokens;

/// The option or file, the key, the value found and the value expected, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChangeError(pub String);

/// Precedes the keys of the pruner.
const PRUNING_PREFIX: &str = "contextPruning.";
const COMPACTION_PREFIX: &str = "compaction.";
/// Optional before any key, as in the configuration itself.
const DEFAULTS_PREFIX: &str = "agents.defaults.";

#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    pub id: SettingId,
    /// In the form that the configuration holds.
    pub value: Value,
    /// The source of the change: an option or a file.
    pub origin: Provenance,
    /// The model, as `provider/model`, whose setting it is; `None` for the model of the failing call.
    pub model: Option<String>,
}

impl SettingChange {
    pub fn key(&self) -> &'static str {
        self.id.spec().key
    }

    /// Returns the value with a share of the window, such as `75%`, as whole tokens.
    pub fn value_in(&self, window: Tokens) -> Value {
        let share = self.value.as_str().filter(|_| self.id.spec().takes_share());
        let share = share.and_then(|text| parse_share(&text.to_string_lossy()).ok());
        share.map_or_else(
            || self.value.clone(),
            |share| Value::from((window.max(Tokens::ZERO) * share).floor().get()),
        )
    }

    /// Returns the policy that the setting belongs to; `None` for the windows and the workspace files.
    pub fn policy(&self) -> Option<Policy> {
        self.id.spec().policy
    }
}

/// Reads the changes in the order in which they apply: the last one of a key wins.
pub fn read_changes(file: Option<&Path>, sets: &[String]) -> Result<Vec<SettingChange>, ChangeError> {
    let mut changes = file.map(read_file).transpose()?.unwrap_or_default();
    for set in sets {
        changes.push(parse_change("--set", set)?);
    }
    Ok(changes)
}

/// Finds the setting for a name from a configuration or a person.
///
/// # Errors
/// When no setting has this name. The error names `option` and the nearest key.
pub fn named_setting(option: &str, key: &str) -> Result<&'static SettingSpec, ChangeError> {
    find_key(key.trim()).ok_or_else(|| unknown_key_error(option, key.trim()))
}

/// Returns why the session's version lacks a setting that another version has, or `None` if it has it.
pub fn missing_in_version(session: &LoadedSession, id: SettingId) -> Option<&'static str> {
    let row = session.setting_rows.iter().find(|row| row.setting.id == id);
    row.and_then(|row| row.setting.control.fixed_reason()).or_else(|| {
        let own = session_settings::session_setting(id.spec())?;
        session_settings::describe_missing(session, own)
    })
}

/// Like [`missing_in_version`], with the release that dropped the key and its replacement, or the release that adds it.
pub fn describe_missing(session: &LoadedSession, id: SettingId) -> Option<String> {
    let why = missing_in_version(session, id)?;
    let config = id.spec().config.as_ref();
    Some(config.and_then(|key| key.unread_reason(session.ruleset.id)).unwrap_or_else(|| why.to_owned()))
}

/// Splits `contextWindow[provider/model]` into the key and the model.
fn split_model(key: &str) -> (&str, Option<String>) {
    let named = key.strip_suffix(']').and_then(|key| key.split_once('['));
    named.map_or((key, None), |(key, model)| (key, Some(model.trim().to_owned())))
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
    let (key, model) = split_model(key.trim());
    let setting = named_setting(option, key)?;
    if model.is_some() && !setting.is_of_model() {
        return Err(ChangeError(format!("{option}: {} is not a setting of a model", setting.key)));
    }
    let found = value.trim();
    let value = parse_value(setting, found);
    if !accepts(setting, &value) {
        return Err(invalid_value_error(option, setting, found));
    }
    Ok(SettingChange { id: setting.id, value, origin: Provenance::Flag, model })
}

/// A gateway reads larger configurations than anyone writes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads a file that is an `openclaw.json`, its `agents.defaults`, or only its `contextPruning`.
fn read_file(path: &Path) -> Result<Vec<SettingChange>, ChangeError> {
    let reported = |what: String| ChangeError(format!("--settings {}: {what}", path.display()));
    let text = files::read_text(path, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        ErrorKind::NotFound => reported("the file does not exist. Check the path.".to_owned()),
        _ => reported(format!("cannot read the file: {error}. Check the path.")),
    })?;
    let root: serde_json::Value =
        json5::from_str(&text).map_err(|error| reported(format!("not JSON5: {error}. Correct the file.")))?;
    let defaults = root.pointer("/agents/defaults").unwrap_or(&root);
    let mut changes = Vec::new();
    let mut take = |key: String, value: &serde_json::Value| {
        let place = path.display().to_string();
        let setting = named_setting(&place, &key)?;
        let value = Value::from(value);
        if !accepts(setting, &value) {
            return Err(invalid_value_error(&place, setting, &js::stringify(&value)));
        }
        let origin = Provenance::File { path: path.to_path_buf(), line: None, key: setting.key.to_owned() };
        changes.push(SettingChange { id: setting.id, value, origin, model: None });
        Ok::<_, ChangeError>(())
    };
    if !defaults.is_object() {
        return Err(reported("expected an object: an openclaw.json, or only its contextPruning.".into()));
    }
    let whole = defaults.get("contextPruning").is_some() || root.pointer("/agents/defaults").is_some();
    let context_tokens = SettingId::ContextTokens.spec().key;
    if let Some(tokens) = defaults.get(context_tokens) {
        take(context_tokens.to_owned(), tokens)?;
    }
    for (key, value) in flatten_settings(defaults.get("compaction").filter(|_| whole)) {
        // The other keys of compaction concern the summary's writer and the memory flush, which no policy uses.
        if find_key(&format!("{COMPACTION_PREFIX}{key}")).is_some() {
            take(format!("{COMPACTION_PREFIX}{key}"), value)?;
        }
    }
    let pruning = if whole { defaults.get("contextPruning") } else { Some(defaults) };
    for (key, value) in flatten_settings(pruning) {
        if whole || key != context_tokens {
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

/// Finds a setting by its key as the configuration or the command line spells it.
fn find_key(key: &str) -> Option<&'static SettingSpec> {
    let key = key.strip_prefix(DEFAULTS_PREFIX).unwrap_or(key);
    let limit = key.starts_with("channels.")
        && [".historyLimit", ".dmHistoryLimit"].iter().any(|end| key.ends_with(end));
    if limit { Some(SettingId::HistoryLimit.spec()) } else { find_setting(key) }
}

/// Converts command-line text to the value that a configuration would hold.
fn parse_value(setting: &SettingSpec, text: &str) -> Value {
    match setting.control {
        Control::Slider { unit: Unit::Milliseconds, .. } | Control::Text | Control::Fixed { .. } => {
            Value::from(text)
        }
        Control::Slider { unit: Unit::Tokens | Unit::Chars | Unit::Bytes, .. } => {
            let count = || parse_count(text).map_or_else(|| Value::from(text), Value::Number);
            js::parse(text).unwrap_or_else(|_| count())
        }
        Control::Switch | Control::Slider { .. } => js::parse(text).unwrap_or_else(|_| Value::from(text)),
        Control::List => parse_list(text),
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

/// Whether the gateway would accept the value.
fn accepts(setting: &SettingSpec, value: &Value) -> bool {
    let number = value.as_f64().filter(|number| number.is_finite());
    match setting.control {
        Control::Switch if setting.id == SettingId::PruneMode => {
            value.str_is("off") || value.str_is("cache-ttl")
        }
        Control::Switch => value.as_bool().is_some(),
        Control::Slider { unit: Unit::Milliseconds, .. } => value.as_str().and_then(parse_duration).is_some(),
        Control::Slider { unit: Unit::Share, .. } => number.is_some_and(|share| (0.0..=1.0).contains(&share)),
        Control::Slider { .. } if setting.takes_share() && is_percentage(value) => true,
        Control::Slider { min, .. } => number.is_some_and(|count| count >= min && count.fract() == 0.0),
        Control::List => value.as_array().is_some_and(|list| list.iter().all(|item| item.as_str().is_some())),
        Control::Text => value.as_str().is_some_and(|text| !text.is_blank()),
        Control::Fixed { .. } => false,
    }
}

/// Whether a value is a share of the window, such as `75%`.
fn is_percentage(value: &Value) -> bool {
    let text = value.as_str().map(js::JsString::to_string_lossy);
    text.is_some_and(|text| text.ends_with('%') && parse_share(&text).is_ok())
}

fn unknown_key_error(place: &str, key: &str) -> ChangeError {
    let bare = key.strip_prefix(DEFAULTS_PREFIX).unwrap_or(key);
    if config_keys().any(|known| known.path == bare) {
        return ChangeError(format!(
            "{place}: clawscope does not simulate `{key}`, though the gateway reads it"
        ));
    }
    let advice = nearest_setting(bare).map_or_else(
        || "`clawscope settings` lists those that it knows".to_owned(),
        |nearest| format!("did you mean `{}`?", nearest.key),
    );
    ChangeError(format!("{place}: unknown setting `{key}`; {advice}"))
}

fn invalid_value_error(place: &str, setting: &SettingSpec, found: &str) -> ChangeError {
    ChangeError(format!("{place}: {} is {found:?}; expected {}", setting.key, setting.expected()))
}

/// Returns a change as `--set` and the file of a preset write it: its key and its value.
pub fn set_text(change: &SettingChange) -> (String, String) {
    let value = match &change.value {
        Value::String(text) => text.to_string_lossy(),
        value => js::stringify(value),
    };
    (change.key().to_owned(), value)
}

/// Parses the values of a preset.
///
/// # Errors
/// The key that no setting has, or the value that the gateway would reject.
pub fn parse_preset(name: &str, values: &[(String, String)]) -> Result<Vec<SettingChange>, ChangeError> {
    let parse =
        |(key, value): &(String, String)| parse_change(&format!("preset {name}"), &format!("{key}={value}"));
    values.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::settings::SETTINGS;
    use std::io::Write as _;

    fn set(text: &str) -> Result<SettingChange, String> {
        parse_change("--set", text).map_err(|error| error.0)
    }

    #[test]
    fn a_trigger_takes_a_share_of_the_window() {
        let change = set("clearToolUses.trigger=75%").unwrap();
        assert_eq!(change.value_in(Tokens(200_000.0)), 150_000.0.into());
        assert_eq!(set("clearToolUses.trigger=90000").unwrap().value_in(Tokens(200_000.0)), 90_000.0.into());
        for text in ["clearToolUses.trigger=x%", "clearToolUses.keep=75%", "compaction.reserveTokens=10%"] {
            assert!(set(text).unwrap_err().contains("expected a whole number"), "{text}");
        }
        assert!(set("clearToolUses.trigger=0.75").unwrap_err().contains("such as 75%"));
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
            ("memoryFlush.enabled", "true"),
            ("hardClear.placeholder", "gone = away"),
            ("tools.allow", "exec, web_*"),
            ("tools.deny", r#"["a,b"]"#),
        ];
        for SettingSpec { id, key, .. } in &SETTINGS {
            let named = values.iter().find(|(name, _)| key.ends_with(name)).map_or("1", |(_, value)| value);
            let change = set(&format!("{key}={named}")).unwrap();
            assert_eq!((change.id, change.origin), (*id, Provenance::Flag));
        }
        assert_eq!(set("contextPruning.ttl=10").unwrap().value, Value::from("10"));
        assert_eq!(set("contextPruning.tools.deny=[\"a,b\"]").unwrap().value.as_array().unwrap().len(), 1);
        assert_eq!(set("agents.defaults.contextTokens=128000").unwrap().id, SettingId::ContextTokens);
    }

    #[test]
    fn a_setting_of_a_model_may_name_the_model() {
        let change = set("contextWindow[openrouter/made/nova:free]=32768").unwrap();
        assert_eq!(
            (change.id, change.model.as_deref()),
            (SettingId::ContextWindow, Some("openrouter/made/nova:free"))
        );
        let change = set("maxTokens=8192").unwrap();
        assert_eq!((change.id, change.model), (SettingId::MaxTokens, None));
        assert!(set("historyLimit[a/b]=3").unwrap_err().contains("is not a setting of a model"));
    }

    #[test]
    fn unknown_keys_suggest_the_nearest_and_wrong_types_name_the_expected() {
        assert_eq!(
            set("contextPruning.softTrim.maxChar=9").unwrap_err(),
            "--set: unknown setting `contextPruning.softTrim.maxChar`; did you mean `contextPruning.softTrim.maxChars`?"
        );
        assert!(set("zzz=1").unwrap_err().ends_with("; `clawscope settings` lists those that it knows"));
        assert!(
            set("compaction.mode=safeguard").unwrap_err().contains("does not simulate `compaction.mode`")
        );
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
    fn a_settings_file_may_hold_the_whole_configuration_or_one_object() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json5");
        for text in [
            "{ agents: { defaults: { contextPruning: { softTrim: { maxChars: 5 }, ttl: '1h' } } } }",
            "{ contextPruning: { softTrim: { maxChars: 5 }, ttl: '1h' }, }",
            "{ softTrim: { maxChars: 5 }, ttl: '1h' }",
        ] {
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            let changes = read_changes(Some(&path), &["contextPruning.ttl=2h".into()]).unwrap();
            let keys: Vec<&str> = changes.iter().map(SettingChange::key).collect();
            assert_eq!(
                keys,
                ["contextPruning.softTrim.maxChars", "contextPruning.ttl", "contextPruning.ttl"],
                "{text}"
            );
        }
    }
}
