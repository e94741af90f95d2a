//! The settings of every policy under a configuration: each value with its default, its origin and its owner, the file
//! in which a person would change it.

use std::path::{Path, PathBuf};

use crate::gateway::compaction::{CompactionSettings, RESERVE_FLOOR, gateway_compaction_under};
use crate::gateway::config::GatewayConfig;
use crate::gateway::history_limit::{HistoryLimit, history_limit_under};
use crate::gateway::pi_settings::PiSettings;
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::{Aggregate, Guard, Reserve, Rules, Ruleset};
use crate::gateway::setting_value::Control;
use crate::js;
use crate::js::Value;
use crate::policy::clear_tool_uses::{ClearSettings, ClearedBy};
use crate::policy::policy_set::Policy;
use crate::policy::settings::pruning::{prune_settings, write_pruning};
use crate::policy::settings::setting::{SettingId, SettingRow, SettingSpec, Source};
use crate::policy::settings::table::SETTINGS;
use crate::policy::settings::{PolicySettings, ReduceSettings, TruncateSettings};
use crate::units::{Chars, Tokens};

/// A setting with the policy and the program that read it.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySetting {
    pub policy: Policy,
    pub owner: SettingOwner,
    pub setting: SettingRow,
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
    pub fn key(&self) -> &'static str {
        self.setting.key()
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
    pub window: Tokens,
    /// Initial parameters of clearing.
    pub clear: &'a ClearSettings,
}

/// Returns the rows of all policies, in the order of [`SettingId`]: by policy.
pub fn policy_settings(source: &SettingSources<'_>) -> Vec<PolicySetting> {
    let SettingSources { config, ruleset, runtime, window, .. } = *source;
    let limits = ResultLimits::of(config, ruleset.rules(), source.session_key, window);
    let mut built_in = PolicySettings {
        clear: source.clear.clone(),
        reduce: limits.reduce,
        ..PolicySettings::built_in(ruleset, window)
    };
    let pruning = prune_settings(config, ruleset);
    let compaction = compaction_settings(config, ruleset, runtime, window);
    let row = |setting: &SettingSpec| {
        let policy = setting.policy?;
        let known = |rows: &[SettingRow]| rows.iter().find(|row| row.id == setting.id).cloned();
        let gateway = SettingOwner::Gateway(setting.config_path().unwrap_or_default());
        let (owner, row) = match setting.source {
            Source::Pruning => (gateway, known(&pruning)?),
            Source::Compaction => (gateway, known(&compaction)?),
            Source::HistoryLimit => history_limit_setting(setting, source),
            Source::ResultChars => (gateway, result_chars_setting(setting, source)),
            Source::MidTurn => (gateway, mid_turn_setting(setting, source)),
            Source::BuiltIn => (SettingOwner::BuiltIn, own_setting(setting, policy, &mut built_in)),
            Source::Client => (
                clearing_owner(setting, built_in.clear.cleared_by),
                own_setting(setting, policy, &mut built_in),
            ),
            Source::Preview => (SettingOwner::Preview, own_setting(setting, policy, &mut built_in)),
            Source::Session(_) => return None,
        };
        Some(PolicySetting { policy, owner, setting: row })
    };
    SETTINGS.iter().filter_map(row).collect()
}

/// Makes pi the owner of the compaction settings, because its own files hold them. `model` is `provider/id` if single
/// models may have their own.
pub fn assign_to_pi(rows: &mut [PolicySetting], settings: &PiSettings, model: Option<&str>) {
    let agent_dir = settings.global().parent().map(Path::to_path_buf).unwrap_or_default();
    let compaction_keys = [SettingId::ReserveTokens, SettingId::KeepRecentTokens];
    for row in rows.iter_mut().filter(|row| compaction_keys.contains(&row.setting.id)) {
        let own = settings.token_setting(row.setting.name(), model);
        row.owner = SettingOwner::Runtime { agent_dir: agent_dir.clone(), file: own.file, path: own.path };
        row.setting.control = row.setting.id.spec().control;
        row.setting.config = own.raw_value;
        row.setting.provenance = own.provenance;
        row.setting.value = own.value.into();
    }
}

