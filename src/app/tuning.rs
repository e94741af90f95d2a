//! The tuning pane: switches for the policies, and each setting of the focused policy with its range, default,
//! configured value and origin. It changes a copy of the settings; the gateway's config file is never written.

use std::ops::Range;

use crate::config::parse_share;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::setting_value::{self, moved_value, parse_value, slider_position, slider_value};
use crate::gateway::setting_value::{Control, Unit};
use crate::js::Value;
use crate::policy::prune::Gate;
use crate::policy::settings::{PolicySetting, SettingId, SettingRow, settings_from_values};
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::setting_change::SettingChange;
use crate::session::{LoadedSession, SessionViewKey};
use crate::units::{Moment, Tokens};

/// The tuned settings and the cursor over them.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningPane {
    /// The configured rows of every policy, in policy order. `contextPruning.mode` is left out: the switch in the
    /// title sets it.
    pub rows: Vec<PolicySetting>,
    /// The tuned values, one per row.
    pub values: Vec<Value>,
    /// The policy whose rows are shown.
    pub policy: Policy,
    /// The policies that the version has, in order.
    pub visible_policies: Vec<Policy>,
    /// The enabled policies while a plan is shown.
    pub policies: PolicySet,
    /// The policies that the config enables.
    configured_policies: PolicySet,
    /// The focused row, as an index into `rows`. It focuses nothing when the policy has no settings: see
    /// [`Self::focused_row`].
    pub cursor: usize,
    /// First visible row, counted from the policy's first row.
    pub top: usize,
    /// The last cursor in each policy, counted from its first row.
    saved_offsets: [usize; Policy::ALL.len()],
    /// Whether the plan is shown.
    pub preview: bool,
    /// Whether a closed gate prevents pruning in the plan, as it does in the gateway; otherwise the plan shows pruning
    /// as if it ran.
    pub respect_gates: bool,
    /// The total after the plan, in tokens, at each position of the focused slider.
    profile: Vec<u64>,
    /// Cache key of `profile`.
    profile_key: Option<ProfileKey>,
    /// Changed settings that belong to no policy: the windows, and the limits of workspace files.
    pub assumed_changes: Vec<SettingChange>,
    /// The typed text of the focused row.
    pub editing: Option<String>,
}

/// Cache key of a slider's profile: every input except the position of that slider.
#[derive(Debug, Clone, PartialEq)]
struct ProfileKey {
    subject: SessionViewKey,
    has_details: bool,
    row: usize,
    /// The tuned values, with `Null` for the slider itself.
    other_values: Vec<Value>,
    policies: PolicySet,
    is_open: bool,
}

/// Positions at which a slider's profile is computed.
pub const PROFILE_POSITIONS: usize = 44;

impl Default for TuningPane {
    fn default() -> Self {
        let policies = PolicySettings::default().enabled;
        Self {
            rows: Vec::new(),
            values: Vec::new(),
            policy: Policy::Prune,
            policies,
            configured_policies: policies,
            cursor: 0,
            top: 0,
            saved_offsets: [0; Policy::ALL.len()],
            preview: false,
            visible_policies: Policy::visible_for(PolicySettings::default().ruleset.rules()),
            respect_gates: true,
            profile: Vec::new(),
            profile_key: None,
            assumed_changes: Vec::new(),
            editing: None,
        }
    }
}

/// Returns the configured policies: those of the plan, and the turn limit when one is set.
pub(super) fn configured_policies(session: &LoadedSession) -> PolicySet {
    let configured = &session.configured_settings;
    configured
        .enabled
        .with(Policy::History, configured.history_limit > 0.0 || configured.enabled.has(Policy::History))
}

