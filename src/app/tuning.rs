//! The tuning pane: every `contextPruning` setting with its range, default, configured value and origin.
//! Moving one changes a copy; the gateway's own config is never touched.

use crate::gateway::prune_setting::{Control, PruneSetting, Unit};
use crate::gateway::pruning::{PruneSettings, effective_settings};
use crate::inspect::Inspection;
use crate::js::{Object, Value};
use crate::plan::Plan;
use crate::policy::prune::Gate;

/// The settings as they are tuned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TuningPane {
    /// The configured rows, `mode` left out: it is the switch in the title.
    pub rows: Vec<PruneSetting>,
    /// The tuned values, one for each row.
    pub values: Vec<Value>,
    /// The focused row.
    pub cursor: usize,
    /// The first visible row.
    pub top: usize,
    /// The plan is shown.
    pub preview: bool,
    /// The gates are taken as open.
    pub ignore_gates: bool,
    /// The total after, for each position of the focused slider.
    pub profile: Vec<u64>,
    /// What is being typed into the focused row.
    pub editing: Option<String>,
}

/// Positions a slider's profile is computed for.
pub const PROFILE_STEPS: usize = 44;

impl TuningPane {
    /// Shows the configured values of a session; tuned values of the same store are kept.
    pub fn configure(&mut self, inspection: &Inspection) {
        let rows: Vec<PruneSetting> =
            inspection.settings.iter().filter(|row| row.key != "mode").cloned().collect();
        let same = self.rows.len() == rows.len()
            && self.rows.iter().zip(&rows).all(|(old, new)| old.key == new.key && old.value == new.value);
        if !same {
            self.values = rows.iter().map(|row| row.value.clone()).collect();
            self.cursor = 0;
            self.top = 0;
        }
        self.rows = rows;
    }

    /// The tuned settings, as the gateway would read them.
    pub fn settings(&self) -> PruneSettings {
        let mut settings = PruneSettings::default();
        for (row, value) in self.rows.iter().zip(&self.values) {
            assign(&mut settings, row.key, value);
        }
        settings
    }

    /// Whether a row differs from the configuration.
    pub fn is_changed(&self, at: usize) -> bool {
        self.values.get(at) != self.rows.get(at).map(|row| &row.value)
    }

    /// Whether anything differs from the configuration.
    pub fn any_changed(&self) -> bool {
        (0..self.rows.len()).any(|at| self.is_changed(at))
    }

    /// Moves the cursor.
    pub fn step(&mut self, by: isize, height: usize) {
        let last = self.rows.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(by).min(last);
        self.keep(height);
    }

    /// The setting shown on a line of the pane, below its title; the line under the focused slider is its
    /// profile, and belongs to it.
    pub fn row_at(&self, line: usize) -> Option<usize> {
        let row = self.top + line;
        let row = if row > self.cursor { row - 1 } else { row };
        (row < self.rows.len()).then_some(row)
    }

