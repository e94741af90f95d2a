//! The pruner's settings under a configuration.

use crate::gateway::config::GatewayConfig;
use crate::gateway::pruning::{effective_settings, effective_settings_under};
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::{Pruner, Rules, Ruleset};
use crate::gateway::setting_value::{
    Control, PRUNING_PATH, Unit, input_text, insert_dotted, parse_duration, ttl_text,
};
use crate::js::{Object, Value};
use crate::policy::settings::PolicySettings;
use crate::policy::settings::setting::{SettingId, SettingRow, SettingSpec, Source};
use crate::policy::settings::table::SETTINGS;

/// The reason for keys that were settings before (pruning 8, row "Config keys").
const RETIRED_REASON: &str = "built in since 2026.8.1";
/// The reason for every key of a release that loads no pruner (pruning 8, row "Pruner active at all").
const NO_PRUNER_REASON: &str = "no effect: this release never runs the pruner";

/// Lists the settings of `contextPruning`, `mode` first. A key that the version does not read is fixed at its built-in
/// value.
pub fn prune_settings(config: &GatewayConfig, ruleset: Ruleset) -> Vec<SettingRow> {
    let rules = ruleset.rules();
    let effective = effective_settings_under(rules, config.value(&PRUNING_PATH));
    let on = effective.is_some();
    let mut defaults = PolicySettings::default();
    let mut in_force = PolicySettings::pruning_only(effective.unwrap_or_default());
    let all = SETTINGS.iter().filter(|setting| setting.source == Source::Pruning);
    let row = |setting: &SettingSpec| {
        let own = config.value(&path_of(setting)).cloned();
        let provenance = config.provenance(&path_of(setting));
        if setting.id == SettingId::PruneMode {
            let (default, value) = (Value::Bool(false), Value::Bool(on));
            return SettingRow {
                id: setting.id,
                control: setting.control,
                default,
                config: own,
                value,
                provenance,
            };
        }
        let (default, value) = (setting.field.read(&mut defaults), setting.field.read(&mut in_force));
        let ignored = own.as_ref().filter(|own| value == default && !is_default(setting, own, &default));
        let provenance = match ignored {
            _ if !on => Provenance::Default,
            Some(own) => default_for(own, &provenance),
            None => provenance,
        };
        let control = control_under(rules, setting);
        let provenance = control.fixed_reason().map_or(provenance, Provenance::Fixed);
        SettingRow { id: setting.id, control, default, config: own, value, provenance }
    };
    all.map(row).collect()
}

/// Writes values of the pruner. Passes them through the gateway's own reading, which checks and clamps them.
pub(super) fn write_pruning<'a>(
    settings: &mut PolicySettings,
    values: impl Iterator<Item = (&'static SettingSpec, &'a Value)> + Clone,
) {
    let mut raw = Object::default();
    for (setting, value) in values.clone() {
        let is_duration = setting.control.unit() == Some(Unit::Milliseconds);
        insert_dotted(&mut raw, setting.name(), if is_duration { ttl_text(value) } else { value.clone() });
    }
    raw.set("mode", Value::from("cache-ttl"));
    let Some(read) = effective_settings(Some(&Value::Object(raw))) else { return };
    let mut read = PolicySettings::pruning_only(read);
    for (setting, _) in values {
        let value = setting.field.read(&mut read);
        setting.field.write(settings, &value);
    }
}

fn control_under(rules: &Rules, setting: &SettingSpec) -> Control {
    if rules.pruner == Pruner::FailsToLoad {
        Control::Fixed { unit: setting.control.unit(), why: NO_PRUNER_REASON }
    } else if rules.prune_keys.reads(setting.name()) {
        setting.control
    } else {
        Control::Fixed { unit: setting.control.unit(), why: RETIRED_REASON }
    }
}

fn path_of(setting: &SettingSpec) -> Vec<&'static str> {
    PRUNING_PATH.into_iter().chain(setting.name().split('.')).collect()
}

/// Whether the configured value equals the default. Durations compare by length, so `"5m"` equals 300000.
fn is_default(setting: &SettingSpec, own: &Value, default: &Value) -> bool {
    let duration =
        own.as_str().filter(|_| setting.control.unit() == Some(Unit::Milliseconds)).and_then(parse_duration);
    match duration {
        Some(ms) => default.as_f64() == Some(ms.get()),
        None => own == default,
    }
}

