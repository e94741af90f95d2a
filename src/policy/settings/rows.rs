//! Each setting of each policy as a row, for the settings pane and for `--set`. A row holds the key, the control, the
//! value and its owner, the file in which a person would change it.

use std::path::{Path, PathBuf};

use crate::gateway::compaction::CompactionSettings;
use crate::gateway::compaction_setting::{TOKEN_SLIDER, compaction_settings};
use crate::gateway::config::GatewayConfig;
use crate::gateway::history_accounts::history_limit_under;
use crate::gateway::history_limit::HistoryLimit;
use crate::gateway::pi_settings::PiSettings;
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::{Control, PruneSetting, Unit, prune_settings};
use crate::gateway::ruleset::{Aggregate, Guard, Rules, Ruleset};
use crate::js::{self, Value};
use crate::policy::clear_tool_uses::{ClearSettings, ClearedBy, TokenCounting};
use crate::policy::policy_set::Policy;
use crate::policy::settings::{PolicySettings, ReduceSettings, TruncateSettings};

#[derive(Debug, Clone, PartialEq)]
pub struct PolicySetting {
    pub policy: Policy,
    /// Prefix of the key in `--set`, such as `contextPruning.`; may be empty.
    pub prefix: &'static str,
    pub owner: SettingOwner,
    pub setting: PruneSetting,
}

/// Program that reads a setting; decides where a changed value has to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOwner {
    /// Path in `openclaw.json`.
    Gateway(String),
    /// pi reads it from its own settings file.
    Runtime {
        /// Directory of pi's global settings and models.
        agent_dir: PathBuf,
        file: PathBuf,
        /// Path in the file.
        path: String,
    },
    /// The gateway has it built in; changing it here previews another value.
    BuiltIn,
    /// The client that sends the request (pruning 7.14).
    Client,
    /// The provider's server; the gateway derives the value that it requests (pruning 7.11).
    Server,
    /// An assumption of clawscope's preview.
    Preview,
}