    /// Brings the focused row into sight; its profile takes a row of its own.
    pub fn keep(&mut self, height: usize) {
        let room = height.saturating_sub(1).max(1);
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(room), self.cursor);
        self.top = self.top.min((self.rows.len() + 1).saturating_sub(height));
    }

    /// Moves the focused setting by steps of its own.
    pub fn adjust(&mut self, steps: f64) {
        let Some(row) = self.rows.get(self.cursor) else { return };
        let value = &mut self.values[self.cursor];
        match row.control {
            Control::Slider { min, max, step, .. } => {
                let now = value.as_f64().unwrap_or(min);
                let moved = ((now / step).round() + steps) * step;
                *value = Value::Number(tidy(moved.clamp(min, max.max(now)), step));
            }
            Control::Switch => *value = Value::Bool(!value.as_bool().unwrap_or(false)),
            Control::List | Control::Text => {}
        }
    }

    /// Puts the focused slider at a share of its track, 0 to 1.
    pub fn slide_to(&mut self, row: usize, share: f64) {
        self.cursor = row.min(self.rows.len().saturating_sub(1));
        match self.rows.get(self.cursor).map(|row| row.control) {
            Some(Control::Slider { min, max, step, .. }) => {
                let at = (min + (max - min) * share.clamp(0.0, 1.0)) / step;
                self.values[self.cursor] = Value::Number(tidy(at.round() * step, step));
            }
            Some(Control::Switch) => self.adjust(1.0),
            _ => {}
        }
    }

    /// The focused setting back to the gateway's default.
    pub fn to_default(&mut self) {
        if let Some(row) = self.rows.get(self.cursor) {
            self.values[self.cursor] = row.default.clone();
        }
    }

    /// The focused setting back to the configured value.
    pub fn to_config(&mut self) {
        if let Some(row) = self.rows.get(self.cursor) {
            self.values[self.cursor] = row.value.clone();
        }
    }

    /// Every setting back to the configured value.
    pub fn all_to_config(&mut self) {
        self.values = self.rows.iter().map(|row| row.value.clone()).collect();
    }

    /// The text a person edits for the focused row.
    pub fn edit_text(&self) -> String {
        self.values
            .get(self.cursor)
            .map(|value| plain_text(self.unit(self.cursor), value))
            .unwrap_or_default()
    }

    /// Takes what was typed into the focused row; answers what was expected where it does not fit.
    pub fn set_text(&mut self, text: &str) -> Result<(), &'static str> {
        let Some(row) = self.rows.get(self.cursor) else { return Ok(()) };
        self.values[self.cursor] = parse_value(row, text)?;
        Ok(())
    }

    /// What a row's slider counts.
    pub fn unit(&self, at: usize) -> Option<Unit> {
        match self.rows.get(at)?.control {
            Control::Slider { unit, .. } => Some(unit),
            _ => None,
        }
    }

    /// Where a row's tuned value stands on its track, 0 to 1.
    pub fn share(&self, at: usize) -> Option<f64> {
        share_of(self.rows.get(at)?, self.values.get(at)?)
    }

    /// Where a row's configured value stands on its track.
    pub fn config_share(&self, at: usize) -> Option<f64> {
        let row = self.rows.get(at)?;
        share_of(row, &row.value)
    }

    /// The gate under the tuned settings.
    pub fn gate(&self, inspection: &Inspection, now_ms: f64) -> Gate {
        if self.ignore_gates {
            return Gate::Open { idle_ms: f64::NAN };
        }
        inspection.gate(true, &self.settings(), now_ms)
    }

    /// Computes the total after for positions along the focused slider; nothing for other controls.
    pub fn compute_profile(&mut self, inspection: &Inspection, gate: Gate) {
        self.profile.clear();
        let Some(row) = self.rows.get(self.cursor) else { return };
        let Control::Slider { min, max, step, .. } = row.control else { return };
        let key = row.key;
        let mut settings = self.settings();
        let fixed = inspection.budget().fixed();
        for at in 0..PROFILE_STEPS {
            let share = at as f64 / (PROFILE_STEPS - 1) as f64;
            let value = tidy(((min + (max - min) * share) / step).round() * step, step);
            assign(&mut settings, key, &Value::Number(value));
            let total = inspection.plan(&settings, gate).map_or(0, |plan: Plan| plan.total_after());
            self.profile.push(fixed + total);
        }
    }

    /// The changed settings as a patch for `openclaw.json` (JSON5), the switch included where pruning is off.
    pub fn patch(&self, configured_on: bool) -> String {
        let mut pruning = Object::default();
        if !configured_on {
            pruning.set("mode", Value::from("cache-ttl"));
        }
        for (at, row) in self.rows.iter().enumerate().filter(|(at, _)| self.is_changed(*at)) {
            insert(&mut pruning, row.key, patch_value(row, &self.values[at]));
        }
        let wrap = |key: &str, value: Value| Value::Object(Object::from([(key, value)]));
        let patch = wrap("agents", wrap("defaults", wrap("contextPruning", Value::Object(pruning))));
        pretty(&patch, 0)
    }
}

/// Steps are decimal: 0.1 + 0.2 is 0.3 on a slider.
fn tidy(value: f64, step: f64) -> f64 {
    let digits = if step >= 1.0 { 1.0 } else { 1.0 / step };
    (value * digits).round() / digits
}

