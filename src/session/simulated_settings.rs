//! The settings a plan is made with: the store's configuration, changed for this one preview.

use crate::gateway::config::GatewayConfig;
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::{PRUNING_PATH, prune_settings};
use crate::gateway::pruning::{PruneSettings, effective_settings_under};
use crate::gateway::ruleset::Ruleset;
use crate::gateway::setting_value::{duration_text, insert_dotted};
use crate::gateway::window::{DEFAULT_WINDOW, WindowInfo, resolve_window};
use crate::js::{Object, Value};
use crate::policy::settings::{PolicySetting, settings_from_values};
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::replay::{Assumptions, Settings};
use crate::session::LoadedSession;
use crate::session::session_settings::{
    BOOTSTRAP_MAX_CHARS, BOOTSTRAP_TOTAL_MAX_CHARS, CONTEXT_WINDOW, tokens_saved_by_limits, window_with,
};
use crate::session::setting_change::{CONTEXT_TOKENS, PRUNING_PREFIX, SettingChange};

/// The length a summary is taken to have.
pub const SUMMARY_TOKENS: &str = "compaction.summaryTokens";

/// One setting as it is in force for a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveSetting {
    /// Key below `contextPruning`.
    pub key: &'static str,
    /// As the configuration would hold it.
    pub value: Value,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// One setting of a step that takes part, as it is in force for a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectivePolicySetting {
    /// The setting, as configured.
    pub setting: PolicySetting,
    /// In force.
    pub value: Value,
    /// Where that comes from.
    pub provenance: Provenance,
}

/// Settings and window for a preview.
#[derive(Debug, Clone)]
pub struct SimulatedSettings {
    /// The pruner's settings; the configured or built-in ones where pruning is off.
    pub prune_settings: PruneSettings,
    /// Whether pruning is on.
    pub prune_on: bool,
    /// A change switched pruning on, though the configuration has it off.
    pub prune_switched_on: bool,
    /// Every setting of the pruner, `mode` first.
    pub prune_rows: Vec<EffectiveSetting>,
    /// The steps, and the parameters of all of them.
    pub policies: PolicySettings,
    /// Every setting of the steps that take part, but for the pruner's.
    pub policy_rows: Vec<EffectivePolicySetting>,
    /// The window.
    pub window: WindowInfo,
    /// What differs from the record beside the steps.
    pub assumed: Assumptions,
    /// `contextTokens` was set, but the model takes less.
    pub window_unchanged: bool,
}

impl SimulatedSettings {
    /// The settings of a replay.
    pub fn replay_settings(&self) -> Settings {
        Settings {
            policies: self.policies.clone(),
            prune_on: self.prune_on,
            window: self.window.tokens,
            guard_window: self.window.model_tokens,
            assumptions: self.assumed,
        }
    }

    /// The summary is taken to have this many tokens.
    pub fn set_summary_tokens(&mut self, tokens: u64) {
        self.policies.summary_tokens = tokens;
        let row = self.policy_rows.iter_mut().find(|row| row.setting.key() == SUMMARY_TOKENS);
        if let Some(row) = row {
            row.value = Value::from(tokens);
        }
    }
}

/// The steps of a replay that nobody names: those of the gateway, those whose settings are changed, and compaction where
/// the window that its trigger goes by is changed.
pub fn default_replay_policies(session: &LoadedSession, changes: &[SettingChange]) -> PolicySet {
    let window = last_change(changes, CONTEXT_WINDOW).map(|_| Policy::Compact);
    let changed = changes.iter().filter_map(|change| change.policy).chain(window);
    changed.fold(session.gateway_policies(), |policies, policy| policies.with(policy, true))
}

/// Applies changes to the configuration of a session. Changing any key but `mode` switches pruning on.
pub fn simulate_settings(
    session: &LoadedSession,
    changes: &[SettingChange],
    steps: PolicySet,
) -> SimulatedSettings {
    let config = session.config.as_ref();
    let mut raw = config.value(&PRUNING_PATH).and_then(Value::as_object).cloned().unwrap_or_default();
    let ruleset = session.ruleset.id;
    let effective_settings = |raw: Option<&Value>| effective_settings_under(ruleset.rules(), raw);
    let configured_on = effective_settings(Some(&Value::Object(raw.clone()))).is_some();
    let pruning =
        || changes.iter().filter_map(|change| Some((change.key.strip_prefix(PRUNING_PREFIX)?, change)));
    for (key, change) in pruning() {
        insert_dotted(&mut raw, key, change.value.clone());
    }
    let mode_set = pruning().any(|(key, _)| key == "mode");
    let switched_on = !configured_on && !mode_set && pruning().next().is_some();
    if switched_on {
        raw.set("mode", Value::from("cache-ttl"));
    }
    let effective = effective_settings(Some(&Value::Object(raw.clone())));
    let on = effective.is_some();
    let settings = effective.unwrap_or_else(|| {
        raw.set("mode", Value::from("cache-ttl"));
        effective_settings(Some(&Value::Object(raw))).unwrap_or_default()
    });
    let window = simulated_window(config, session, changes);
    let number = |key| last_change(changes, key).and_then(|change| change.value.as_f64());
    let values: Vec<Value> = session.setting_rows.iter().map(|row| changed_value(row, changes)).collect();
    let tuned = settings_from_values(&session.setting_rows, &values, &session.configured_settings);
    SimulatedSettings {
        policies: PolicySettings { enabled: steps, prune: settings.clone(), ..tuned },
        policy_rows: policy_rows(session, &values, changes, steps),
        prune_rows: prune_rows(config, ruleset, &settings, on, changes),
        window_unchanged: last_change(changes, CONTEXT_TOKENS)
            .is_some_and(|change| change.value.as_f64() != Some(window.tokens)),
        prune_settings: settings,
        prune_on: on,
        prune_switched_on: switched_on,
        window,
        assumed: Assumptions {
            runtime_window: number(CONTEXT_WINDOW),
            fixed_reduction: tokens_saved_by_limits(
                session,
                number(BOOTSTRAP_MAX_CHARS),
                number(BOOTSTRAP_TOTAL_MAX_CHARS),
            ),
            ..Assumptions::default()
        },
    }
}

