//! `clawscope settings [SESSION]`: lists every setting with its default, the value in force, its unit and its meaning.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::preview::format_value;
use super::ruleset::{RulesetJson, print_ruleset, ruleset_json};
use super::session_output::finite;
use super::suggest::alternatives;
use crate::cli::{SettingsArgs, StoreArgs};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::{Reserve, Ruleset, RulesetChoice};
use crate::gateway::setting_value::{Control, Unit};
use crate::gateway::window::DEFAULT_WINDOW;
use crate::js::{JsString, Value, stringify};
use crate::policy::Policy;
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::settings::{
    ConfigKey, PolicySetting, SETTINGS, SettingId, SettingSources, SettingSpec, assign_to_pi, config_keys,
    policy_settings,
};
use crate::redact::masked_value;
use crate::session::LoadedSession;
use crate::session::session_settings::{current_value, default_value, session_setting};
use crate::store::discovery::Store;
use crate::store::path_kind::load_settings;
use crate::units::Tokens;

/// A setting under a ruleset and a configuration.
struct Listed {
    setting: &'static SettingSpec,
    default: Option<Value>,
    value: Option<Value>,
    from: String,
    /// The reason for which the release does not read it.
    fixed: Option<String>,
}

/// A configured key that no setting changes: it decides how a compaction is made, or when memory is saved.
struct OtherKey {
    key: &'static ConfigKey,
    value: Value,
    from: String,
    /// The reason for which the release does not read it.
    unread: Option<String>,
}

/// The settings in force, and what else is configured.
struct Listing {
    settings: Vec<Listed>,
    others: Vec<OtherKey>,
}

/// Returns the keys of the configuration that concern a context and belong to no setting.
fn other_keys(ruleset: Ruleset, config: &GatewayConfig) -> Vec<OtherKey> {
    let is_setting =
        |key: &ConfigKey| SETTINGS.iter().any(|it| it.config.is_some_and(|own| own.path == key.path));
    let configured = |key: &'static ConfigKey| {
        let path = key.full_path();
        let path: Vec<&str> = path.split('.').collect();
        Some(OtherKey {
            key,
            value: config.value(&path)?.clone(),
            from: config.provenance(&path).to_string(),
            unread: key.unread_reason(ruleset),
        })
    };
    config_keys().filter(|key| !is_setting(key)).filter_map(configured).collect()
}

pub(super) fn run(
    args: &SettingsArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.markdown {
        return print_markdown(output);
    }
    let (chosen, window, listed) = if let Some(text) = &args.session {
        let workspace = Workspace::for_session(text, place, invocation)?;
        let session =
            workspace.open_session(text, output).map_err(|error| named_setting(text).unwrap_or(error))?;
        (session.ruleset.clone(), session.window.tokens, session_list(&session))
    } else {
        let workspace = Workspace::from_path(None, place, invocation)?;
        let store = workspace.store();
        (store.ruleset.clone(), DEFAULT_WINDOW, store_list(store))
    };
    if args.json {
        return Ok(output.json(&settings_json(&chosen, window, &listed))?);
    }
    print_table(&chosen, window, &listed.settings, output)?;
    print_others(&listed.others, output)
}

/// Returns the failure for the name of a setting in the place of a session.
fn named_setting(text: &str) -> Option<Failure> {
    let is_named =
        |setting: &&SettingSpec| setting.key == text || setting.key.rsplit('.').next() == Some(text);
    let keys: Vec<&str> = SETTINGS.iter().filter(is_named).map(|setting| setting.key).collect();
    let (first, keys) = (keys.first()?, alternatives(&keys));
    Some(Failure::usage(format!(
        "{text}: expected a session, and this is the setting {keys}. `clawscope settings` lists its value; \
         `clawscope simulate SESSION --set {first}=VALUE` tries another."
    )))
}