impl TuningPane {
    /// Shows the configured values of a session. A tuned value survives when its row has the same owner and
    /// configured value as before.
    pub fn configure(&mut self, session: &LoadedSession) {
        let offset = self.cursor.saturating_sub(self.policy_rows().start);
        let rows = session.setting_rows.iter().filter(|row| row.setting.id != SettingId::PruneMode);
        let rows: Vec<PolicySetting> = rows.cloned().collect();
        self.values = rows
            .iter()
            .map(|row| self.retained_value(row).unwrap_or_else(|| row.setting.value.clone()))
            .collect();
        self.rows = rows;
        self.visible_policies = Policy::visible_for(session.ruleset.id.rules());
        if !self.visible_policies.contains(&self.policy) {
            self.policy = Policy::Prune;
        }
        let policies = configured_policies(session);
        if self.policies == std::mem::replace(&mut self.configured_policies, policies) {
            self.policies = policies;
        }
        self.move_to_offset(offset);
    }

    /// Returns the tuned value of an earlier row with the same key, owner and configured value, unless the row is
    /// fixed now.
    fn retained_value(&self, row: &PolicySetting) -> Option<Value> {
        let same = |old: &PolicySetting| {
            old.setting.id == row.setting.id
                && old.owner == row.owner
                && old.setting.value == row.setting.value
        };
        let at = self.rows.iter().position(same).filter(|_| row.setting.control.fixed_reason().is_none())?;
        self.values.get(at).cloned()
    }

    /// Returns the rows of the focused policy, as a range of `rows`.
    pub fn policy_rows(&self) -> Range<usize> {
        let from = self.rows.partition_point(|row| row.policy < self.policy);
        from..self.rows.partition_point(|row| row.policy <= self.policy)
    }

    /// Returns the focused row; `None` when the policy has no settings.
    pub fn focused_row(&self) -> Option<usize> {
        Some(self.cursor).filter(|at| self.policy_rows().contains(at))
    }

    pub fn setting(&self, at: usize) -> Option<&SettingRow> {
        self.rows.get(at).map(|row| &row.setting)
    }

    pub fn focused_setting(&self) -> Option<&SettingRow> {
        self.setting(self.focused_row()?)
    }

    /// Shows the rows of a policy with its last cursor.
    pub fn focus_policy(&mut self, policy: Policy) {
        self.saved_offsets[self.policy as usize] = self.cursor.saturating_sub(self.policy_rows().start);
        self.policy = policy;
        self.move_to_offset(self.saved_offsets[policy as usize]);
    }

    /// Moves the cursor to an offset from the policy's first row.
    fn move_to_offset(&mut self, offset: usize) {
        let range = self.policy_rows();
        self.cursor = range.start + offset.min(range.len().saturating_sub(1));
        self.top = self.top.min(offset);
    }

    /// Returns the policy `by` positions away, wrapping at the ends.
    pub fn policy_by(&self, by: isize) -> Policy {
        let at = self.visible_policies.iter().position(|policy| *policy == self.policy).unwrap_or(0) as isize;
        let at = (at + by).rem_euclid(self.visible_policies.len().max(1) as isize);
        self.visible_policies.get(at as usize).copied().unwrap_or(self.policy)
    }

    pub fn is_policy_on(&self, policy: Policy) -> bool {
        self.preview && self.policies.has(policy)
    }

    /// Toggles a policy. While no plan is shown, every policy counts as off, so the first one is shown alone. Turning
    /// off the last one hides the plan.
    pub fn toggle_policy(&mut self, policy: Policy) {
        let shown = if self.preview { self.policies } else { PolicySet::NONE };
        self.policies = shown.with(policy, !shown.has(policy));
        self.preview = !self.policies.is_empty();
    }

    /// Shows or hides the plan. Turns pruning on when no policy is on, as there would be nothing to show.
    pub fn toggle_preview(&mut self) {
        self.preview = !self.preview;
        if self.preview && self.policies.is_empty() {
            self.policies = PolicySet::of(&[Policy::Prune]);
        }
    }

    /// Shows the plan with the focused policy, after one of its settings moved.
    pub fn enable_focused_policy(&mut self) {
        self.policies = self.policies.with(self.policy, true);
        self.preview = true;
    }

    /// Returns the tuned pruning settings as the gateway would read them.
    pub fn prune_settings(&self) -> PruneSettings {
        settings_from_values(&self.rows, &self.values, &PolicySettings::default()).prune
    }