fn share_of(row: &PruneSetting, value: &Value) -> Option<f64> {
    match row.control {
        Control::Slider { min, max, .. } => Some(((value.as_f64()? - min) / (max - min)).clamp(0.0, 1.0)),
        _ => None,
    }
}

/// Puts a value where the gateway's settings hold it. Going through the gateway's own reading keeps its
/// checks and clamps.
fn assign(settings: &mut PruneSettings, key: &str, value: &Value) {
    let mut raw = Object::default();
    raw.set("mode", Value::from("cache-ttl"));
    insert(&mut raw, key, if key == "ttl" { ttl_text(value) } else { value.clone() });
    let Some(read) = effective_settings(Some(&Value::Object(raw))) else { return };
    match key {
        "ttl" => settings.ttl_ms = read.ttl_ms,
        "keepLastAssistants" => settings.keep_last_assistants = read.keep_last_assistants,
        "softTrimRatio" => settings.soft_trim_ratio = read.soft_trim_ratio,
        "hardClearRatio" => settings.hard_clear_ratio = read.hard_clear_ratio,
        "minPrunableToolChars" => settings.min_prunable_tool_chars = read.min_prunable_tool_chars,
        "softTrim.maxChars" => settings.soft_trim.max_chars = read.soft_trim.max_chars,
        "softTrim.headChars" => settings.soft_trim.head_chars = read.soft_trim.head_chars,
        "softTrim.tailChars" => settings.soft_trim.tail_chars = read.soft_trim.tail_chars,
        "hardClear.enabled" => settings.hard_clear.enabled = read.hard_clear.enabled,
        "hardClear.placeholder" => settings.hard_clear.placeholder = read.hard_clear.placeholder,
        _ => merge_tools(settings, key, value),
    }
}

fn merge_tools(settings: &mut PruneSettings, key: &str, value: &Value) {
    let Some(list) = key.strip_prefix("tools.") else { return };
    let mut tools = settings.tools.as_object().cloned().unwrap_or_default();
    tools.set(list, value.clone());
    settings.tools = Value::Object(tools);
}

/// Inserts at a dotted key.
fn insert(object: &mut Object, key: &str, value: Value) {
    match key.split_once('.') {
        None => object.set(key, value),
        Some((outer, inner)) => {
            let mut nested = object.get(outer).and_then(Value::as_object).cloned().unwrap_or_default();
            insert(&mut nested, inner, value);
            object.set(outer, Value::Object(nested));
        }
    }
}

fn ttl_text(value: &Value) -> Value {
    value.as_f64().map_or_else(|| value.clone(), |ms| Value::from(duration_text(ms).as_str()))
}

fn patch_value(row: &PruneSetting, value: &Value) -> Value {
    if row.key == "ttl" { ttl_text(value) } else { value.clone() }
}

