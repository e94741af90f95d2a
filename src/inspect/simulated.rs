//! The settings a plan is made with: the store's configuration, changed for this one preview.

use crate::gateway::config::GatewayConfig;
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::{PRUNING_PATH, prune_settings};
use crate::gateway::pruning::{PruneSettings, effective_settings_under};
use crate::gateway::ruleset::Ruleset;
use crate::gateway::setting_value::{duration_text, insert};
use crate::gateway::window::{DEFAULT_WINDOW, WindowInfo, resolve_window};
use crate::inspect::Inspection;
use crate::inspect::change::{CONTEXT_TOKENS, Change, PRUNING};
use crate::inspect::session_settings::{
    BOOTSTRAP_MAX_CHARS, BOOTSTRAP_TOTAL_MAX_CHARS, CONTEXT_WINDOW, fixed_less, window_of,
};
use crate::js::{Object, Value};
use crate::policy::settings::{StepSetting, settings_of};
use crate::policy::{Step, StepSet, StepSettings};
use crate::replay::{Assumed, Settings};

/// The length a summary is taken to have.
pub const SUMMARY_TOKENS: &str = "compaction.summaryTokens";

/// One setting as it is in force for a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct InForce {
    /// Key below `contextPruning`.
    pub key: &'static str,
    /// As the configuration would hold it.
    pub value: Value,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// One setting of a step that takes part, as it is in force for a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct StepInForce {
    /// The setting, as configured.
    pub setting: StepSetting,
    /// In force.
    pub value: Value,
    /// Where that comes from.
    pub provenance: Provenance,
}

/// Settings and window for a preview.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// The pruner's settings; the configured or built-in ones where pruning is off.
    pub settings: PruneSettings,
    /// Whether pruning is on.
    pub on: bool,
    /// A change switched pruning on, though the configuration has it off.
    pub switched_on: bool,
    /// Every setting of the pruner, `mode` first.
    pub rows: Vec<InForce>,
    /// The steps, and the parameters of all of them.
    pub steps: StepSettings,
    /// Every setting of the steps that take part, but for the pruner's.
    pub step_rows: Vec<StepInForce>,
    /// The window.
    pub window: WindowInfo,
    /// What differs from the record beside the steps.
    pub assumed: Assumed,
    /// `contextTokens` was set, but the model takes less.
    pub window_unmoved: bool,
}

impl Simulated {
    /// The settings of a replay.
    pub fn replayed(&self) -> Settings {
        Settings {
            steps: self.steps.clone(),
            prune_on: self.on,
            window: self.window.tokens,
            guard_window: self.window.own,
            assumed: self.assumed,
        }
    }

    /// The summary is taken to have this many tokens.
    pub fn set_summary_tokens(&mut self, tokens: u64) {
        self.steps.summary_tokens = tokens;
        let row = self.step_rows.iter_mut().find(|row| row.setting.key() == SUMMARY_TOKENS);
        if let Some(row) = row {
            row.value = Value::from(tokens);
        }
    }
}

/// The steps of a replay that nobody names: those of the gateway, those whose settings are changed, and compaction where
/// the window that its trigger goes by is changed.
pub fn replayed_steps(inspection: &Inspection, changes: &[Change]) -> StepSet {
    let window = last(changes, CONTEXT_WINDOW).map(|_| Step::Compact);
    let changed = changes.iter().filter_map(|change| change.step).chain(window);
    changed.fold(inspection.gateway_steps(), |steps, step| steps.with(step, true))
}

/// Applies changes to the configuration of a session. Changing any key but `mode` switches pruning on.
pub fn simulated(inspection: &Inspection, changes: &[Change], steps: StepSet) -> Simulated {
    let config = inspection.config.as_ref();
    let mut raw = config.value(&PRUNING_PATH).and_then(Value::as_object).cloned().unwrap_or_default();
    let ruleset = inspection.ruleset.ruleset;
    let effective_settings = |raw: Option<&Value>| effective_settings_under(ruleset.rules(), raw);
    let configured_on = effective_settings(Some(&Value::Object(raw.clone()))).is_some();
    let pruning = || changes.iter().filter_map(|change| Some((change.key.strip_prefix(PRUNING)?, change)));
    for (key, change) in pruning() {
        insert(&mut raw, key, change.value.clone());
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
    let window = window(config, inspection, changes);
    let number = |key| last(changes, key).and_then(|change| change.value.as_f64());
    let values: Vec<Value> = inspection.settings.iter().map(|row| value_of(row, changes)).collect();
    let tuned = settings_of(&inspection.settings, &values, &inspection.configured);
    Simulated {
        steps: StepSettings { steps, prune: settings.clone(), ..tuned },
        step_rows: step_rows(inspection, &values, changes, steps),
        rows: rows(config, ruleset, &settings, on, changes),
        window_unmoved: last(changes, CONTEXT_TOKENS)
            .is_some_and(|change| change.value.as_f64() != Some(window.tokens)),
        settings,
        on,
        switched_on,
        window,
        assumed: Assumed {
            runtime_window: number(CONTEXT_WINDOW),
            fixed_less: fixed_less(
                inspection,
                number(BOOTSTRAP_MAX_CHARS),
                number(BOOTSTRAP_TOTAL_MAX_CHARS),
            ),
            ..Assumed::default()
        },
    }
}

fn value_of(row: &StepSetting, changes: &[Change]) -> Value {
    let own = row.row.value.clone();
    last(changes, &row.key()).filter(|_| row.step != Step::Prune).map_or(own, |change| change.value.clone())
}

fn step_rows(
    inspection: &Inspection,
    values: &[Value],
    changes: &[Change],
    steps: StepSet,
) -> Vec<StepInForce> {
    let shown = inspection.settings.iter().zip(values);
    let shown = shown.filter(|(row, _)| row.step != Step::Prune && steps.has(row.step));
    shown
        .map(|(row, value)| StepInForce {
            setting: row.clone(),
            value: value.clone(),
            provenance: last(changes, &row.key())
                .map_or_else(|| row.row.provenance.clone(), |change| change.origin.clone()),
        })
        .collect()
}

fn last<'a>(changes: &'a [Change], key: &str) -> Option<&'a Change> {
    changes.iter().rev().find(|change| change.key == key)
}

