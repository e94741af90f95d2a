//! The pruner's settings one by one, for the pane that changes them: key, control, range, default, value and origin.

use super::config::GatewayConfig;
use super::provenance::Provenance;
use super::pruning::{PruneSettings, effective_settings_under};
use super::ruleset::{Rules, Ruleset};
use crate::js;

/// The path of the settings object in the configuration.
pub const PRUNING_PATH: [&str; 3] = ["agents", "defaults", "contextPruning"];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    Switch,
    /// A number in a range. The gateway may accept numbers outside it.
    Slider {
        min: f64,
        max: f64,
        step: f64,
        unit: Unit,
    },
    /// A list of tool names and patterns.
    List,
    Text,
    /// A built-in value: the version does not read the key.
    Fixed {
        unit: Option<Unit>,
        /// The reason, such as `built in since 2026.8.1`.
        why: &'static str,
    },
}

impl Control {
    /// Returns the reason for which the setting cannot change; `None` if it can.
    pub fn fixed_reason(self) -> Option<&'static str> {
        match self {
            Self::Fixed { why, .. } => Some(why),
            _ => None,
        }
    }

    /// Returns the unit of a number; `None` for other values.
    pub fn unit(self) -> Option<Unit> {
        match self {
            Self::Slider { unit, .. } => Some(unit),
            Self::Fixed { unit, .. } => unit,
            Self::Switch | Self::List | Self::Text => None,
        }
    }
}

/// The reason for keys that were settings before (pruning 8, row "Config keys").
const RETIRED_REASON: &str = "built in since 2026.8.1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Shown as a duration.
    Milliseconds,
    Messages,
    /// Share of the window, 0 to 1.
    Share,
    /// UTF-16 code units.
    Chars,
    Tokens,
    /// Turns of the person.
    Turns,
}

/// A setting as one row of the pane.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneSetting {
    /// The key below `contextPruning`, such as `softTrim.maxChars`.
    pub key: &'static str,
    pub control: Control,
    /// The built-in value; a duration is in ms.
    pub default: js::Value,
    /// The unchecked value from the configuration or from a loading rule.
    pub config: Option<js::Value>,
    /// The value in force: `config` after all checks, else `default`.
    pub value: js::Value,
    pub provenance: Provenance,
}

type SettingReader = fn(&PruneSettings) -> js::Value;

const fn chars_slider(max: f64, step: f64) -> Control {
    Control::Slider { min: 0.0, max, step, unit: Unit::Chars }
}

const RATIO_SLIDER: Control = Control::Slider { min: 0.0, max: 1.0, step: 0.01, unit: Unit::Share };
const TTL_SLIDER: Control =
    Control::Slider { min: 0.0, max: 86_400_000.0, step: 60_000.0, unit: Unit::Milliseconds };
const KEEP_SLIDER: Control = Control::Slider { min: 0.0, max: 20.0, step: 1.0, unit: Unit::Messages };

const ROWS: [(&str, Control, SettingReader); 12] = [
    ("ttl", TTL_SLIDER, |s| js::Value::Number(s.ttl_ms)),
    ("keepLastAssistants", KEEP_SLIDER, |s| js::Value::Number(s.keep_last_assistants)),
    ("softTrimRatio", RATIO_SLIDER, |s| js::Value::Number(s.soft_trim_ratio)),
    ("hardClearRatio", RATIO_SLIDER, |s| js::Value::Number(s.hard_clear_ratio)),
    ("minPrunableToolChars", chars_slider(400_000.0, 1000.0), |s| {
        js::Value::Number(s.min_prunable_tool_chars)
    }),
    ("softTrim.maxChars", chars_slider(40_000.0, 100.0), |s| js::Value::Number(s.soft_trim.max_chars)),
    ("softTrim.headChars", chars_slider(20_000.0, 100.0), |s| js::Value::Number(s.soft_trim.head_chars)),
    ("softTrim.tailChars", chars_slider(20_000.0, 100.0), |s| js::Value::Number(s.soft_trim.tail_chars)),
    ("hardClear.enabled", Control::Switch, |s| js::Value::Bool(s.hard_clear.enabled)),
    ("hardClear.placeholder", Control::Text, |s| js::Value::String(s.hard_clear.placeholder.clone())),
    ("tools.allow", Control::List, |s| tool_list(s, "allow")),
    ("tools.deny", Control::List, |s| tool_list(s, "deny")),
];