fn changed_value(row: &PolicySetting, changes: &[SettingChange]) -> Value {
    let own = row.setting.value.clone();
    last_change(changes, &row.key())
        .filter(|_| row.policy != Policy::Prune)
        .map_or(own, |change| change.value.clone())
}

fn policy_rows(
    session: &LoadedSession,
    values: &[Value],
    changes: &[SettingChange],
    policies: PolicySet,
) -> Vec<EffectivePolicySetting> {
    let shown = session.setting_rows.iter().zip(values);
    let shown = shown.filter(|(row, _)| row.policy != Policy::Prune && policies.has(row.policy));
    shown
        .map(|(row, value)| EffectivePolicySetting {
            setting: row.clone(),
            value: value.clone(),
            provenance: last_change(changes, &row.key())
                .map_or_else(|| row.setting.provenance.clone(), |change| change.origin.clone()),
        })
        .collect()
}

fn last_change<'a>(changes: &'a [SettingChange], key: &str) -> Option<&'a SettingChange> {
    changes.iter().rev().find(|change| change.key == key)
}

/// The gateway's own rule with `contextTokens` in the configuration: it only ever lowers the window (compaction 7.1).
fn simulated_window(config: &GatewayConfig, loaded: &LoadedSession, changes: &[SettingChange]) -> WindowInfo {
    let own = last_change(changes, CONTEXT_WINDOW).and_then(|change| change.value.as_f64());
    let before = own.map_or(loaded.window, |own| window_with(loaded, own));
    let Some(change) = last_change(changes, CONTEXT_TOKENS) else { return before };
    let mut root = config.js_root.as_object().cloned().unwrap_or_default();
    insert_dotted(&mut root, "agents.defaults.contextTokens", change.value.clone());
    let LoadedSession { provider, model, item: session, .. } = loaded;
    if own.is_some() {
        let lowered = change.value.as_f64().map_or(before.tokens, |cap| before.tokens.min(cap));
        return WindowInfo { tokens: lowered, ..before };
    }
    let known = config.known_window(&session.agent, provider, model);
    resolve_window(Some(&Value::Object(root)), provider, model, known, DEFAULT_WINDOW)
}

/// The settings of a configuration, with the origin of each.
pub fn effective_setting_rows(config: &GatewayConfig, ruleset: Ruleset) -> Vec<EffectiveSetting> {
    let effective = effective_settings_under(ruleset.rules(), config.value(&PRUNING_PATH));
    let on = effective.is_some();
    let mut rows = prune_rows(config, ruleset, &effective.unwrap_or_default(), on, &[]);
    if !on {
        // A key of a switched-off pruner is in the configuration, but not in force.
        let set = rows.iter_mut().skip(1).filter(|row| !matches!(row.provenance, Provenance::Fixed(_)));
        set.for_each(|row| row.provenance = Provenance::Default);
    }
    rows
}

fn prune_rows(
    config: &GatewayConfig,
    ruleset: Ruleset,
    settings: &PruneSettings,
    on: bool,
    changes: &[SettingChange],
) -> Vec<EffectiveSetting> {
    let values = settings_json(settings, on);
    let configured = prune_settings(config, ruleset);
    configured
        .into_iter()
        .map(|row| {
            let own = last_change(changes, &format!("{PRUNING_PREFIX}{}", row.key));
            let path: Vec<&str> = PRUNING_PATH.into_iter().chain(row.key.split('.')).collect();
            let value = row.key.split('.').try_fold(&values, |value, key| value.get(key)).cloned();
            let moved = row.key == "mode" && on != (row.value.as_bool() == Some(true));
            let provenance = match own {
                Some(change) => change.origin.clone(),
                None if moved => Provenance::Flag,
                None if row.control.fixed_reason().is_some() => row.provenance,
                None if row.config.is_some() => config.provenance(&path),
                None => Provenance::Default,
            };
            EffectiveSetting { key: row.key, value: value.unwrap_or(Value::Null), provenance }
        })
        .collect()
}

/// The settings as the configuration would hold them, with every key.
pub fn settings_json(settings: &PruneSettings, on: bool) -> Value {
    let list = |key| settings.tools.get(key).filter(|list| list.as_array().is_some()).cloned();
    let list = |key| list(key).unwrap_or_else(|| Value::Array(Vec::new()));
    let tools = Object::from([("allow", list("allow")), ("deny", list("deny"))]);
    let mut object = Object::from([
        ("mode", Value::from(if on { "cache-ttl" } else { "off" })),
        ("ttl", Value::from(duration_text(settings.ttl_ms))),
    ]);
    for (key, value) in settings.to_object() {
        object.insert(key, value);
    }
    object.set("tools", Value::from(tools));
    Value::from(object)
}
