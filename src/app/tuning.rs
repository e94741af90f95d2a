//! The tuning pane: the steps as switches, and every setting of the focused one with its range, default, configured
//! value and origin. Moving one changes a copy; the gateway's own config is never touched.

use std::ops::Range;

use crate::gateway::prune_setting::{Control, PruneSetting, Unit};
use crate::gateway::pruning::PruneSettings;
use crate::gateway::setting_value::{input_text, parse_value, slider_position, snap_to_step};
use crate::inspect::setting_change::SettingChange;
use crate::inspect::{LoadedSession, SessionViewKey};
use crate::js::Value;
use crate::policy::prune::Gate;
use crate::policy::settings::{PolicySetting, settings_from_values};
use crate::policy::{Policy, PolicySet, PolicySettings};

/// The settings as they are tuned.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningPane {
    /// The configured rows of every step, in the order of the steps; `contextPruning.mode` is left out: it is the
    /// switch in the title.
    pub rows: Vec<PolicySetting>,
    /// The tuned values, one for each row.
    pub values: Vec<Value>,
    /// The step whose rows are shown.
    pub policy: Policy,
    /// The steps that are shown for the version, in order.
    pub visible_policies: Vec<Policy>,
    /// The steps that take part while a plan is shown.
    pub policies: PolicySet,
    /// The steps that take part as configured.
    configured_policies: PolicySet,
    /// The focused row, counted over the rows of all steps. Of a step without settings there is none:
    /// [`Self::focused_row`].
    pub cursor: usize,
    /// The first visible row, counted from the first of the step.
    pub top: usize,
    /// Where the cursor was in each step, counted from its first row.
    saved_offsets: [usize; Policy::ALL.len()],
    /// The plan is shown.
    pub preview: bool,
    /// A shut gate leaves everything as it is; otherwise the effect of pruning is shown as if it ran.
    pub respect_gates: bool,
    /// The total after, for each position of the focused slider.
    pub profile: Vec<u64>,
    /// What that follows from.
    profile_key: Option<ProfileKey>,
    /// Changed settings that no step has: the windows, and the limits of workspace files.
    pub assumed_changes: Vec<SettingChange>,
    /// What is being typed into the focused row.
    pub editing: Option<String>,
}

/// What the profile of a slider follows from: everything but where that slider stands.
#[derive(Debug, Clone, PartialEq)]
struct ProfileKey {
    subject: SessionViewKey,
    /// Texts were read.
    has_details: bool,
    row: usize,
    /// The values of all other rows.
    other_values: Vec<Value>,
    policies: PolicySet,
    is_open: bool,
}

/// Positions a slider's profile is computed for.
pub const PROFILE_POSITIONS: usize = 44;

impl Default for TuningPane {
    fn default() -> Self {
        let steps = PolicySettings::default().enabled;
        Self {
            rows: Vec::new(),
            values: Vec::new(),
            policy: Policy::Prune,
            policies: steps,
            configured_policies: steps,
            cursor: 0,
            top: 0,
            saved_offsets: [0; Policy::ALL.len()],
            preview: false,
            visible_policies: Policy::visible_for(PolicySettings::default().ruleset.rules()),
            respect_gates: false,
            profile: Vec::new(),
            profile_key: None,
            assumed_changes: Vec::new(),
            editing: None,
        }
    }
}

/// The steps that take part as things are configured: those of the plan, and the turn limit where there is one.
pub(super) fn configured_policies(inspection: &LoadedSession) -> PolicySet {
    let configured = &inspection.configured_settings;
    configured
        .enabled
        .with(Policy::History, configured.history_limit > 0.0 || configured.enabled.has(Policy::History))
}

