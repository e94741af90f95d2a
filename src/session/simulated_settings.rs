//! Computes the settings of a plan: the store's configuration with changes for this preview only.

use crate::format::format_number;
use crate::gateway::compaction::{CompactionSettings, gateway_compaction_under};
use crate::gateway::config::GatewayConfig;
use crate::gateway::pruning::{PruneSettings, effective_settings_under};
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::{ChatPreflight, Reserve, Ruleset};
use crate::gateway::setting_value::{PRUNING_PATH, duration_text, insert_dotted};
use crate::gateway::window::{WindowInfo, whole_positive};
use crate::js::{Object, Value};
use crate::policy::settings::{PolicySetting, SettingId, Source, prune_settings, settings_from_values};
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::replay::{Assumptions, MaxTokens, ModelAssumption, Settings};
use crate::session::LoadedSession;
use crate::session::failing_model::ModelNames;
use crate::session::session_settings::{tokens_saved_by_limits, window_with};
use crate::session::setting_change::SettingChange;
use crate::units::{Chars, Tokens};

/// A setting of the pruner with its value in a preview.
/// The path of the compaction settings in the gateway's configuration.
const COMPACTION_PATH: [&str; 3] = ["agents", "defaults", "compaction"];

#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveSetting {
    /// Key below `contextPruning`.
    pub key: &'static str,
    /// In the form that the configuration holds.
    pub value: Value,
    pub provenance: Provenance,
}

/// A setting of an enabled policy with its value in a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectivePolicySetting {
    /// The configured setting.
    pub setting: PolicySetting,
    /// The value in force.
    pub value: Value,
    /// The source of the value in force.
    pub provenance: Provenance,
}

/// Settings and window for a preview.
#[derive(Debug, Clone)]
pub struct SimulatedSettings {
    /// The pruner's settings; if pruning is off, the values it would have when switched on.
    pub prune_settings: PruneSettings,
    pub prune_on: bool,
    /// Whether a change switched pruning on although the configuration has it off.
    pub prune_switched_on: bool,
    /// Every setting of the pruner, `mode` first.
    pub prune_rows: Vec<EffectiveSetting>,
    /// The enabled policies, and the parameters of all policies.
    pub policies: PolicySettings,
    /// Every setting of the enabled policies except the pruner's.
    pub policy_rows: Vec<EffectivePolicySetting>,
    pub window: WindowInfo,
    /// Differences from the record that no policy makes.
    pub assumed: Assumptions,
    /// Whether `contextTokens` was set, but the window is not that value.
    pub window_unchanged: bool,
    /// Why the gateway would run no call.
    pub refused_window: Option<String>,
}

impl SimulatedSettings {
    pub fn replay_settings(&self) -> Settings {
        Settings {
            policies: self.policies.clone(),
            prune_on: self.prune_on,
            window: self.window.tokens,
            guard_window: self.window.model_tokens,
            assumptions: self.assumed.clone(),
        }
    }

    /// Warns of settings with which no call is made, or that have no effect.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.refused_window.clone().into_iter().chain(self.trigger_warning())
    }

    /// Warns of a trigger of clearing that no prompt reaches before it overflows.
    fn trigger_warning(&self) -> Option<String> {
        let (trigger, window) = (self.policies.clear.trigger, self.window.tokens);
        (self.policies.enabled.has(Policy::Clear) && window > Tokens::ZERO && trigger > window.get()).then(|| {
            format!(
                "clearToolUses.trigger {} is above the window of {} tokens, so nothing is cleared before a call overflows; \
                 70% to 80% of the window leaves room",
                format_number(trigger as u64),
                format_number(window.whole())
            )
        })
    }

    /// Sets the assumed length of a summary, in tokens.
    pub fn set_summary_tokens(&mut self, tokens: u64) {
        self.policies.summary_tokens = tokens;
        let row = self.policy_rows.iter_mut().find(|row| row.setting.setting.id == SettingId::SummaryTokens);
        if let Some(row) = row {
            row.value = Value::from(tokens);
        }
    }
}