/// Lists the `mode` switch, then every other key of `contextPruning`. A key that the version does not read is fixed
/// at its built-in value.
pub fn prune_settings(config: &GatewayConfig, ruleset: Ruleset) -> Vec<PruneSetting> {
    let rules = ruleset.rules();
    let raw = config.value(&PRUNING_PATH);
    let effective = effective_settings_under(rules, raw);
    let on = effective.is_some();
    let (defaults, in_force) = (PruneSettings::default(), effective.unwrap_or_default());
    let mode = PruneSetting {
        key: "mode",
        control: Control::Switch,
        default: js::Value::Bool(false),
        config: raw.and_then(|raw| raw.get("mode")).cloned(),
        value: js::Value::Bool(on),
        provenance: provenance(config, "mode"),
    };
    let rows = ROWS.iter().map(|(key, control, read)| {
        let own = config.value(&path_of(key)).cloned();
        let (default, value) = (read(&defaults), read(&in_force));
        // A refused value is not the origin of the value in force.
        let refused = own.is_some() && value == default && !is_default(key, own.as_ref(), &default);
        let provenance = if refused || !on { Provenance::Default } else { provenance(config, key) };
        let control = control_under(rules, key, *control);
        let provenance = control.fixed_reason().map_or(provenance, Provenance::Fixed);
        PruneSetting { key, control, default, config: own, value, provenance }
    });
    std::iter::once(mode).chain(rows).collect()
}

fn control_under(rules: &Rules, key: &str, control: Control) -> Control {
    if rules.prune_keys.reads(key) {
        control
    } else {
        Control::Fixed { unit: control.unit(), why: RETIRED_REASON }
    }
}

fn path_of(key: &str) -> Vec<&str> {
    PRUNING_PATH.into_iter().chain(key.split('.')).collect()
}

fn provenance(config: &GatewayConfig, key: &str) -> Provenance {
    config.provenance(&path_of(key))
}

/// Whether the configured value equals the default. Durations compare by length, so `"5m"` equals 300000.
fn is_default(key: &str, own: Option<&js::Value>, default: &js::Value) -> bool {
    let duration =
        own.and_then(js::Value::as_str).filter(|_| key == "ttl").and_then(super::duration::parse_duration_ms);
    match duration {
        Some(ms) => default.as_f64() == Some(ms),
        None => own == Some(default),
    }
}

fn tool_list(settings: &PruneSettings, key: &str) -> js::Value {
    let items = settings.tools.get(key).and_then(js::Value::as_array);
    js::Value::Array(items.map(<[js::Value]>::to_vec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use std::io::Write;

    fn rows(text: &str) -> Vec<PruneSetting> {
        rows_under(Ruleset::default(), text)
    }

    fn rows_under(ruleset: Ruleset, text: &str) -> Vec<PruneSetting> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        prune_settings(&GatewayConfig::load(Some(&path), &Environment::default(), dir.path()), ruleset)
    }

    fn row(rows: &[PruneSetting], key: &str) -> PruneSetting {
        rows.iter().find(|row| row.key == key).unwrap().clone()
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
        let rows = rows("{ agents: { defaults: { contextPruning: { mode: 'cache-ttl', ttl: 'soon' } } } }");
        let ttl = row(&rows, "ttl");
        assert_eq!(ttl.config, Some(js::Value::from("soon")));
        assert_eq!((ttl.value, ttl.provenance), (js::Value::Number(300_000.0), Provenance::Default));
    }

    #[test]
    fn every_version_has_the_same_rows_and_the_newest_cannot_move_seven_of_them() {
        let text = "{ agents: { defaults: { contextPruning: { mode: 'cache-ttl', softTrimRatio: 0.1, ttl: '1h' } } } }";
        for ruleset in Ruleset::ALL {
            let rows = rows_under(ruleset, text);
            let fixed: Vec<&str> =
                rows.iter().filter(|row| row.control.fixed_reason().is_some()).map(|row| row.key).collect();
            assert_eq!(rows.len(), 13);
            assert_eq!(fixed.len(), if ruleset >= Ruleset::V2026_8_1 { 7 } else { 0 }, "{fixed:?}");
        }
        let newest = rows_under(Ruleset::V2026_9_2, text);
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
                assert!(min <= value && value <= max && step > 0.0, "{}", row.key);
            }
        }
    }
}