impl TuningPane {
    /// Shows the configured values of a session; what was tuned is kept wherever the same place says the same.
    pub fn configure(&mut self, inspection: &LoadedSession) {
        let offset = self.cursor.saturating_sub(self.policy_rows().start);
        let rows = inspection.setting_rows.iter().filter(|row| row.key() != "contextPruning.mode");
        let rows: Vec<PolicySetting> = rows.cloned().collect();
        self.values = rows
            .iter()
            .map(|row| self.retained_value(row).unwrap_or_else(|| row.setting.value.clone()))
            .collect();
        self.rows = rows;
        self.visible_policies = Policy::visible_for(inspection.ruleset.id.rules());
        if !self.visible_policies.contains(&self.policy) {
            self.policy = Policy::Prune;
        }
        let steps = configured_policies(inspection);
        if self.policies == std::mem::replace(&mut self.configured_policies, steps) {
            self.policies = steps;
        }
        self.move_to_offset(offset);
    }

    /// The tuned value of a row that was there before with the same reader and the same configured value.
    fn retained_value(&self, row: &PolicySetting) -> Option<Value> {
        let same = |old: &PolicySetting| {
            old.key() == row.key() && old.owner == row.owner && old.setting.value == row.setting.value
        };
        let at = self.rows.iter().position(same).filter(|_| row.setting.control.fixed_reason().is_none())?;
        self.values.get(at).cloned()
    }

    /// The rows of the focused step, counted over all rows.
    pub fn policy_rows(&self) -> Range<usize> {
        let from = self.rows.partition_point(|row| row.policy < self.policy);
        from..self.rows.partition_point(|row| row.policy <= self.policy)
    }

    /// The focused row; none where the step has no settings.
    pub fn focused_row(&self) -> Option<usize> {
        Some(self.cursor).filter(|at| self.policy_rows().contains(at))
    }

    /// A row: its key without what stands before it, control, values, origin.
    pub fn setting(&self, at: usize) -> Option<&PruneSetting> {
        self.rows.get(at).map(|row| &row.setting)
    }

    /// The focused row.
    pub fn focused_setting(&self) -> Option<&PruneSetting> {
        self.setting(self.focused_row()?)
    }

    /// Shows the rows of a step, the cursor where it was left.
    pub fn focus_policy(&mut self, step: Policy) {
        self.saved_offsets[self.policy as usize] = self.cursor.saturating_sub(self.policy_rows().start);
        self.policy = step;
        self.move_to_offset(self.saved_offsets[step as usize]);
    }

    /// Puts the cursor on a row of the step.
    fn move_to_offset(&mut self, offset: usize) {
        let range = self.policy_rows();
        self.cursor = range.start + offset.min(range.len().saturating_sub(1));
        self.top = self.top.min(offset);
    }

    /// The step so many further, around the end.
    pub fn policy_by(&self, by: isize) -> Policy {
        let at = self.visible_policies.iter().position(|step| *step == self.policy).unwrap_or(0) as isize;
        let at = (at + by).rem_euclid(self.visible_policies.len().max(1) as isize);
        self.visible_policies.get(at as usize).copied().unwrap_or(self.policy)
    }

    /// Whether a step takes part in the plan that is shown.
    pub fn is_policy_on(&self, step: Policy) -> bool {
        self.preview && self.policies.has(step)
    }

    /// Switches a step. While no plan is shown none is on: the first one switched on is shown alone. With the last
    /// one the plan goes.
    pub fn toggle_policy(&mut self, step: Policy) {
        let shown = if self.preview { self.policies } else { PolicySet::NONE };
        self.policies = shown.with(step, !shown.has(step));
        self.preview = !self.policies.is_empty();
    }

    /// Shows the plan or not. Without a step there would be nothing to show, so that pruning is switched on.
    pub fn toggle_preview(&mut self) {
        self.preview = !self.preview;
        if self.preview && self.policies.is_empty() {
            self.policies = PolicySet::of(&[Policy::Prune]);
        }
    }

    /// The plan is shown, the focused step in it: one of its settings was moved.
    pub fn enable_focused_policy(&mut self) {
        self.policies = self.policies.with(self.policy, true);
        self.preview = true;
    }