impl PolicySetting {
    /// Returns the key used by `--set` and in JSON.
    pub fn key(&self) -> String {
        format!("{}{}", self.prefix, self.setting.key)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SettingSources<'a> {
    pub config: &'a GatewayConfig,
    pub ruleset: Ruleset,
    /// Decides the turn limit.
    pub session_key: &'a str,
    /// Reserve and keep of the runtime itself.
    pub runtime: CompactionSettings,
    /// In tokens.
    pub window: f64,
    /// Initial parameters of clearing.
    pub clear: &'a ClearSettings,
}

const fn slider(max: f64, step: f64, unit: Unit) -> Control {
    Control::Slider { min: 0.0, max, step, unit }
}

type ReadSetting = fn(&PolicySettings) -> Value;
type OwnSetting = (Policy, &'static str, &'static str, SettingOwner, Control, ReadSetting);

/// Upper bound for the tokens of a summary; no window is larger.
const MAX_SUMMARY_TOKENS: f64 = 1e6;

const SHARE: Control = slider(1.0, 0.01, Unit::Share);

/// Settings that the gateway's configuration does not have.
const OWN_SETTINGS: [OwnSetting; 16] = [
    (
        Policy::Compact,
        "compaction.",
        "summaryTokens",
        SettingOwner::Preview,
        slider(16_000.0, 100.0, Unit::Tokens),
        |s| (s.summary_tokens as f64).into(),
    ),
    (Policy::Truncate, "truncate.", "windowShare", SettingOwner::BuiltIn, SHARE, |s| {
        s.truncate.window_share.into()
    }),
    (
        Policy::Truncate,
        "truncate.",
        "maxChars",
        SettingOwner::BuiltIn,
        slider(1e6, 10_000.0, Unit::Chars),
        |s| s.truncate.max_chars.into(),
    ),
    (
        Policy::Truncate,
        "truncate.",
        "minKeepChars",
        SettingOwner::BuiltIn,
        slider(20_000.0, 100.0, Unit::Chars),
        |s| s.truncate.min_keep_chars.into(),
    ),
    (Policy::Reduce, "reduce.", "allChars", SettingOwner::BuiltIn, slider(2e6, 10_000.0, Unit::Chars), |s| {
        s.reduce.all_chars.into()
    }),
    (Policy::Reduce, "reduce.", "keepSent", SettingOwner::BuiltIn, Control::Switch, |s| {
        Value::Bool(s.reduce.keeps_sent)
    }),
    (
        Policy::Check,
        "check.",
        "promptTokens",
        SettingOwner::Preview,
        slider(200_000.0, 500.0, Unit::Tokens),
        |s| s.check.prompt_tokens.into(),
    ),
    (Policy::Guard, "guard.", "budgetShare", SettingOwner::BuiltIn, SHARE, |s| s.guard.budget_share.into()),
    (Policy::Guard, "guard.", "singleShare", SettingOwner::BuiltIn, SHARE, |s| s.guard.single_share.into()),
    (
        Policy::Clear,
        "clearToolUses.",
        "trigger",
        SettingOwner::Client,
        slider(1e6, 5_000.0, Unit::Tokens),
        |s| s.clear.trigger.into(),
    ),
    (Policy::Clear, "clearToolUses.", "keep", SettingOwner::Client, slider(50.0, 1.0, Unit::Messages), |s| {
        s.clear.keep.into()
    }),
    (
        Policy::Clear,
        "clearToolUses.",
        "clearAtLeast",
        SettingOwner::Client,
        slider(200_000.0, 500.0, Unit::Tokens),
        |s| s.clear.clear_at_least.into(),
    ),
    (Policy::Clear, "clearToolUses.", "clearToolInputs", SettingOwner::Client, Control::Switch, |s| {
        Value::Bool(s.clear.clear_tool_inputs)
    }),
    (Policy::Clear, "clearToolUses.", "countByModel", SettingOwner::Client, Control::Switch, |s| {
        Value::Bool(s.clear.counting == TokenCounting::Model)
    }),
    (Policy::Clear, "clearToolUses.", "excludeTools", SettingOwner::Client, Control::List, |s| {
        Value::Array(s.clear.exclude_tools.iter().cloned().map(Value::String).collect())
    }),
    (Policy::Clear, "clearToolUses.", "placeholder", SettingOwner::Client, Control::Text, |s| {
        Value::String(s.clear.placeholder.clone())
    }),
];

/// Returns the rows of all policies, in the order of [`Policy::ALL`]; `contextPruning.mode` is the first row of its
/// policy.
pub fn policy_settings(source: &SettingSources<'_>) -> Vec<PolicySetting> {
    let SettingSources { config, ruleset, runtime, window, .. } = *source;
    let gateway = |step, prefix: &'static str| {
        move |row: PruneSetting| PolicySetting {
            policy: step,
            prefix,
            owner: SettingOwner::Gateway(format!("agents.defaults.{prefix}{}", row.key)),
            setting: row,
        }
    };
    let limits = ResultLimits::of(config, ruleset.rules(), source.session_key, window);
    let built_in = PolicySettings {
        clear: source.clear.clone(),
        reduce: limits.reduce,
        ..PolicySettings::built_in(ruleset, window)
    };
    let compaction = compaction_settings(config, ruleset, runtime, window).into_iter();
    let pruning = prune_settings(config, ruleset).into_iter();
    let mut rows: Vec<PolicySetting> = compaction
        .map(gateway(Policy::Compact, "compaction."))
        .chain(pruning.map(gateway(Policy::Prune, "contextPruning.")))
        .chain(std::iter::once(history_limit_setting(source)))
        .chain([result_chars_setting(source), mid_turn_setting(source)])
        .chain(OWN_SETTINGS.iter().map(|row| own_setting(row, ruleset, &built_in)))
        .collect();
    rows.sort_by_key(|row| row.policy);
    rows
}

/// Makes pi the owner of the compaction settings, because its own files hold them. `model` is `provider/id` if single
/// models may have their own.
pub fn assign_to_pi(rows: &mut [PolicySetting], settings: &PiSettings, model: Option<&str>) {
    let agent_dir = settings.global().parent().map(Path::to_path_buf).unwrap_or_default();
    for row in rows.iter_mut().filter(|row| ["reserveTokens", "keepRecentTokens"].contains(&row.setting.key))
    {
        let own = settings.token_setting(row.setting.key, model);
        row.owner = SettingOwner::Runtime { agent_dir: agent_dir.clone(), file: own.file, path: own.path };
        row.setting.control = TOKEN_SLIDER;
        row.setting.config = own.raw_value;
        row.setting.provenance = own.provenance;
        row.setting.value = own.value.into();
    }
}