/// The gateway's own rule with `contextTokens` in the configuration: it only ever lowers the window (compaction 7.1).
fn window(config: &GatewayConfig, inspection: &Inspection, changes: &[Change]) -> WindowInfo {
    let own = last(changes, CONTEXT_WINDOW).and_then(|change| change.value.as_f64());
    let before = own.map_or(inspection.window, |own| window_of(inspection, own));
    let Some(change) = last(changes, CONTEXT_TOKENS) else { return before };
    let mut root = config.js.as_object().cloned().unwrap_or_default();
    insert(&mut root, "agents.defaults.contextTokens", change.value.clone());
    let Inspection { provider, model, session, .. } = inspection;
    if own.is_some() {
        let lowered = change.value.as_f64().map_or(before.tokens, |cap| before.tokens.min(cap));
        return WindowInfo { tokens: lowered, ..before };
    }
    let known = config.known_window(&session.agent, provider, model);
    resolve_window(Some(&Value::Object(root)), provider, model, known, DEFAULT_WINDOW)
}

/// The settings of a configuration, with the origin of each.
pub fn in_force(config: &GatewayConfig, ruleset: Ruleset) -> Vec<InForce> {
    let effective = effective_settings_under(ruleset.rules(), config.value(&PRUNING_PATH));
    let on = effective.is_some();
    let mut rows = rows(config, ruleset, &effective.unwrap_or_default(), on, &[]);
    if !on {
        // A key of a switched-off pruner is in the configuration, but not in force.
        let set = rows.iter_mut().skip(1).filter(|row| !matches!(row.provenance, Provenance::Fixed(_)));
        set.for_each(|row| row.provenance = Provenance::Default);
    }
    rows
}

fn rows(
    config: &GatewayConfig,
    ruleset: Ruleset,
    settings: &PruneSettings,
    on: bool,
    changes: &[Change],
) -> Vec<InForce> {
    let values = settings_value(settings, on);
    let configured = prune_settings(config, ruleset);
    configured
        .into_iter()
        .map(|row| {
            let own = last(changes, &format!("{PRUNING}{}", row.key));
            let path: Vec<&str> = PRUNING_PATH.into_iter().chain(row.key.split('.')).collect();
            let value = row.key.split('.').try_fold(&values, |value, key| value.get(key)).cloned();
            let moved = row.key == "mode" && on != (row.value.as_bool() == Some(true));
            let provenance = match own {
                Some(change) => change.origin.clone(),
                None if moved => Provenance::Flag,
                None if row.control.fixed().is_some() => row.provenance,
                None if row.config.is_some() => config.provenance(&path),
                None => Provenance::Default,
            };
            InForce { key: row.key, value: value.unwrap_or(Value::Null), provenance }
        })
        .collect()
}

/// The settings as the configuration would hold them, with every key.
pub fn settings_value(settings: &PruneSettings, on: bool) -> Value {
    let list = |key| settings.tools.get(key).filter(|list| list.as_array().is_some()).cloned();
    let list = |key| list(key).unwrap_or_else(|| Value::Array(Vec::new()));
    let tools = Object::from([("allow", list("allow")), ("deny", list("deny"))]);
    let mut object = Object::from([
        ("mode", Value::from(if on { "cache-ttl" } else { "off" })),
        ("ttl", Value::from(duration_text(settings.ttl_ms))),
    ]);
    for (key, value) in settings.object() {
        object.insert(key, value);
    }
    object.set("tools", Value::from(tools));
    Value::from(object)
}