    /// The tuned settings of pruning, as the gateway would read them.
    pub fn prune_settings(&self) -> PruneSettings {
        settings_from_values(&self.rows, &self.values, &PolicySettings::default()).prune
    }

    /// The settings of every step: tuned where there are rows, configured otherwise.
    pub fn policy_settings(&self, inspection: &LoadedSession) -> PolicySettings {
        PolicySettings {
            enabled: self.policies,
            ..settings_from_values(&self.rows, &self.values, &inspection.configured_settings)
        }
    }

    /// Whether a row differs from the configuration.
    pub fn is_changed(&self, at: usize) -> bool {
        self.values.get(at) != self.setting(at).map(|row| &row.value)
    }

    /// Whether anything differs from the configuration.
    pub fn has_changes(&self) -> bool {
        !self.assumed_changes.is_empty() || (0..self.rows.len()).any(|at| self.is_changed(at))
    }

    /// How many rows of a step differ from the configuration.
    pub fn count_changed(&self, step: Policy) -> usize {
        (0..self.rows.len()).filter(|at| self.rows[*at].policy == step && self.is_changed(*at)).count()
    }

    /// Moves the cursor.
    pub fn move_by(&mut self, by: isize, height: usize) {
        let range = self.policy_rows();
        let last = range.end.saturating_sub(1).max(range.start);
        self.cursor = self.cursor.saturating_add_signed(by).clamp(range.start, last);
        self.keep_visible(height);
    }

    /// The setting shown on a line of the pane, below its title and its facts; the line under the focused slider is
    /// its profile, and belongs to it.
    pub fn row_at(&self, line: usize) -> Option<usize> {
        let range = self.policy_rows();
        let row = range.start + self.top + line;
        let row = if row > self.cursor { row - 1 } else { row };
        range.contains(&row).then_some(row)
    }

    /// Lines that the rows of the step take, the profile among them.
    pub fn line_count(&self) -> usize {
        let rows = self.policy_rows().len();
        if rows == 0 { 0 } else { rows + 1 }
    }

    /// Lines of the step that takes most.
    pub fn max_line_count(&self) -> usize {
        let rows = |step| self.rows.iter().filter(|row| row.policy == step).count();
        Policy::ALL.into_iter().map(rows).max().unwrap_or(0) + 1
    }

    /// Brings the focused row into sight; its profile takes a row of its own.
    pub fn keep_visible(&mut self, height: usize) {
        let room = height.saturating_sub(1).max(1);
        let offset = self.cursor.saturating_sub(self.policy_rows().start);
        self.top = self.top.clamp((offset + 1).saturating_sub(room), offset);
        self.top = self.top.min(self.line_count().saturating_sub(height));
    }

    /// Moves the focused setting by steps of its own.
    pub fn adjust(&mut self, steps: f64) {
        let Some(at) = self.focused_row() else { return };
        let (control, value) = (self.rows[at].setting.control, &mut self.values[at]);
        match control {
            Control::Slider { min, max, step, .. } => {
                let now = value.as_f64().unwrap_or(min);
                let moved = ((now / step).round() + steps) * step;
                *value = Value::Number(snap_to_step(moved.clamp(min, max.max(now)), step));
            }
            Control::Switch => *value = Value::Bool(!value.as_bool().unwrap_or(false)),
            Control::List | Control::Text | Control::Fixed { .. } => {}
        }
    }

    /// Puts a slider at a share of its track, 0 to 1, and the focus on it.
    pub fn slide_to(&mut self, row: usize, share: f64) {
        self.cursor = row;
        match self.focused_setting().map(|row| row.control) {
            Some(Control::Slider { min, max, step, .. }) => {
                let at = (min + (max - min) * share.clamp(0.0, 1.0)) / step;
                self.values[row] = Value::Number(snap_to_step(at.round() * step, step));
            }
            Some(Control::Switch) => self.adjust(1.0),
            _ => {}
        }
    }

    /// The focused setting back to the gateway's default.
    pub fn reset_to_default(&mut self) {
        self.set_focused(|row| row.default.clone());
    }