/// Ms as the gateway reads a duration: the largest unit that is whole (pruning 3.4).
pub fn duration_text(ms: f64) -> String {
    let units = [("d", 86_400_000.0), ("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)];
    let whole = units.iter().find(|(_, unit)| ms >= *unit && ms % unit == 0.0);
    match whole {
        Some((name, unit)) => format!("{}{name}", ms / unit),
        None if ms == 0.0 => "0".to_owned(),
        None => format!("{ms}ms"),
    }
}

/// A value as a person types it.
pub fn plain_text(unit: Option<Unit>, value: &Value) -> String {
    match value {
        Value::Number(ms) if unit == Some(Unit::Milliseconds) => duration_text(*ms),
        Value::Number(number) => crate::js::number_text(*number),
        Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(crate::js::JsString::to_string_lossy)
            .collect::<Vec<_>>()
            .join(", "),
        other => crate::js::to_text(Some(other)).to_string_lossy(),
    }
}

fn parse_value(row: &PruneSetting, text: &str) -> Result<Value, &'static str> {
    let text = text.trim();
    match row.control {
        Control::Slider { unit: Unit::Milliseconds, .. } => {
            let parsed = crate::gateway::duration::parse_duration_ms(&text.into());
            parsed.map(Value::Number).ok_or("a duration such as 30m, 1h or 1h30m")
        }
        Control::Slider { unit: Unit::Share, .. } => number(text)
            .filter(|share| (0.0..=1.0).contains(share))
            .map(Value::Number)
            .ok_or("a number from 0 to 1"),
        Control::Slider { .. } => number(text)
            .filter(|count| *count >= 0.0 && count.fract() == 0.0)
            .map(Value::Number)
            .ok_or("a whole number, 0 or more"),
        Control::Switch => match text {
            "on" | "true" | "yes" => Ok(Value::Bool(true)),
            "off" | "false" | "no" => Ok(Value::Bool(false)),
            _ => Err("on or off"),
        },
        Control::List => {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            Ok(Value::Array(names.map(Value::from).collect()))
        }
        Control::Text if text.is_empty() => Err("a text that is not blank"),
        Control::Text => Ok(Value::from(text)),
    }
}

fn number(text: &str) -> Option<f64> {
    text.replace([' ', '_'], "").parse().ok().filter(|number: &f64| number.is_finite())
}

/// JSON with two spaces a level, as the gateway writes its config.
fn pretty(value: &Value, level: usize) -> String {
    match value.as_object() {
        Some(object) if !object.is_empty() => {
            let indent = "  ".repeat(level + 1);
            let members = object.iter().map(|(key, value)| {
                format!("{indent}{}: {}", crate::js::stringify_str(key), pretty(value, level + 1))
            });
            format!("{{\n{}\n{}}}", members.collect::<Vec<_>>().join(",\n"), "  ".repeat(level))
        }
        _ => crate::js::stringify(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::config::GatewayConfig;
    use crate::gateway::prune_setting::prune_settings;

    fn pane() -> TuningPane {
        let rows: Vec<PruneSetting> =
            prune_settings(&GatewayConfig::empty()).into_iter().filter(|row| row.key != "mode").collect();
        let values = rows.iter().map(|row| row.value.clone()).collect();
        TuningPane { rows, values, ..TuningPane::default() }
    }

    fn focus(pane: &mut TuningPane, key: &str) {
        pane.cursor = pane.rows.iter().position(|row| row.key == key).expect("a known key");
    }

    #[test]
    fn untouched_values_are_the_gateways_defaults() {
        assert_eq!(pane().settings().soft_trim, PruneSettings::default().soft_trim);
        assert_eq!(pane().settings().ttl_ms, 300_000.0);
        assert!(!pane().any_changed());
    }

    #[test]
    fn a_step_moves_a_ratio_by_a_hundredth_without_drift() {
        let mut pane = pane();
        focus(&mut pane, "hardClearRatio");
        for _ in 0..15 {
            pane.adjust(-1.0);
        }
        assert_eq!(pane.settings().hard_clear_ratio, 0.35);
        pane.to_config();
        assert!(!pane.any_changed());
    }

    #[test]
    fn typed_values_are_checked_and_say_what_was_expected() {
        let mut pane = pane();
        focus(&mut pane, "ttl");
        assert_eq!(pane.set_text("1h30m"), Ok(()));
        assert_eq!(pane.settings().ttl_ms, 5_400_000.0);
        assert_eq!(pane.edit_text(), "90m");
        assert!(pane.set_text("soon").is_err());
        focus(&mut pane, "tools.deny");
        assert_eq!(pane.set_text("browser, *image*"), Ok(()));
        assert!(!pane.settings().tool_filter().prunable(Some(&Value::from("browser"))));
    }

    #[test]
    fn the_patch_holds_what_was_changed_and_switches_pruning_on_where_it_is_off() {
        let mut pane = pane();
        focus(&mut pane, "softTrim.maxChars");
        pane.adjust(-10.0);
        let patch = pane.patch(false);
        assert!(patch.contains("\"mode\": \"cache-ttl\""), "{patch}");
        assert!(patch.contains("\"maxChars\": 3000"), "{patch}");
        assert!(!patch.contains("ttl\":"), "{patch}");
    }

    #[test]
    fn durations_are_written_in_their_largest_whole_unit() {
        let texts = [3_600_000.0, 5_400_000.0, 300_000.0, 500.0, 0.0].map(duration_text);
        assert_eq!(texts, ["1h", "90m", "5m", "500ms", "0"]);
    }
}