fn own_setting(
    (step, prefix, key, reader, control, read): &OwnSetting,
    ruleset: Ruleset,
    built_in: &PolicySettings,
) -> PolicySetting {
    let value = read(built_in);
    let server = *reader == SettingOwner::Client && built_in.clear.cleared_by != ClearedBy::Client;
    // The server chooses its own text for a cleared result (pruning 7.14).
    let reader = match (server, *key) {
        (true, "placeholder") => SettingOwner::Preview,
        (true, _) => SettingOwner::Server,
        (false, _) => reader.clone(),
    };
    let missing = unsupported_reason(ruleset, *step, key);
    let control = missing.map_or(*control, |why| Control::Fixed { unit: control.unit(), why });
    let row = PruneSetting {
        key,
        control,
        default: value.clone(),
        config: None,
        value,
        provenance: missing.map_or(Provenance::Default, Provenance::Fixed),
    };
    PolicySetting { policy: *step, prefix, owner: reader, setting: row }
}

/// Returns the reason why a version does not have a setting; `None` if it has it.
fn unsupported_reason(ruleset: Ruleset, policy: Policy, key: &str) -> Option<&'static str> {
    let rules = ruleset.rules();
    match (policy, key) {
        (Policy::Guard, _) if rules.guard == Guard::None => Some("this runtime has no guard"),
        (Policy::Guard, "budgetShare") if matches!(rules.guard, Guard::SingleThenStop | Guard::Single) => {
            Some("no total budget since 2026.4.8")
        }
        (Policy::Truncate, _) if !Policy::Truncate.is_supported_by(rules) => Some("added in 2026.2.12"),
        (Policy::Truncate, "maxChars") if rules.result_limit.is_configured() => {
            Some("contextLimits.toolResultMaxChars")
        }
        (Policy::Reduce, _) if rules.aggregate == Aggregate::Weighted => {
            Some("part of truncation since 2026.8.1")
        }
        (Policy::Reduce, "keepSent") if rules.aggregate == Aggregate::Elided => Some("removed in 2026.7.1"),
        (Policy::Reduce, "keepSent") if rules.aggregate != Aggregate::Emptied => Some("added in 2026.6.11"),
        (Policy::Reduce | Policy::Check, _) if !policy.is_supported_by(rules) => Some("added in 2026.4.8"),
        _ => None,
    }
}

/// Limits of tool results, one and all together, under a configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResultLimits {
    pub truncate: TruncateSettings,
    pub reduce: ReduceSettings,
}

impl ResultLimits {
    /// Returns a session's limits for a window in tokens.
    pub fn of(config: &GatewayConfig, rules: &Rules, session_key: &str, window: f64) -> Self {
        let mut truncate = TruncateSettings::built_in(rules, window);
        if let Some(chars) = configured_result_chars(config, rules, session_key) {
            truncate.max_chars = chars;
        }
        Self { truncate, reduce: ReduceSettings::built_in(rules, window, &truncate) }
    }
}

/// Returns the configured limit of one result, of the agent or the default; `None` if the version does not read it.
fn configured_result_chars(config: &GatewayConfig, rules: &Rules, session_key: &str) -> Option<f64> {
    let written = written_result_chars(config, session_key).filter(|_| rules.result_limit.is_configured());
    written?.as_f64().filter(|chars| *chars >= 1.0).map(f64::floor)
}

fn written_result_chars<'a>(config: &'a GatewayConfig, session_key: &str) -> Option<&'a Value> {
    let [limits, key] = RESULT_CHARS_PATH;
    let agent = session_key.strip_prefix("agent:").and_then(|rest| rest.split(':').next());
    let own = agent.and_then(|agent| {
        let mut listed = config.js_root.get("agents")?.get("list")?.as_array()?.iter();
        let own = listed.find(|own| own.get("id").is_some_and(|id| id.str_is(agent)))?;
        own.get(limits)?.get(key)
    });
    own.or_else(|| config.value(&["agents", "defaults", limits, key]))
}