/// Returns the policies of a replay when a person names none: the gateway's, those with changed settings, and
/// compaction if the window of its trigger changes, or the room for replies: a compaction that followed a refusal is gone
/// with it.
pub fn default_replay_policies(session: &LoadedSession, changes: &[SettingChange]) -> PolicySet {
    let of_model = changes.iter().filter(|change| change.id.spec().is_of_model()).map(|_| Policy::Compact);
    let changed = changes.iter().filter_map(SettingChange::policy).chain(of_model);
    changed.fold(session.gateway_policies(), |policies, policy| policies.with(policy, true))
}

/// Returns the policies that a replay leaves out: the counts contradict them, and no change concerns them.
pub fn left_out_policies(contradicted: PolicySet, changes: &[SettingChange]) -> PolicySet {
    let changed: Vec<Policy> = changes.iter().filter_map(SettingChange::policy).collect();
    contradicted.without(PolicySet::of(&changed))
}

/// Applies changes to a session's configuration. A change to any pruning key but `mode` switches pruning on.
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
    let pruning = || changes.iter().filter(|change| change.id.spec().source == Source::Pruning);
    for change in pruning() {
        insert_dotted(&mut raw, change.id.spec().name(), change.value.clone());
    }
    let mode_set = pruning().any(|change| change.id == SettingId::PruneMode);
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
    let window = simulated_window(session, changes);
    let refused_window = session.describe_refused_window(changes);
    let number = |id| last_change(changes, id).and_then(|change| change.value.as_f64());
    let values: Vec<Value> =
        session.setting_rows.iter().map(|row| changed_value(row, changes, window.tokens)).collect();
    let mut tuned = settings_from_values(&session.setting_rows, &values, &session.configured_settings);
    if let Some(reserve) = simulated_reserve(session, changes, window.tokens) {
        tuned.compaction.reserve_tokens = reserve;
        let is_reserve = ruleset.rules().chat_preflight == ChatPreflight::WithinReserve;
        if let Some(room) = tuned.compaction.chat_room.as_mut().filter(|_| is_reserve) {
            room.free = reserve;
        }
    }
    SimulatedSettings {
        policies: PolicySettings { enabled: steps, prune: settings.clone(), ..tuned },
        policy_rows: policy_rows(session, &values, changes, steps),
        prune_rows: prune_rows(config, ruleset, &settings, on, changes),
        window_unchanged: last_change(changes, SettingId::ContextTokens)
            .is_some_and(|change| change.value.as_f64() != Some(window.tokens.get())),
        prune_settings: settings,
        prune_on: on,
        prune_switched_on: switched_on,
        window,
        assumed: Assumptions {
            runtime_window: own_window(session, changes).map(Tokens),
            models: model_assumptions(session, changes),
            fixed_reduction: tokens_saved_by_limits(
                session,
                number(SettingId::BootstrapMaxChars).map(Chars),
                number(SettingId::BootstrapTotalMaxChars).map(Chars),
            )
            .get(),
            is_window_refused: refused_window.is_some(),
            ..Assumptions::default()
        },
        refused_window,
    }
}

/// Returns the reserve where changes move it, in tokens. A gateway resolves it with the window, which caps it (compaction
/// 2.2; releases R61); pi takes its setting as it is.
fn simulated_reserve(session: &LoadedSession, changes: &[SettingChange], window: Tokens) -> Option<Tokens> {
    let rules = session.ruleset.id.rules();
    let last = |id: &SettingId| last_change(changes, *id);
    let windows = [SettingId::ContextWindow, SettingId::ContextTokens];
    let keys = [SettingId::ReserveTokens, SettingId::ReserveTokensFloor];
    let is_moved = windows.iter().chain(&keys).any(|id| last(id).is_some());
    if !is_moved || rules.reserve == Reserve::Runtime {
        return None;
    }
    let own = session.config.value(&COMPACTION_PATH).and_then(Value::as_object);
    let mut compaction = own.cloned().unwrap_or_default();
    for change in keys.iter().filter_map(last) {
        compaction.set(change.id.spec().name(), change.value.clone());
    }
    let below = |key: &str, value: Object| {
        let mut object = Object::default();
        object.set(key, Value::Object(value));
        object
    };
    let root = below("agents", below("defaults", below("compaction", compaction)));
    let runtime = CompactionSettings::default();
    Some(gateway_compaction_under(rules, &Value::Object(root), runtime, window).reserve_tokens)
}