/// A configured value that the gateway does not understand is not the origin of the value in force, but says why the
/// default is (pruning 3.3).
fn default_for(own: &Value, place: &Provenance) -> Provenance {
    let why = format!("{place} has {:?}, which the gateway does not understand", input_text(None, own));
    Provenance::Rule { rule: "default", why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use crate::js;
    use std::io::Write;

    fn rows(text: &str) -> Vec<SettingRow> {
        rows_under(Ruleset::default(), text)
    }

    fn rows_under(ruleset: Ruleset, text: &str) -> Vec<SettingRow> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        prune_settings(&GatewayConfig::load(Some(&path), &Environment::default(), dir.path()), ruleset)
    }

    fn row(rows: &[SettingRow], key: &str) -> SettingRow {
        rows.iter().find(|row| row.id.spec().name() == key).unwrap().clone()
    }

    fn line(provenance: &Provenance) -> Option<u32> {
        match provenance {
            Provenance::File { line, .. } => *line,
            _ => None,
        }
    }

    #[test]
    fn without_configuration_every_row_shows_its_default() {
        let rows = prune_settings(&GatewayConfig::empty(), Ruleset::default());
        assert_eq!(rows.len(), 13);
        assert!(rows.iter().all(|row| row.value == row.default && row.provenance == Provenance::Default));
    }

    #[test]
    fn configured_rows_name_their_line() {
        let rows = rows(
            "{ agents: { defaults: { contextPruning: {\n mode: 'cache-ttl',\n ttl: '5m',\n softTrim: {\n maxChars: 100 } } } } }",
        );
        let mode = row(&rows, "mode");
        assert_eq!((mode.value, line(&mode.provenance)), (js::Value::Bool(true), Some(2)));
        assert_eq!(line(&row(&rows, "ttl").provenance), Some(3));
        let max = row(&rows, "softTrim.maxChars");
        assert_eq!((max.value, max.default), (js::Value::Number(100.0), js::Value::Number(4000.0)));
        assert_eq!(line(&max.provenance), Some(5));
        assert_eq!(row(&rows, "softTrim.headChars").provenance, Provenance::Default);
    }

    #[test]
    fn a_value_that_is_refused_is_shown_but_is_not_the_origin() {
        let rows_of = rows;
        let rows =
            rows_of("{ agents: { defaults: { contextPruning: { mode: 'cache-ttl', ttl: 'soon' } } } }");
        let ttl = row(&rows, "ttl");
        assert_eq!(ttl.config, Some(js::Value::from("soon")));
        assert_eq!(ttl.value, js::Value::Number(300_000.0));
        let words = ttl.provenance.to_string();
        assert!(
            words.starts_with("default: ")
                && words.ends_with("openclaw.json:1 has \"soon\", which the gateway does not understand"),
            "{words}"
        );
        for text in ["", "-1", "1 h"] {
            let text = format!(
                "{{ agents: {{ defaults: {{ contextPruning: {{ mode: 'cache-ttl', ttl: '{text}' }} }} }} }}"
            );
            assert!(
                row(&rows_of(&text), "ttl").provenance.to_string().contains("does not understand"),
                "{text}"
            );
        }
        let known = row(
            &rows_of("{ agents: { defaults: { contextPruning: { mode: 'cache-ttl', ttl: ' 5M ' } } } }"),
            "ttl",
        );
        assert!(matches!(known.provenance, Provenance::File { .. }));
    }

    #[test]
    fn every_version_has_the_same_rows_and_the_newest_cannot_move_seven_of_them() {
        let text = "{ agents: { defaults: { contextPruning: { mode: 'cache-ttl', softTrimRatio: 0.1, ttl: '1h' } } } }";
        for ruleset in Ruleset::ALL {
            let rows = rows_under(ruleset, text);
            let fixed: Vec<&str> = rows
                .iter()
                .filter(|row| row.control.fixed_reason().is_some())
                .map(|row| row.id.spec().name())
                .collect();
            assert_eq!(rows.len(), 13);
            let built_in = if ruleset >= Ruleset::V2026_8_1 { 7 } else { 0 };
            let expected = if ruleset.rules().pruner == Pruner::FailsToLoad { 12 } else { built_in };
            assert_eq!(fixed.len(), expected, "{fixed:?}");
        }
        let newest = rows_under(Ruleset::V2026_9_6, text);
        let ratio = row(&newest, "softTrimRatio");
        assert_eq!(ratio.control, Control::Fixed { unit: Some(Unit::Share), why: "built in since 2026.8.1" });
        assert_eq!((&ratio.value, ratio.config), (&ratio.default, Some(js::Value::Number(0.1))));
        assert_eq!(
            (ratio.value, ratio.provenance),
            (js::Value::Number(0.3), Provenance::Fixed(RETIRED_REASON))
        );
        assert_eq!(line(&row(&newest, "ttl").provenance), Some(1));
    }

    #[test]
    fn sliders_hold_their_defaults() {
        for row in prune_settings(&GatewayConfig::empty(), Ruleset::default()) {
            if let (Control::Slider { min, max, step, .. }, Some(value)) = (row.control, row.default.as_f64())
            {
                assert!(min <= value && value <= max && step > 0.0, "{}", row.key());
            }
        }
    }
}