/// (releases R30)
fn result_chars_setting(source: &SettingSources<'_>) -> PolicySetting {
    let rules = source.ruleset.rules();
    let configured = rules.result_limit.is_configured();
    let [limits, key] = RESULT_CHARS_PATH;
    let built_in = TruncateSettings::built_in(rules, source.window).max_chars;
    let path = ["agents", "defaults", limits, key];
    let usable = configured_result_chars(source.config, rules, source.session_key);
    let provenance = if usable.is_some() { source.config.provenance(&path) } else { Provenance::Default };
    let control = slider(200_000.0, 1000.0, Unit::Chars);
    let why = if source.ruleset >= Ruleset::V2026_8_1 { "removed in 2026.8.1" } else { "added in 2026.4.15" };
    let row = PruneSetting {
        key,
        control: if configured { control } else { Control::Fixed { unit: control.unit(), why } },
        default: built_in.into(),
        config: written_result_chars(source.config, source.session_key).cloned(),
        value: usable.unwrap_or(built_in).into(),
        provenance: if configured { provenance } else { Provenance::Fixed(why) },
    };
    let reader = SettingOwner::Gateway(path.join("."));
    PolicySetting { policy: Policy::Truncate, prefix: "contextLimits.", owner: reader, setting: row }
}

const RESULT_CHARS_PATH: [&str; 2] = ["contextLimits", "toolResultMaxChars"];

/// (releases R43)
fn mid_turn_setting(source: &SettingSources<'_>) -> PolicySetting {
    let path = ["agents", "defaults", "compaction", "midTurnPrecheck", "enabled"];
    let read = source.ruleset.rules().mid_turn_check;
    let config = source.config.value(&path).cloned();
    let value = Value::Bool(config.as_ref().and_then(Value::as_bool).unwrap_or(false) && read);
    let why = "added in 2026.5.2";
    let row = PruneSetting {
        key: "midTurnPrecheck.enabled",
        control: if read { Control::Switch } else { Control::Fixed { unit: None, why } },
        default: Value::Bool(false),
        config,
        value,
        provenance: if read { source.config.provenance(&path) } else { Provenance::Fixed(why) },
    };
    PolicySetting {
        policy: Policy::Check,
        prefix: "compaction.",
        owner: SettingOwner::Gateway(path.join(".")),
        setting: row,
    }
}

/// Builds the row of the session's turn limit (pruning 2.3). Without a limit, its owner is the path where one would be
/// set.
fn history_limit_setting(source: &SettingSources<'_>) -> PolicySetting {
    let limit = history_limit_under(source.ruleset.rules(), source.session_key, &source.config.js_root);
    let place = limit.as_ref().map(|limit| limit.setting.clone());
    let path: Vec<&str> = place.iter().flat_map(|place| place.split('.')).collect();
    let provenance = if place.is_some() { source.config.provenance(&path) } else { Provenance::Default };
    let value = limit.as_ref().map_or(0.0, HistoryLimit::turns).max(0.0);
    let row = PruneSetting {
        key: "historyLimit",
        control: slider(100.0, 1.0, Unit::Turns),
        default: 0.0.into(),
        config: limit.map(|limit| limit.value),
        value: value.into(),
        provenance,
    };
    let place = place.or_else(|| default_path(source.session_key));
    let reader = place.map_or(SettingOwner::Preview, SettingOwner::Gateway);
    PolicySetting { policy: Policy::History, prefix: "", owner: reader, setting: row }
}