fn print_others(others: &[OtherKey], output: &mut Output) -> Result<(), Failure> {
    if others.is_empty() {
        return Ok(());
    }
    output.line(Tone::Plain, "")?;
    let mut table =
        Table::new(&[("also configured", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
    for other in others {
        let from = other.unread.as_ref().map_or(other.from.clone(), |why| format!("not read: {why}"));
        let tone = if other.unread.is_some() { Tone::Dim } else { Tone::Plain };
        let value = other.value.as_str().map_or_else(|| stringify(&other.value), JsString::to_string_lossy);
        table.push(vec![
            Cell::new(other.key.path, tone),
            Cell::new(&value, tone),
            Cell::new(&from, Tone::Dim),
        ]);
    }
    Ok(table.print(output, "")?)
}

/// Returns the settings of a session as JSON.
pub(super) fn session_settings_json(session: &LoadedSession) -> SettingsJson {
    settings_json(&session.ruleset, session.window.tokens, &session_list(session))
}

/// Returns the settings of a session, with the values in force for it.
fn session_list(session: &LoadedSession) -> Listing {
    let own = |setting: &SettingSpec| {
        let value = current_value(session, session_setting(setting)?);
        value.is_finite().then(|| typed_value(setting, value))
    };
    let settings = list(session.ruleset.id, &session.setting_rows, own);
    Listing { settings, others: other_keys(session.ruleset.id, &session.config) }
}

/// Returns the settings of a store, for a session that belongs to no channel.
fn store_list(store: &Store) -> Listing {
    let rules = store.ruleset.id.rules();
    let mut rows = rows_under(store.ruleset.id, &store.config);
    let pi = load_settings(&store.path_kind, None).filter(|_| rules.reserve == Reserve::Runtime);
    if let Some(pi) = &pi {
        assign_to_pi(&mut rows, pi, None);
    }
    let own = |setting: &SettingSpec| {
        let path = setting.config_path()?;
        store.config.value(&path.split('.').collect::<Vec<_>>()).cloned()
    };
    let settings = list(store.ruleset.id, &rows, own);
    Listing { settings, others: other_keys(store.ruleset.id, &store.config) }
}

fn rows_under(ruleset: Ruleset, config: &GatewayConfig) -> Vec<PolicySetting> {
    policy_settings(&SettingSources {
        config,
        ruleset,
        session_key: "",
        runtime: CompactionSettings::default(),
        window: DEFAULT_WINDOW,
        clear: &ClearSettings::default(),
    })
}

/// Joins the table with the rows of the policies that the version has. `own` returns the value of a setting that
/// belongs to no policy.
fn list(
    ruleset: Ruleset,
    rows: &[PolicySetting],
    own: impl Fn(&SettingSpec) -> Option<Value>,
) -> Vec<Listed> {
    let visible = Policy::visible_for(ruleset.rules());
    let listed = |setting: &'static SettingSpec| {
        let Some(policy) = setting.policy else {
            let default = default_of(setting, ruleset);
            let value = own(setting);
            let from = if value.is_some() { "configuration or session" } else { "default" };
            let value = value.or_else(|| default.clone());
            let fixed = setting.config.filter(|_| !ruleset.is_pi());
            let fixed = fixed.and_then(|key| key.unread_reason(ruleset));
            return Some(Listed { setting, default, value, from: from.to_owned(), fixed });
        };
        let row = rows.iter().find(|row| row.setting.id == setting.id && visible.contains(&policy))?;
        let row = &row.setting;
        Some(Listed {
            setting,
            default: Some(row.default.clone()),
            value: Some(row.value.clone()),
            from: row.provenance.to_string(),
            fixed: row.control.fixed_reason().map(str::to_owned),
        })
    };
    SETTINGS.iter().filter_map(listed).collect()
}

/// Returns the default of a setting that belongs to no policy.
fn default_of(setting: &SettingSpec, ruleset: Ruleset) -> Option<Value> {
    default_value(session_setting(setting)?, ruleset.rules()).map(|value| typed_value(setting, value))
}

/// Returns the number as the setting has it: a switch is on or off.
fn typed_value(setting: &SettingSpec, value: f64) -> Value {
    if matches!(setting.control, Control::Switch) { Value::Bool(value != 0.0) } else { Value::from(value) }
}

fn print_table(
    chosen: &RulesetChoice,
    window: Tokens,
    listed: &[Listed],
    output: &mut Output,
) -> Result<(), Failure> {
    print_ruleset(chosen, output)?;
    let window = format_value(Some(Unit::Tokens), &Value::from(window.get()));
    output.line(Tone::Dim, &format!("values for a window of {window} tokens"))?;
    output.line(Tone::Plain, "")?;
    let mut table = Table::new(&[
        ("setting", Align::Left),
        ("value", Align::Right),
        ("default", Align::Right),
        ("unit", Align::Left),
        ("meaning", Align::Left),
    ]);
    for row in listed {
        let tone = if row.fixed.is_some() { Tone::Dim } else { Tone::Plain };
        let changed = row.fixed.is_none() && row.value != row.default;
        let meaning = match &row.fixed {
            Some(why) => format!("Cannot be set: {why}."),
            None => row.setting.description.to_owned(),
        };
        table.push(vec![
            Cell::new(row.setting.key, tone),
            Cell::new(
                &value_text(row.setting, row.value.as_ref()),
                if changed { Tone::Strong } else { tone },
            ),
            Cell::new(&value_text(row.setting, row.default.as_ref()), Tone::Dim),
            Cell::new(unit_column(row.setting), Tone::Dim),
            Cell::new(&meaning, tone),
        ]);
    }
    Ok(table.print(output, "")?)
}

/// Every setting with its value in force.
#[derive(Serialize, JsonSchema)]
pub(super) struct SettingsJson {
    ruleset: RulesetJson,
    /// Window in tokens for which the built-in values are computed.
    window: Option<Tokens>,
    settings: Vec<SettingJson>,
    /// Configured keys that concern a context and that no setting changes.
    others: Vec<OtherKeyJson>,
}

impl JsonOutput for SettingsJson {}

#[derive(Serialize, JsonSchema)]
struct SettingJson {
    /// The key of `--set`.
    key: &'static str,
    /// The policy that reads it; null for settings of the whole session.
    policy: Option<&'static str>,
    /// The place in the configuration; null for built-in values.
    path: Option<String>,
    unit: &'static str,
    min: Option<f64>,
    max: Option<f64>,
    /// The accepted values in words.
    expected: String,
    default: Option<Value>,
    value: Option<Value>,
    /// The origin of the value.
    from: String,
    /// The reason for which the release does not read it.
    fixed: Option<String>,
    /// The releases that read it.
    releases: String,
    description: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct OtherKeyJson {
    /// The place in the configuration.
    path: String,
    value: Value,
    /// The origin of the value.
    from: String,
    /// The reason for which the release does not read it.
    fixed: Option<String>,
}

fn other_json(other: &OtherKey) -> OtherKeyJson {
    OtherKeyJson {
        path: other.key.full_path(),
        value: masked_value(&other.value),
        from: other.from.clone(),
        fixed: other.unread.clone(),
    }
}

fn settings_json(chosen: &RulesetChoice, window: Tokens, listed: &Listing) -> SettingsJson {
    let known =
        |value: &Option<Value>| value.clone().filter(|value| value.as_f64().is_none_or(f64::is_finite));
    let row = |row: &Listed| {
        let setting = row.setting;
        let (min, max) = range(setting);
        SettingJson {
            key: setting.key,
            policy: setting.policy.map(Policy::word),
            path: setting.config_path(),
            unit: unit_text(setting),
            min,
            max,
            expected: setting.expected(),
            default: known(&row.default),
            value: known(&row.value).as_ref().map(masked_value),
            from: row.from.clone(),
            fixed: row.fixed.clone(),
            releases: releases(setting).to_owned(),
            description: setting.description,
        }
    };
    SettingsJson {
        ruleset: ruleset_json(chosen),
        window: finite(window),
        settings: listed.settings.iter().map(row).collect(),
        others: listed.others.iter().map(other_json).collect(),
    }
}

/// Prints the table of the README: the defaults of every store.
fn print_markdown(output: &mut Output) -> Result<(), Failure> {
    let config = GatewayConfig::empty();
    let reference = rows_under(Ruleset::default(), &config);
    let later = rows_under(Ruleset::V2026_6_11, &config);
    output.line(Tone::Plain, "| setting | default | values | releases | meaning |")?;
    output.line(Tone::Plain, "|---|---|---|---|---|")?;
    for setting in &SETTINGS {
        let settable = |row: &&PolicySetting| {
            row.setting.id == setting.id && row.setting.control.fixed_reason().is_none()
        };
        let row = reference.iter().find(settable).or_else(|| later.iter().find(settable));
        let default = match row {
            Some(row) => Some(row.setting.default.clone()),
            None => default_of(setting, Ruleset::default()),
        };
        let (default, values) = (value_text(setting, default.as_ref()), setting.values());
        let (releases, meaning) = (releases(setting), setting.description);
        output.line(
            Tone::Plain,
            &format!("| `{}` | {default} | {values} | {releases} | {meaning} |", setting.key),
        )?;
    }
    Ok(())
}

fn value_text(setting: &SettingSpec, value: Option<&Value>) -> String {
    match value {
        Some(Value::Bool(on)) if setting.id == SettingId::PruneMode => {
            if *on { "cache-ttl" } else { "off" }.to_owned()
        }
        Some(value) => format_value(setting.control.unit(), value),
        None => "–".to_owned(),
    }
}

/// The unit of the printed value: a time is printed as `1h`, and is a number of ms only in JSON.
fn unit_column(setting: &SettingSpec) -> &'static str {
    if setting.control.unit() == Some(Unit::Milliseconds) { "time" } else { unit_text(setting) }
}

fn unit_text(setting: &SettingSpec) -> &'static str {
    match setting.control {
        Control::Switch => "switch",
        Control::List => "tools",
        Control::Text => "text",
        Control::Slider { unit, .. } => unit_word(unit),
        Control::Fixed { unit, .. } => unit.map_or("", unit_word),
    }
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Milliseconds => "ms",
        Unit::Messages => "count",
        Unit::Share => "share",
        Unit::Chars => "chars",
        Unit::Tokens => "tokens",
        Unit::Turns => "turns",
        Unit::Bytes => "bytes",
    }
}