/// Returns the row of a setting that the gateway's configuration does not have.
fn own_setting(setting: &SettingSpec, policy: Policy, built_in: &mut PolicySettings) -> SettingRow {
    let value = setting.field.read(built_in);
    let missing = unsupported_reason(built_in.ruleset, policy, setting.id);
    let control = setting.control;
    SettingRow {
        id: setting.id,
        control: missing.map_or(control, |why| Control::Fixed { unit: control.unit(), why }),
        default: value.clone(),
        config: None,
        value,
        provenance: missing.map_or(Provenance::Default, Provenance::Fixed),
    }
}

/// The server chooses its own text for a cleared result (pruning 7.14).
fn clearing_owner(setting: &SettingSpec, cleared_by: ClearedBy) -> SettingOwner {
    match (cleared_by == ClearedBy::Client, setting.id) {
        (true, _) => SettingOwner::Client,
        (false, SettingId::ClearPlaceholder) => SettingOwner::Preview,
        (false, _) => SettingOwner::Server,
    }
}

/// Returns the reason why a version does not have a built-in value; `None` if it has it.
fn unsupported_reason(ruleset: Ruleset, policy: Policy, id: SettingId) -> Option<&'static str> {
    let rules = ruleset.rules();
    match policy {
        Policy::Guard => match rules.guard {
            Guard::None => Some("this runtime has no guard"),
            Guard::SingleThenStop | Guard::Single if id == SettingId::GuardBudgetShare => {
                Some("no total budget since 2026.4.8")
            }
            _ => None,
        },
        Policy::Truncate if !policy.is_supported_by(rules) => Some("added in 2026.2.12"),
        Policy::Truncate if id == SettingId::TruncateMaxChars && rules.result_limit.is_configured() => {
            Some("contextLimits.toolResultMaxChars")
        }
        Policy::Reduce if rules.aggregate == Aggregate::Weighted => Some("part of truncation since 2026.8.1"),
        Policy::Reduce if id == SettingId::ReduceKeepSent && rules.aggregate == Aggregate::Elided => {
            Some("went with 2026.7.1")
        }
        Policy::Reduce if id == SettingId::ReduceKeepSent && rules.aggregate != Aggregate::Emptied => {
            Some("added in 2026.6.11")
        }
        Policy::Reduce | Policy::Check if !policy.is_supported_by(rules) => Some("added in 2026.4.8"),
        Policy::Truncate
        | Policy::Reduce
        | Policy::Check
        | Policy::Compact
        | Policy::Repair
        | Policy::History
        | Policy::Images
        | Policy::Prune
        | Policy::Clear => None,
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
    pub fn of(config: &GatewayConfig, rules: &Rules, session_key: &str, window: Tokens) -> Self {
        let mut truncate = TruncateSettings::built_in(rules, window);
        if let Some(chars) = configured_result_chars(config, rules, session_key) {
            truncate.max_chars = chars;
        }
        Self { truncate, reduce: ReduceSettings::built_in(rules, window, &truncate) }
    }
}