    /// Returns the settings of every policy: tuned when there are rows, otherwise configured.
    pub fn policy_settings(&self, session: &LoadedSession) -> PolicySettings {
        PolicySettings {
            enabled: self.policies,
            ..settings_from_values(&self.rows, &self.values, &session.configured_settings)
        }
    }

    pub fn is_changed(&self, at: usize) -> bool {
        self.values.get(at) != self.setting(at).map(|row| &row.value)
    }

    /// Whether any setting differs from the config.
    pub fn has_changes(&self) -> bool {
        !self.assumed_changes.is_empty() || (0..self.rows.len()).any(|at| self.is_changed(at))
    }

    /// Counts the rows of a policy that differ from the config.
    pub fn count_changed(&self, policy: Policy) -> usize {
        (0..self.rows.len()).filter(|at| self.rows[*at].policy == policy && self.is_changed(*at)).count()
    }

    pub fn move_by(&mut self, by: isize, height: usize) {
        let range = self.policy_rows();
        let last = range.end.saturating_sub(1).max(range.start);
        self.cursor = self.cursor.saturating_add_signed(by).clamp(range.start, last);
        self.keep_visible(height);
    }

    /// Returns the row on a line of the pane, counted below its title and facts. The line under the focused slider is
    /// its profile and maps to the same row.
    pub fn row_at(&self, line: usize) -> Option<usize> {
        let range = self.policy_rows();
        let row = range.start + self.top + line;
        let row = if row > self.cursor { row - 1 } else { row };
        range.contains(&row).then_some(row)
    }

    /// Counts the lines of the policy's rows, including the profile.
    pub fn line_count(&self) -> usize {
        let rows = self.policy_rows().len();
        if rows == 0 { 0 } else { rows + 1 }
    }

    /// Returns the lines that the policy with the most rows takes.
    pub fn max_line_count(&self) -> usize {
        let rows = |policy| self.rows.iter().filter(|row| row.policy == policy).count();
        Policy::ALL.into_iter().map(rows).max().unwrap_or(0) + 1
    }

    /// Scrolls so that the focused row and the profile below it are visible.
    pub fn keep_visible(&mut self, height: usize) {
        let room = height.saturating_sub(1).max(1);
        let offset = self.cursor.saturating_sub(self.policy_rows().start);
        self.top = self.top.clamp((offset + 1).saturating_sub(room), offset);
        self.top = self.top.min(self.line_count().saturating_sub(height));
    }

    /// Moves the focused slider by its own step size, or toggles a switch.
    pub fn adjust(&mut self, moves: f64) {
        let Some(at) = self.focused_row() else { return };
        let (control, value) = (self.rows[at].setting.control, &mut self.values[at]);
        match control {
            Control::Slider { min, .. } => {
                let moved = moved_value(control, value.as_f64().unwrap_or(min), moves);
                *value = moved.map_or(Value::Null, Value::Number);
            }
            Control::Switch => *value = Value::Bool(!value.as_bool().unwrap_or(false)),
            Control::List | Control::Text | Control::Fixed { .. } => {}
        }
    }

    /// Focuses a row and moves its slider to a share of the track, 0 to 1.
    pub fn slide_to(&mut self, row: usize, share: f64) {
        self.cursor = row;
        let Some(control) = self.focused_setting().map(|row| row.control) else { return };
        match slider_value(control, share.clamp(0.0, 1.0)) {
            Some(value) => self.values[row] = Value::Number(value),
            None if control == Control::Switch => self.adjust(1.0),
            None => {}
        }
    }

    pub fn reset_to_default(&mut self) {
        self.set_focused(|row| row.default.clone());
    }

    pub fn reset_to_config(&mut self) {
        self.set_focused(|row| row.value.clone());
    }

    fn set_focused(&mut self, value: impl Fn(&SettingRow) -> Value) {
        if let Some(at) = self.focused_row() {
            self.values[at] = value(&self.rows[at].setting);
        }
    }

    pub fn reset_all(&mut self) {
        self.values = self.rows.iter().map(|row| row.setting.value.clone()).collect();
        self.assumed_changes.clear();
    }