    /// The focused setting back to the configured value.
    pub fn reset_to_config(&mut self) {
        self.set_focused(|row| row.value.clone());
    }

    fn set_focused(&mut self, value: impl Fn(&PruneSetting) -> Value) {
        if let Some(at) = self.focused_row() {
            self.values[at] = value(&self.rows[at].setting);
        }
    }

    /// Every setting of every step back to the configured value.
    pub fn reset_all(&mut self) {
        self.values = self.rows.iter().map(|row| row.setting.value.clone()).collect();
        self.assumed_changes.clear();
    }

    /// The text a person edits for the focused row.
    pub fn edit_text(&self) -> String {
        let value = self.focused_row().and_then(|at| Some(input_text(self.unit(at), self.values.get(at)?)));
        value.unwrap_or_default()
    }

    /// Takes what was typed into the focused row; answers what was expected where it does not fit.
    pub fn set_text(&mut self, text: &str) -> Result<(), &'static str> {
        let Some(at) = self.focused_row() else { return Ok(()) };
        self.values[at] = parse_value(&self.rows[at].setting, text)?;
        Ok(())
    }

    /// What a row's slider counts.
    pub fn unit(&self, at: usize) -> Option<Unit> {
        self.setting(at)?.control.unit()
    }

    /// Where a row's tuned value stands on its track, 0 to 1.
    pub fn share(&self, at: usize) -> Option<f64> {
        slider_position(self.setting(at)?, self.values.get(at)?)
    }

    /// Where a row's configured value stands on its track.
    pub fn config_share(&self, at: usize) -> Option<f64> {
        let row = self.setting(at)?;
        slider_position(row, &row.value)
    }

    /// Whether the gateway would run the pruner now, under the tuned settings.
    pub fn gate_now(&self, inspection: &LoadedSession, now_ms: f64) -> Gate {
        inspection.gate(true, &self.prune_settings(), now_ms)
    }

    /// Computes the total after for positions along the focused slider; nothing for other controls. `gate` is the pruner's under
    /// given settings; the steps in `waiting` are left out until their texts are read.
    pub fn compute_profile(
        &mut self,
        inspection: &LoadedSession,
        gate: impl Fn(&PruneSettings) -> Gate,
        waiting: PolicySet,
    ) {
        let Some(at) = self.focused_row() else { return self.clear_profile() };
        let Control::Slider { min, max, step, .. } = self.rows[at].setting.control else {
            return self.clear_profile();
        };
        let mut values = self.values.clone();
        values[at] = Value::Null;
        let profiled = Some(ProfileKey {
            subject: inspection.view_key(),
            has_details: inspection.details.is_some(),
            row: at,
            other_values: values.clone(),
            policies: self.policies.without(waiting),
            is_open: gate(&self.prune_settings()).is_open(),
        });
        // A slider that is held moves along its own profile.
        if self.profile_key == profiled {
            return;
        }
        self.clear_profile();
        self.profile_key = profiled;
        let (prompt, context) = (&inspection.next_prompt, &inspection.context);
        for position in 0..PROFILE_POSITIONS {
            let share = position as f64 / (PROFILE_POSITIONS - 1) as f64;
            values[at] =
                Value::Number(snap_to_step(((min + (max - min) * share) / step).round() * step, step));
            let settings = settings_from_values(&self.rows, &values, &inspection.configured_settings);
            let settings = PolicySettings { enabled: self.policies.without(waiting), ..settings };
            let total = inspection
                .plan(&settings, gate(&settings.prune))
                .map(|plan| prompt.budget_after(context, &plan).total());
            self.profile.push(total.unwrap_or(prompt.fixed_tokens));
        }
    }

    /// There is no profile.
    pub(super) fn clear_profile(&mut self) {
        self.profile.clear();
        self.profile_key = None;
    }
}

#[cfg(test)]
#[path = "tuning_tests.rs"]
mod tests;