/// Returns the range that the gateway accepts; a tuning slider may end earlier.
fn range(setting: &SettingSpec) -> (Option<f64>, Option<f64>) {
    match setting.control {
        Control::Slider { min, max, unit: Unit::Share, .. } => (Some(min), Some(max)),
        Control::Slider { min, .. } => (Some(min), None),
        Control::Switch | Control::List | Control::Text | Control::Fixed { .. } => (None, None),
    }
}

/// Returns [`releases_text`], which checks every release and is therefore computed once.
fn releases(setting: &'static SettingSpec) -> &'static str {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| SETTINGS.iter().map(releases_text).collect());
    SETTINGS.iter().position(|known| known.id == setting.id).map_or("", |at| &texts[at])
}

/// Returns the gateway releases that read a setting: `all`, `from 2026.4.15, before 2026.8.1`.
fn releases_text(setting: &SettingSpec) -> String {
    let config = GatewayConfig::empty();
    let reads = |ruleset: Ruleset| match (setting.policy, &setting.config) {
        (None, config) => config.is_none_or(|key| key.is_read(ruleset)),
        (Some(_), _) => rows_under(ruleset, &config)
            .iter()
            .any(|row| row.setting.id == setting.id && row.setting.control.fixed_reason().is_none()),
    };
    let gateways: Vec<(Ruleset, bool)> = Ruleset::all_known()
        .filter(|ruleset| !ruleset.is_pi())
        .map(|ruleset| (ruleset, reads(ruleset)))
        .collect();
    let spans = gateways.chunk_by(|(_, before), (_, after)| before == after);
    let mut start = 0;
    let mut texts = Vec::new();
    for span in spans {
        let end = start + span.len();
        if span.iter().all(|(_, read)| *read) {
            let from = (start > 0).then(|| format!("from {}", gateways[start].0.id()));
            let before = gateways.get(end).map(|(next, _)| format!("before {}", next.id()));
            let parts: Vec<String> = from.into_iter().chain(before).collect();
            texts.push(if parts.is_empty() { "all".to_owned() } else { parts.join(", ") });
        }
        start = end;
    }
    texts.join("; ")
}