/// Returns the configured limit of one result, of the agent or the default; `None` if the version does not read it.
fn configured_result_chars(config: &GatewayConfig, rules: &Rules, session_key: &str) -> Option<Chars> {
    let written = written_result_chars(config, session_key).filter(|_| rules.result_limit.is_configured());
    written?.as_f64().filter(|chars| *chars >= 1.0).map(|chars| Chars(chars.floor()))
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
fn result_chars_setting(setting: &SettingSpec, source: &SettingSources<'_>) -> SettingRow {
    let rules = source.ruleset.rules();
    let configured = rules.result_limit.is_configured();
    let [limits, key] = RESULT_CHARS_PATH;
    let built_in = TruncateSettings::built_in(rules, source.window).max_chars;
    let path = ["agents", "defaults", limits, key];
    let usable = configured_result_chars(source.config, rules, source.session_key);
    let provenance = if usable.is_some() { source.config.provenance(&path) } else { Provenance::Default };
    let control = setting.control;
    let why = if source.ruleset >= Ruleset::V2026_8_1 { "removed in 2026.8.1" } else { "added in 2026.4.15" };
    SettingRow {
        id: setting.id,
        control: if configured { control } else { Control::Fixed { unit: control.unit(), why } },
        default: built_in.into(),
        config: written_result_chars(source.config, source.session_key).cloned(),
        value: usable.unwrap_or(built_in).into(),
        provenance: if configured { provenance } else { Provenance::Fixed(why) },
    }
}

const RESULT_CHARS_PATH: [&str; 2] = ["contextLimits", "toolResultMaxChars"];

/// (releases R43)
fn mid_turn_setting(setting: &SettingSpec, source: &SettingSources<'_>) -> SettingRow {
    let path = ["agents", "defaults", "compaction", "midTurnPrecheck", "enabled"];
    let read = source.ruleset.rules().mid_turn_check;
    let config = source.config.value(&path).cloned();
    let value = Value::Bool(config.as_ref().and_then(Value::as_bool).unwrap_or(false) && read);
    let why = "added in 2026.5.2";
    SettingRow {
        id: setting.id,
        control: if read { setting.control } else { Control::Fixed { unit: None, why } },
        default: Value::Bool(false),
        config,
        value,
        provenance: if read { source.config.provenance(&path) } else { Provenance::Fixed(why) },
    }
}

/// Builds the row of the session's turn limit (pruning 2.3). Without a limit, its owner is the path where one would be
/// set.
fn history_limit_setting(setting: &SettingSpec, source: &SettingSources<'_>) -> (SettingOwner, SettingRow) {
    let limit = history_limit_under(source.ruleset.rules(), source.session_key, &source.config.js_root);
    let place = limit.as_ref().map(|limit| limit.setting.clone());
    let path: Vec<&str> = place.iter().flat_map(|place| place.split('.')).collect();
    let provenance = if place.is_some() { source.config.provenance(&path) } else { Provenance::Default };
    let value = limit.as_ref().map_or(0.0, HistoryLimit::turns).max(0.0);
    let row = SettingRow {
        id: setting.id,
        control: setting.control,
        default: 0.0.into(),
        config: limit.map(|limit| limit.value),
        value: value.into(),
        provenance,
    };
    let place = place.or_else(|| default_path(source.session_key));
    (place.map_or(SettingOwner::Preview, SettingOwner::Gateway), row)
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
    // Compaction and pruning compute with built-in values; for other policies a fixed row means that the version has no
    // such setting.
    let is_fixed = |row: &PolicySetting| row.setting.control.fixed_reason().is_some();
    let counts =
        |row: &PolicySetting| !is_fixed(row) || matches!(row.policy, Policy::Compact | Policy::Prune);
    let values = rows.iter().zip(values).filter(|(row, _)| counts(row));
    let values = values.map(|(row, value)| (row.setting.id.spec(), value, is_fixed(row)));
    let is_pruning = |setting: &SettingSpec| setting.source == Source::Pruning;
    let mut floor = 0.0;
    for (setting, value, is_fixed) in values.clone().filter(|(setting, ..)| !is_pruning(setting)) {
        setting.field.write(&mut settings, value);
        // The reserve already includes a built-in floor.
        if setting.id == SettingId::ReserveTokensFloor && !is_fixed {
            floor = value.as_f64().unwrap_or(0.0);
            let was = rows
                .iter()
                .find(|row| row.setting.id == setting.id)
                .and_then(|row| row.setting.value.as_f64());
            if let Some(room) = &mut settings.compaction.chat_room {
                room.free += Tokens(floor - was.unwrap_or(floor));
            }
        }
    }
    settings.compaction.reserve_tokens = settings.compaction.reserve_tokens.max(Tokens(floor));
    let pruning = values.filter(|(setting, ..)| is_pruning(setting));
    write_pruning(&mut settings, pruning.map(|(setting, value, _)| (setting, value)));
    settings
}

// The settings of compaction one by one: key, control, default, value and origin, limited to those of the version
// (compaction 2.2, 2.6; 12, row "Reserve").

/// The path of the settings object in the configuration.
const COMPACTION_PATH: [&str; 3] = ["agents", "defaults", "compaction"];

/// Lists `reserveTokens`, `reserveTokensFloor` and `keepRecentTokens` for a window in tokens. `pi` holds the settings
/// of the runtime itself. A key that the version does not read is fixed at the value that the version uses.
pub fn compaction_settings(
    config: &GatewayConfig,
    ruleset: Ruleset,
    pi: CompactionSettings,
    window: Tokens,
) -> Vec<SettingRow> {
    let rules = ruleset.rules();
    let in_force = gateway_compaction_under(rules, &config.js_root, pi, window);
    let empty = js::Value::Object(js::Object::default());
    let defaults = gateway_compaction_under(rules, &empty, pi, window);
    let floor = config.value(&path_of("reserveTokensFloor")).and_then(js::Value::as_f64);
    let floor = floor.filter(|floor| rules.reserve.reads("reserveTokensFloor") && *floor >= 0.0);
    let row = |id: SettingId, value: f64, default: f64| {
        let setting = id.spec();
        let key = setting.name();
        let own = config.value(&path_of(key)).cloned();
        let read = rules.reserve.reads(key);
        let control = if read {
            setting.control
        } else {
            Control::Fixed { unit: setting.control.unit(), why: unread_reason(ruleset, id) }
        };
        let provenance = match control.fixed_reason() {
            Some(why) => Provenance::Fixed(why),
            None => config.provenance(&path_of(key)),
        };
        SettingRow { id, control, default: default.into(), config: own, value: value.into(), provenance }
    };
    let rows = [
        row(SettingId::ReserveTokens, in_force.reserve_tokens.get(), defaults.reserve_tokens.get()),
        row(SettingId::ReserveTokensFloor, floor.map_or(RESERVE_FLOOR, f64::floor), RESERVE_FLOOR),
        row(
            SettingId::KeepRecentTokens,
            in_force.keep_recent_tokens.get(),
            defaults.keep_recent_tokens.get(),
        ),
    ];
    // pi without a gateway has no floor.
    let knows =
        |row: &SettingRow| rules.reserve != Reserve::Runtime || row.id != SettingId::ReserveTokensFloor;
    rows.into_iter().filter(knows).collect()
}

fn path_of(key: &str) -> [&str; 4] {
    let [agents, defaults, compaction] = COMPACTION_PATH;
    [agents, defaults, compaction, key]
}

/// Returns the reason for which a version does not read a key.
fn unread_reason(ruleset: Ruleset, id: SettingId) -> &'static str {
    match ruleset.rules().reserve {
        Reserve::Quarter | Reserve::CappedAlone => "built in since 2026.8.1",
        Reserve::Floor if id == SettingId::KeepRecentTokens => "a key since 2026.2.21; the runtime's own",
        Reserve::Floor => "a key since 2026.2.21",
        Reserve::Runtime | Reserve::Configured | Reserve::CappedFloor | Reserve::Capped => {
            "the runtime's own"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_that_is_built_in_does_not_lift_a_reserve_that_the_window_caps() {
        let config = GatewayConfig::empty();
        let (ruleset, runtime) = (Ruleset::V2026_9_6, CompactionSettings::default());
        let rows = policy_settings(&SettingSources {
            config: &config,
            ruleset,
            session_key: "",
            runtime,
            window: Tokens(32_000.0),
            clear: &ClearSettings::default(),
        });
        let values: Vec<Value> = rows.iter().map(|row| row.setting.value.clone()).collect();
        let settings = settings_from_values(&rows, &values, &PolicySettings::default());
        assert_eq!(settings.compaction.reserve_tokens, Tokens(8_000.0));
    }

    fn all(config: &GatewayConfig, session_key: &str) -> Vec<PolicySetting> {
        policy_settings(&SettingSources {
            config,
            ruleset: Ruleset::default(),
            session_key,
            runtime: CompactionSettings::default(),
            window: Tokens(200_000.0),
            clear: &ClearSettings::default(),
        })
    }

    #[test]
    fn every_key_occurs_once_and_policies_are_in_order() {
        let rows = all(&GatewayConfig::empty(), "agent:main:main");
        let mut keys: Vec<&str> = rows.iter().map(PolicySetting::key).collect();
        assert!(rows.iter().map(|row| row.policy).is_sorted());
        keys.sort_unstable();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn untouched_values_give_the_configured_settings() {
        let rows = all(&GatewayConfig::empty(), "agent:main:main");
        let values: Vec<Value> = rows.iter().map(|row| row.setting.value.clone()).collect();
        let mut configured = PolicySettings::default();
        configured.compaction.reserve_tokens = Tokens(20_000.0);
        configured.prune.tools = crate::js::parse(r#"{"allow":[],"deny":[]}"#).unwrap();
        assert_eq!(settings_from_values(&rows, &values, &configured), configured);
    }

    #[test]
    fn each_changed_value_reaches_its_policy() {
        let rows = all(&GatewayConfig::empty(), "agent:main:main");
        let moves = |row: &PolicySetting| {
            row.setting.id != SettingId::PruneMode && row.setting.control.fixed_reason().is_none()
        };
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
    fn rows_start_at_the_versions_built_in_values() {
        let config = GatewayConfig::empty();
        let rows = |ruleset| {
            let (runtime, window) = (CompactionSettings::default(), 128_000.0);
            policy_settings(&SettingSources {
                config: &config,
                ruleset,
                session_key: "",
                runtime,
                window: Tokens(window),
                clear: &ClearSettings::default(),
            })
        };
        let row =
            |ruleset, key: &str| rows(ruleset).into_iter().find(|row| row.key() == key).unwrap().setting;
        assert_eq!(row(Ruleset::V2026_3_2, "truncate.maxChars").value, 400_000.0.into());
        assert_eq!(row(Ruleset::V2026_9_6, "truncate.maxChars").value, 32_000.0.into());
        let fixed = |ruleset, key| row(ruleset, key).control.fixed_reason().is_some();
        assert!(
            fixed(Ruleset::V2026_9_6, "guard.budgetShare") && !fixed(Ruleset::V2026_9_6, "guard.singleShare")
        );
        assert!(
            fixed(Ruleset::Pi0_55, "guard.singleShare") && !fixed(Ruleset::V2026_2_17, "guard.budgetShare")
        );
    }

    #[test]
    fn the_assumed_summary_length_has_a_maximum() {
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
    fn a_limit_names_its_setting_even_if_unset() {
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

#[cfg(test)]
mod compaction_tests {
    use super::*;
    use crate::gateway::env::Environment;
    use std::io::Write as _;

    fn rows(ruleset: Ruleset) -> Vec<(f64, Option<&'static str>, bool)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        let text = "{ agents: { defaults: { compaction: { reserveTokens: 50000, reserveTokensFloor: 30000, keepRecentTokens: 7000 } } } }";
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let config = GatewayConfig::load(Some(&path), &Environment::default(), dir.path());
        let rows = compaction_settings(&config, ruleset, CompactionSettings::default(), Tokens(200_000.0));
        let reported = |row: &SettingRow| {
            let from_file = matches!(row.provenance, Provenance::File { .. });
            (row.value.as_f64().unwrap(), row.control.fixed_reason(), from_file)
        };
        rows.iter().map(reported).collect()
    }

    #[test]
    fn the_reference_reads_all_three() {
        assert_eq!(
            rows(Ruleset::V2026_3_2),
            [(50_000.0, None, true), (30_000.0, None, true), (7000.0, None, true)]
        );
    }

    #[test]
    fn the_newest_reads_only_the_kept_tokens() {
        let built_in = Some("built in since 2026.8.1");
        let expected = [(20_000.0, built_in, false), (20_000.0, built_in, false), (7000.0, None, true)];
        assert_eq!(rows(Ruleset::V2026_9_6), expected);
    }

    #[test]
    fn the_version_before_reads_only_the_floor() {
        let rows = rows(Ruleset::V2026_2_17);
        assert_eq!((rows[0].0, rows[0].1.is_some()), (30_000.0, true));
        assert_eq!(rows[1], (30_000.0, None, true));
        assert_eq!((rows[2].0, rows[2].1.is_some()), (20_000.0, true));
    }

    #[test]
    fn pi_has_no_reserve_floor() {
        assert_eq!(rows(Ruleset::Pi0_55).iter().map(|row| row.0).collect::<Vec<_>>(), [16_384.0, 20_000.0]);
    }
}