fn changed_value(row: &PolicySetting, changes: &[SettingChange], window: Tokens) -> Value {
    let own = row.setting.value.clone();
    last_change(changes, row.setting.id)
        .filter(|_| row.policy != Policy::Prune)
        .map_or(own, |change| change.value_in(window))
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
            provenance: last_change(changes, row.setting.id)
                .map_or_else(|| row.setting.provenance.clone(), |change| change.origin.clone()),
        })
        .collect()
}

fn last_change(changes: &[SettingChange], id: SettingId) -> Option<&SettingChange> {
    changes.iter().rev().find(|change| change.id == id)
}

/// Returns the changed window of the session's model.
fn own_window(session: &LoadedSession, changes: &[SettingChange]) -> Option<f64> {
    let is_own = |change: &&SettingChange| {
        change.id == SettingId::ContextWindow && session.is_own_model(&session.model_of_change(change))
    };
    changes.iter().rev().find(is_own)?.value.as_f64()
}

/// Returns the changed settings of models: the reply's reservation of any, and the windows of models other than the
/// session's.
fn model_assumptions(session: &LoadedSession, changes: &[SettingChange]) -> Vec<ModelAssumption> {
    let mut models: Vec<ModelAssumption> = Vec::new();
    for change in changes.iter().filter(|change| change.id.spec().is_of_model()) {
        let names = session.model_of_change(change);
        let (Some(model), Some(tokens)) = (session.called_model(&names), change.value.as_f64().map(Tokens))
        else {
            continue;
        };
        let at = models.iter().position(|known| known.model == model).unwrap_or_else(|| {
            let max_tokens = session.reply_change(&names, changes);
            models.push(ModelAssumption { model, window: None, max_tokens });
            models.len() - 1
        });
        if change.id == SettingId::ContextWindow && !session.is_own_model(&names) {
            models[at].window = Some(tokens);
        }
    }
    models
}

impl LoadedSession {
    /// Returns how changes move what a model's calls reserve for the reply; `None` if they do not. The gateway caps the
    /// configured value by the window (compaction 7.4).
    pub fn reply_change(&self, names: &ModelNames, changes: &[SettingChange]) -> Option<MaxTokens> {
        let last = |id: SettingId| {
            let is_it = |change: &&SettingChange| change.id == id && self.model_of_change(change) == *names;
            changes.iter().rev().find(is_it)?.value.as_f64().map(Tokens)
        };
        let from = self.max_tokens(names);
        let configured = last(SettingId::MaxTokens).or(from)?;
        let cap = last(SettingId::ContextWindow).filter(|_| !self.ruleset.id.is_pi());
        let to = cap.map_or(configured, |window| configured.min(window));
        (from != Some(to)).then_some(MaxTokens { from, to })
    }
}

/// Resolves the window as the gateway does with `contextTokens` in its configuration: the key only lowers the window
/// (compaction 7.1).
fn simulated_window(loaded: &LoadedSession, changes: &[SettingChange]) -> WindowInfo {
    let before = own_window(loaded, changes).map_or(loaded.window, |own| window_with(loaded, own));
    let Some(change) = last_change(changes, SettingId::ContextTokens) else { return before };
    let cap = change.value.as_f64().map(Tokens).and_then(whole_positive);
    WindowInfo::of_model(before.model_tokens, before.model_source).capped(cap)
}