    /// Returns the focused value as editable text.
    pub fn edit_text(&self) -> String {
        let value = self
            .focused_row()
            .and_then(|at| Some(setting_value::edit_text(self.unit(at), self.values.get(at)?)));
        value.unwrap_or_default()
    }

    /// Parses typed text into the focused row; a trigger may be a share of the window in tokens.
    ///
    /// # Errors
    /// The expected form, when the text is not valid for the setting.
    pub fn set_text(&mut self, text: &str, window: Tokens) -> Result<(), &'static str> {
        let Some(at) = self.focused_row() else { return Ok(()) };
        let setting = &self.rows[at].setting;
        let share = text.contains('%').then(|| parse_share(text).ok()).flatten();
        self.values[at] = match share.filter(|_| setting.id.spec().takes_share()) {
            Some(share) => Value::Number((window.max(Tokens::ZERO) * share).floor().get()),
            None => parse_value(setting.control, text)?,
        };
        Ok(())
    }

    /// The unit of a row's slider.
    pub fn unit(&self, at: usize) -> Option<Unit> {
        self.setting(at)?.control.unit()
    }

    /// Returns the tuned position on the slider's track, 0 to 1.
    pub fn share(&self, at: usize) -> Option<f64> {
        slider_position(self.setting(at)?.control, self.values.get(at)?)
    }

    /// Returns the configured position on the slider's track, 0 to 1.
    pub fn config_share(&self, at: usize) -> Option<f64> {
        let row = self.setting(at)?;
        slider_position(row.control, &row.value)
    }

    /// Returns the gate of the pruner at `now_ms` under the tuned settings.
    pub fn gate_now(&self, session: &LoadedSession, now_ms: Moment) -> Gate {
        session.gate(true, &self.prune_settings(), now_ms)
    }

    /// Computes the total after the plan, in tokens, along the focused slider; clears the profile for other controls.
    /// `gate` returns the pruner's gate under some settings; policies in `waiting` are left out until their texts are
    /// read.
    pub fn compute_profile(
        &mut self,
        session: &LoadedSession,
        gate: impl Fn(&PruneSettings) -> Gate,
        waiting: PolicySet,
    ) {
        let Some(at) = self.focused_row() else { return self.clear_profile() };
        let control = self.rows[at].setting.control;
        if !matches!(control, Control::Slider { .. }) {
            return self.clear_profile();
        }
        let mut values = self.values.clone();
        values[at] = Value::Null;
        let profiled = Some(ProfileKey {
            subject: session.view_key(),
            has_details: session.details.is_some(),
            row: at,
            other_values: values.clone(),
            policies: self.policies.without(waiting),
            is_open: gate(&self.prune_settings()).is_open(),
        });
        // Dragging the slider changes only its own position, so the profile stays valid.
        if self.profile_key == profiled {
            return;
        }
        self.clear_profile();
        self.profile_key = profiled;
        let prompt = &session.next_prompt;
        for position in 0..PROFILE_POSITIONS {
            let share = position as f64 / (PROFILE_POSITIONS - 1) as f64;
            values[at] = slider_value(control, share).map_or(Value::Null, Value::Number);
            let settings = settings_from_values(&self.rows, &values, &session.configured_settings);
            let settings = PolicySettings { enabled: self.policies.without(waiting), ..settings };
            let total = session
                .plan(&settings, gate(&settings.prune))
                .map(|plan| session.next_budget_after(&plan).total());
            self.profile.push(total.unwrap_or(prompt.fixed_tokens));
        }
    }

    /// Returns the profile of the focused slider; empty while it is not computed. One that was computed for another
    /// row, as while the preview was on, belongs to that row.
    pub fn profile(&self) -> &[u64] {
        let row = self.profile_key.as_ref().map(|key| key.row);
        if row.is_some() && row == self.focused_row() { &self.profile } else { &[] }
    }

    pub(super) fn clear_profile(&mut self) {
        self.profile.clear();
        self.profile_key = None;
    }
}

#[cfg(test)]
#[path = "tuning_tests.rs"]
mod tests;
