//! The tuning pane: every `contextPruning` setting with its range, default, configured value and origin.
//! Moving one changes a copy; the gateway's own config is never touched.

use crate::gateway::prune_setting::{Control, PruneSetting, Unit};
use crate::gateway::pruning::PruneSettings;
use crate::gateway::setting_value::{assign, parse_value, plain_text, share_of, tidy};
use crate::inspect::Inspection;
use crate::js::Value;
use crate::plan::Plan;
use crate::policy::prune::Gate;
use crate::policy::{Step, StepSettings};

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
    /// A shut gate leaves everything as it is; otherwise the effect of pruning is shown as if it ran.
    pub obey_gates: bool,
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
        let rows: Vec<PruneSetting> = inspection
            .settings
            .iter()
            .filter(|row| row.step == Step::Prune && row.row.key != "mode")
            .map(|row| row.row.clone())
            .collect();
        let same = self.rows.len() == rows.len()
            && self.rows.iter().zip(&rows).all(|(old, new)| old.key == new.key && old.value == new.value);
        if !same {
            self.values = rows.iter().map(|row| row.value.clone()).collect();
            self.cursor = 0;
            self.top = 0;
        }
        for (value, row) in self.values.iter_mut().zip(&rows).filter(|(_, row)| row.control.fixed().is_some())
        {
            *value = row.value.clone();
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

    /// The settings of every step: tuned where there are rows, configured otherwise.
    pub fn step_settings(&self, inspection: &Inspection) -> StepSettings {
        let mut prune = self.settings();
        prune.soft_trim.images = inspection.configured.prune.soft_trim.images;
        StepSettings { prune, ..inspection.configured.clone() }
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
            Control::List | Control::Text | Control::Fixed { .. } => {}
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
        self.rows.get(at)?.control.unit()
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

    /// Whether the gateway would run the pruner now, under the tuned settings.
    pub fn gate_now(&self, inspection: &Inspection, now_ms: f64) -> Gate {
        inspection.gate(true, &self.settings(), now_ms)
    }

    /// The gate the plan is made with.
    pub fn gate(&self, inspection: &Inspection, now_ms: f64) -> Gate {
        let gate = self.gate_now(inspection, now_ms);
        if self.obey_gates || gate.is_open() { gate } else { Gate::Open { idle_ms: f64::NAN } }
    }

    /// Computes the total after for positions along the focused slider; nothing for other controls.
    pub fn compute_profile(&mut self, inspection: &Inspection, gate: Gate) {
        self.profile.clear();
        let Some(row) = self.rows.get(self.cursor) else { return };
        let Control::Slider { min, max, step, .. } = row.control else { return };
        let key = row.key;
        let mut settings = self.step_settings(inspection).prune;
        let fixed = inspection.fixed_tokens();
        for at in 0..PROFILE_STEPS {
            let share = at as f64 / (PROFILE_STEPS - 1) as f64;
            let value = tidy(((min + (max - min) * share) / step).round() * step, step);
            assign(&mut settings, key, &Value::Number(value));
            let total = inspection
                .plan(&StepSettings::prune(settings.clone()), gate)
                .map_or(0, |plan: Plan| plan.total_after());
            self.profile.push(fixed + total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::config::GatewayConfig;
    use crate::gateway::prune_setting::prune_settings;
    use crate::gateway::ruleset::Ruleset;

    fn pane() -> TuningPane {
        let rows: Vec<PruneSetting> = prune_settings(&GatewayConfig::empty(), Ruleset::default())
            .into_iter()
            .filter(|row| row.key != "mode")
            .collect();
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
}