/// Returns the settings of a configuration, each with its provenance.
pub fn effective_setting_rows(config: &GatewayConfig, ruleset: Ruleset) -> Vec<EffectiveSetting> {
    let effective = effective_settings_under(ruleset.rules(), config.value(&PRUNING_PATH));
    let on = effective.is_some();
    let mut rows = prune_rows(config, ruleset, &effective.unwrap_or_default(), on, &[]);
    if !on {
        // A switched-off pruner ignores its keys in the configuration.
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
            let own = last_change(changes, row.id);
            let path: Vec<&str> = PRUNING_PATH.into_iter().chain(row.name().split('.')).collect();
            let value = row.name().split('.').try_fold(&values, |value, key| value.get(key)).cloned();
            let moved = row.id == SettingId::PruneMode && on != (row.value.as_bool() == Some(true));
            let provenance = match own {
                Some(change) => change.origin.clone(),
                None if moved => Provenance::Flag,
                // A pruner that is off ignores its keys; switched on in a preview, it takes them.
                None if row.provenance == Provenance::Default && row.config.is_some() => {
                    config.provenance(&path)
                }
                None => row.provenance,
            };
            EffectiveSetting { key: row.id.spec().name(), value: value.unwrap_or(Value::Null), provenance }
        })
        .collect()
}

/// Returns the settings in the form of the configuration, with every key.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::js;
    use crate::policy::PolicySet;
    use crate::session::setting_change::parse_change;
    use crate::session::testing::loaded_session;

    /// A session of a model with a window and a `maxTokens` of 32,000 tokens.
    fn session(ruleset: Ruleset) -> LoadedSession {
        let config = r#"{"models":{"providers":{"anthropic":{"models":[{"id":"claude-opus-4-6","contextWindow":32000,"maxTokens":24000}]}}}}"#;
        let mut own = GatewayConfig::empty();
        own.js_root = js::parse(config).unwrap();
        let mut session = LoadedSession { config: Arc::new(own), ..loaded_session("", 32_000.0) };
        session.ruleset.id = ruleset;
        session
    }

    fn changes(texts: &[&str]) -> Vec<SettingChange> {
        texts.iter().map(|text| parse_change("--set", text).unwrap()).collect()
    }

    #[test]
    fn the_window_caps_what_calls_reserve_for_the_reply() {
        let to = |ruleset, texts: &[&str]| {
            let session = session(ruleset);
            session.reply_change(&session.failing_model(), &changes(texts)).map(|change| change.to.get())
        };
        assert_eq!(to(Ruleset::V2026_3_2, &["contextWindow=16000"]), Some(16_000.0));
        assert_eq!(to(Ruleset::V2026_3_2, &["contextWindow=16000", "maxTokens=9000"]), Some(9_000.0));
        assert_eq!(to(Ruleset::V2026_3_2, &["contextWindow=30000"]), None, "it is below the window already");
        assert_eq!(to(Ruleset::Pi0_55, &["contextWindow=16000"]), None, "pi takes its setting as it is");
    }

    #[test]
    fn the_reserve_follows_the_window() {
        let reserve = |ruleset, texts: &[&str]| {
            let simulated = simulate_settings(&session(ruleset), &changes(texts), PolicySet::NONE);
            simulated.policies.compaction.reserve_tokens.get()
        };
        assert_eq!(reserve(Ruleset::V2026_9_6, &["contextWindow=10514"]), 2_628.0, "a quarter");
        assert_eq!(reserve(Ruleset::V2026_9_6, &["contextTokens=10000"]), 2_500.0);
        let capped = ["contextWindow=10000", "compaction.reserveTokens=9000"];
        assert_eq!(reserve(Ruleset::V2026_7_1, &capped), 5_000.0, "half of the window is for the prompt");
        assert_eq!(reserve(Ruleset::V2026_3_2, &capped), 20_000.0, "the floor");
    }
}