/// Returns the path for a limit of this session: the channel's default for its kind. A session without a channel never
/// has a limit (pruning 2.3).
fn default_path(session_key: &str) -> Option<String> {
    let segments: Vec<&str> = session_key.split(':').filter(|segment| !segment.is_empty()).collect();
    let rest = match segments.as_slice() {
        ["agent", _, rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let (channel, kind) = (rest.first()?.to_lowercase(), rest.get(1)?.to_lowercase());
    match kind.as_str() {
        "channel" | "group" => Some(format!("channels.{channel}.historyLimit")),
        "dm" | "direct" => Some(format!("channels.{channel}.dmHistoryLimit")),
        _ => None,
    }
}

/// Returns the settings for these row values; settings without a row keep their configured value.
pub fn settings_from_values(
    rows: &[PolicySetting],
    values: &[Value],
    configured: &PolicySettings,
) -> PolicySettings {
    let mut settings = configured.clone();
    let number = |key: &str| {
        let at = rows.iter().position(|row| row.key() == key)?;
        // The reserve already includes a built-in floor.
        values.get(at)?.as_f64().filter(|_| rows[at].setting.control.fixed_reason().is_none())
    };
    // Compaction and pruning compute with built-in values; for other policies a fixed row means that the version has no
    // such setting.
    let counts = |row: &PolicySetting| {
        row.setting.control.fixed_reason().is_none() || matches!(row.policy, Policy::Compact | Policy::Prune)
    };
    for (row, value) in rows.iter().zip(values).filter(|(row, _)| counts(row)) {
        assign(&mut settings, row, value);
    }
    let floor = number("compaction.reserveTokensFloor").unwrap_or(0.0);
    settings.compaction.reserve_tokens = settings.compaction.reserve_tokens.max(floor);
    settings
}

fn assign(settings: &mut PolicySettings, row: &PolicySetting, value: &Value) {
    let number = value.as_f64().unwrap_or(f64::NAN);
    match (row.prefix, row.setting.key) {
        ("contextPruning.", key) => {
            crate::gateway::setting_value::apply_value(&mut settings.prune, key, value);
        }
        ("compaction.", "reserveTokens") => settings.compaction.reserve_tokens = number,
        ("compaction.", "keepRecentTokens") => settings.compaction.keep_recent_tokens = number,
        ("compaction.", "summaryTokens") => {
            settings.summary_tokens = number.min(MAX_SUMMARY_TOKENS) as u64;
        }
        ("", "historyLimit") => settings.history_limit = number,
        ("truncate.", "windowShare") => settings.truncate.window_share = number,
        ("truncate.", "maxChars") | ("contextLimits.", "toolResultMaxChars") => {
            settings.truncate.max_chars = number;
        }
        ("truncate.", "minKeepChars") => settings.truncate.min_keep_chars = number,
        ("reduce.", "allChars") => settings.reduce.all_chars = number,
        ("reduce.", "keepSent") => settings.reduce.keeps_sent = value.as_bool().unwrap_or(false),
        ("check.", "promptTokens") => settings.check.prompt_tokens = number,
        ("compaction.", "midTurnPrecheck.enabled") => {
            settings.check.mid_turn = value.as_bool().unwrap_or(false);
        }
        ("guard.", "budgetShare") => settings.guard.budget_share = number,
        ("guard.", "singleShare") => settings.guard.single_share = number,
        ("clearToolUses.", key) => assign_clear(settings, key, value),
        _ => {}
    }
}

fn assign_clear(settings: &mut PolicySettings, key: &str, value: &Value) {
    let clear = &mut settings.clear;
    let number = value.as_f64().unwrap_or(f64::NAN);
    match key {
        "trigger" => clear.trigger = number,
        "keep" => clear.keep = number,
        "clearAtLeast" => clear.clear_at_least = number,
        "clearToolInputs" => clear.clear_tool_inputs = value.as_bool().unwrap_or(false),
        "countByModel" => {
            let by_model = value.as_bool().unwrap_or(false);
            clear.counting = if by_model { TokenCounting::Model } else { TokenCounting::Approximate };
        }
        "excludeTools" => {
            let names = value.as_array().unwrap_or_default().iter();
            clear.exclude_tools = names.filter_map(Value::as_str).cloned().collect();
        }
        _ => clear.placeholder = js::to_text(Some(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_that_is_built_in_does_not_lift_a_reserve_that_the_window_caps() {
        let config = GatewayConfig::empty();
        let (ruleset, runtime) = (Ruleset::V2026_9_2, CompactionSettings::default());
        let rows = policy_settings(&SettingSources {
            config: &config,
            ruleset,
            session_key: "",
            runtime,
            window: 32_000.0,
            clear: &ClearSettings::default(),
        });
        let values: Vec<Value> = rows.iter().map(|row| row.setting.value.clone()).collect();
        let settings = settings_from_values(&rows, &values, &PolicySettings::default());
        assert_eq!(settings.compaction.reserve_tokens, 8_000.0);
    }

    fn all(config: &GatewayConfig, session_key: &str) -> Vec<PolicySetting> {
        policy_settings(&SettingSources {
            config,
            ruleset: Ruleset::default(),
            session_key,
            runtime: CompactionSettings::default(),
            window: 200_000.0,
            clear: &ClearSettings::default(),
        })
    }

    #[test]
    fn every_key_is_there_once_and_steps_come_in_their_order() {
        let rows = all(&GatewayConfig::empty(), "agent:main:main");
        let mut keys: Vec<String> = rows.iter().map(PolicySetting::key).collect();
        assert!(rows.iter().map(|row| row.policy).is_sorted());
        keys.sort();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn untouched_values_amount_to_the_configured_settings() {
        let rows = all(&GatewayConfig::empty(), "agent:main:main");
        let values: Vec<Value> = rows.iter().map(|row| row.setting.value.clone()).collect();
        let mut configured = PolicySettings::default();
        configured.compaction.reserve_tokens = 20_000.0;
        configured.prune.tools = js::parse(r#"{"allow":[],"deny":[]}"#).unwrap();
        assert_eq!(settings_from_values(&rows, &values, &configured), configured);
    }

    #[test]
    fn each_moved_value_arrives_where_its_step_looks() {
        let rows = all(&GatewayConfig::empty(), "agent:main:main");
        let moves =
            |row: &PolicySetting| row.setting.key != "mode" && row.setting.control.fixed_reason().is_none();
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| moves(row)) {
            let mut values: Vec<Value> = rows.iter().map(|row| row.setting.value.clone()).collect();
            let before = settings_from_values(&rows, &values, &PolicySettings::default());
            values[at] = match row.setting.control {
                // Above the floor of the reserve, so that the change shows.
                Control::Slider { max, .. } => max.into(),
                Control::Switch => Value::Bool(row.setting.value.as_bool() == Some(false)),
                Control::List => Value::Array(vec!["x".into()]),
                Control::Text | Control::Fixed { .. } => "x".into(),
            };
            assert_ne!(
                settings_from_values(&rows, &values, &PolicySettings::default()),
                before,
                "{}",
                row.key()
            );
        }
    }

    #[test]
    fn what_a_version_has_built_in_is_where_its_rows_start() {
        let config = GatewayConfig::empty();
        let rows = |ruleset| {
            let (runtime, window) = (CompactionSettings::default(), 128_000.0);
            policy_settings(&SettingSources {
                config: &config,
                ruleset,
                session_key: "",
                runtime,
                window,
                clear: &ClearSettings::default(),
            })
        };
        let row =
            |ruleset, key: &str| rows(ruleset).into_iter().find(|row| row.key() == key).unwrap().setting;
        assert_eq!(row(Ruleset::V2026_3_2, "truncate.maxChars").value, 400_000.0.into());
        assert_eq!(row(Ruleset::V2026_9_2, "truncate.maxChars").value, 32_000.0.into());
        let fixed = |ruleset, key| row(ruleset, key).control.fixed_reason().is_some();
        assert!(
            fixed(Ruleset::V2026_9_2, "guard.budgetShare") && !fixed(Ruleset::V2026_9_2, "guard.singleShare")
        );
        assert!(
            fixed(Ruleset::Pi0_55, "guard.singleShare") && !fixed(Ruleset::V2026_2_19, "guard.budgetShare")
        );
    }

    #[test]
    fn no_summary_is_taken_to_be_longer_than_any_window() {
        let rows = all(&GatewayConfig::empty(), "agent:main:main");
        let of = |row: &PolicySetting| {
            if row.key() == "compaction.summaryTokens" { 1e300.into() } else { row.setting.value.clone() }
        };
        let values: Vec<Value> = rows.iter().map(of).collect();
        assert_eq!(
            settings_from_values(&rows, &values, &PolicySettings::default()).summary_tokens,
            1_000_000
        );
    }

    #[test]
    fn a_limit_names_the_place_where_it_is_or_would_be() {
        let empty = GatewayConfig::empty();
        let place = |key: &str| {
            let rows = all(&empty, key);
            rows.into_iter().find(|row| row.policy == Policy::History).map(|row| row.owner)
        };
        let at = |path: &str| Some(SettingOwner::Gateway(path.to_owned()));
        assert_eq!(place("agent:main:telegram:direct:8812"), at("channels.telegram.dmHistoryLimit"));
        assert_eq!(place("agent:main:slack:channel:c1"), at("channels.slack.historyLimit"));
        assert_eq!(place("agent:main:main"), Some(SettingOwner::Preview));
    }
}
