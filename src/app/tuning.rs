//! The tuning pane: the steps as switches, and every setting of the focused one with its range, default, configured
//! value and origin. Moving one changes a copy; the gateway's own config is never touched.

use std::ops::Range;

use crate::gateway::prune_setting::{Control, PruneSetting, Unit};
use crate::gateway::pruning::PruneSettings;
use crate::gateway::setting_value::{parse_value, plain_text, share_of, tidy};
use crate::inspect::change::Change;
use crate::inspect::{Inspection, Subject};
use crate::js::Value;
use crate::policy::prune::Gate;
use crate::policy::settings::{StepSetting, settings_of};
use crate::policy::{Step, StepSet, StepSettings};

/// The settings as they are tuned.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningPane {
    /// The configured rows of every step, in the order of the steps; `contextPruning.mode` is left out: it is the
    /// switch in the title.
    pub rows: Vec<StepSetting>,
    /// The tuned values, one for each row.
    pub values: Vec<Value>,
    /// The step whose rows are shown.
    pub step: Step,
    /// The steps that are shown for the version, in order.
    pub shown: Vec<Step>,
    /// The steps that take part while a plan is shown.
    pub steps: StepSet,
    /// The steps that take part as configured.
    configured: StepSet,
    /// The focused row, counted over the rows of all steps. Of a step without settings there is none:
    /// [`Self::focused`].
    pub cursor: usize,
    /// The first visible row, counted from the first of the step.
    pub top: usize,
    /// Where the cursor was in each step, counted from its first row.
    left: [usize; Step::ALL.len()],
    /// The plan is shown.
    pub preview: bool,
    /// A shut gate leaves everything as it is; otherwise the effect of pruning is shown as if it ran.
    pub obey_gates: bool,
    /// The total after, for each position of the focused slider.
    pub profile: Vec<u64>,
    /// What that follows from.
    profiled: Option<Profiled>,
    /// Changed settings that no step has: the windows, and the limits of workspace files.
    pub assumed: Vec<Change>,
    /// What is being typed into the focused row.
    pub editing: Option<String>,
}

/// What the profile of a slider follows from: everything but where that slider stands.
#[derive(Debug, Clone, PartialEq)]
struct Profiled {
    subject: Subject,
    /// Texts were read.
    closer: bool,
    row: usize,
    /// The values of all other rows.
    others: Vec<Value>,
    steps: StepSet,
    is_open: bool,
}

/// Positions a slider's profile is computed for.
pub const PROFILE_STEPS: usize = 44;

impl Default for TuningPane {
    fn default() -> Self {
        let steps = StepSettings::default().steps;
        Self {
            rows: Vec::new(),
            values: Vec::new(),
            step: Step::Prune,
            steps,
            configured: steps,
            cursor: 0,
            top: 0,
            left: [0; Step::ALL.len()],
            preview: false,
            shown: Step::shown(StepSettings::default().ruleset.rules()),
            obey_gates: false,
            profile: Vec::new(),
            profiled: None,
            assumed: Vec::new(),
            editing: None,
        }
    }
}

/// The steps that take part as things are configured: those of the plan, and the turn limit where there is one.
pub(super) fn configured_steps(inspection: &Inspection) -> StepSet {
    let configured = &inspection.configured;
    configured
        .steps
        .with(Step::History, configured.history_limit > 0.0 || configured.steps.has(Step::History))
}

impl TuningPane {
    /// Shows the configured values of a session; what was tuned is kept wherever the same place says the same.
    pub fn configure(&mut self, inspection: &Inspection) {
        let offset = self.cursor.saturating_sub(self.range().start);
        let rows = inspection.settings.iter().filter(|row| row.key() != "contextPruning.mode");
        let rows: Vec<StepSetting> = rows.cloned().collect();
        self.values =
            rows.iter().map(|row| self.kept(row).unwrap_or_else(|| row.row.value.clone())).collect();
        self.rows = rows;
        self.shown = Step::shown(inspection.ruleset.ruleset.rules());
        if !self.shown.contains(&self.step) {
            self.step = Step::Prune;
        }
        let steps = configured_steps(inspection);
        if self.steps == std::mem::replace(&mut self.configured, steps) {
            self.steps = steps;
        }
        self.enter(offset);
    }

    /// The tuned value of a row that was there before with the same reader and the same configured value.
    fn kept(&self, row: &StepSetting) -> Option<Value> {
        let same = |old: &StepSetting| {
            old.key() == row.key() && old.reader == row.reader && old.row.value == row.row.value
        };
        let at = self.rows.iter().position(same).filter(|_| row.row.control.fixed().is_none())?;
        self.values.get(at).cloned()
    }

    /// The rows of the focused step, counted over all rows.
    pub fn range(&self) -> Range<usize> {
        let from = self.rows.partition_point(|row| row.step < self.step);
        from..self.rows.partition_point(|row| row.step <= self.step)
    }

    /// The focused row; none where the step has no settings.
    pub fn focused(&self) -> Option<usize> {
        Some(self.cursor).filter(|at| self.range().contains(at))
    }

    /// A row: its key without what stands before it, control, values, origin.
    pub fn row(&self, at: usize) -> Option<&PruneSetting> {
        self.rows.get(at).map(|row| &row.row)
    }

    /// The focused row.
    pub fn current(&self) -> Option<&PruneSetting> {
        self.row(self.focused()?)
    }

    /// Shows the rows of a step, the cursor where it was left.
    pub fn focus_step(&mut self, step: Step) {
        self.left[self.step as usize] = self.cursor.saturating_sub(self.range().start);
        self.step = step;
        self.enter(self.left[step as usize]);
    }

    /// Puts the cursor on a row of the step.
    fn enter(&mut self, offset: usize) {
        let range = self.range();
        self.cursor = range.start + offset.min(range.len().saturating_sub(1));
        self.top = self.top.min(offset);
    }

    /// The step so many further, around the end.
    pub fn step_by(&self, by: isize) -> Step {
        let at = self.shown.iter().position(|step| *step == self.step).unwrap_or(0) as isize;
        let at = (at + by).rem_euclid(self.shown.len().max(1) as isize);
        self.shown.get(at as usize).copied().unwrap_or(self.step)
    }

    /// Whether a step takes part in the plan that is shown.
    pub fn is_on(&self, step: Step) -> bool {
        self.preview && self.steps.has(step)
    }

    /// Switches a step. While no plan is shown none is on: the first one switched on is shown alone. With the last
    /// one the plan goes.
    pub fn toggle(&mut self, step: Step) {
        let shown = if self.preview { self.steps } else { StepSet::NONE };
        self.steps = shown.with(step, !shown.has(step));
        self.preview = !self.steps.is_empty();
    }

    /// Shows the plan or not. Without a step there would be nothing to show, so that pruning is switched on.
    pub fn toggle_preview(&mut self) {
        self.preview = !self.preview;
        if self.preview && self.steps.is_empty() {
            self.steps = StepSet::of(&[Step::Prune]);
        }
    }

    /// The plan is shown, the focused step in it: one of its settings was moved.
    pub fn show_step(&mut self) {
        self.steps = self.steps.with(self.step, true);
        self.preview = true;
    }

    /// The tuned settings of pruning, as the gateway would read them.
    pub fn settings(&self) -> PruneSettings {
        settings_of(&self.rows, &self.values, &StepSettings::default()).prune
    }

    /// The settings of every step: tuned where there are rows, configured otherwise.
    pub fn step_settings(&self, inspection: &Inspection) -> StepSettings {
        StepSettings { steps: self.steps, ..settings_of(&self.rows, &self.values, &inspection.configured) }
    }

    /// Whether a row differs from the configuration.
    pub fn is_changed(&self, at: usize) -> bool {
        self.values.get(at) != self.row(at).map(|row| &row.value)
    }

    /// Whether anything differs from the configuration.
    pub fn any_changed(&self) -> bool {
        !self.assumed.is_empty() || (0..self.rows.len()).any(|at| self.is_changed(at))
    }

    /// How many rows of a step differ from the configuration.
    pub fn changed(&self, step: Step) -> usize {
        (0..self.rows.len()).filter(|at| self.rows[*at].step == step && self.is_changed(*at)).count()
    }

    /// Moves the cursor.
    pub fn move_by(&mut self, by: isize, height: usize) {
        let range = self.range();
        let last = range.end.saturating_sub(1).max(range.start);
        self.cursor = self.cursor.saturating_add_signed(by).clamp(range.start, last);
        self.keep(height);
    }

    /// The setting shown on a line of the pane, below its title and its facts; the line under the focused slider is
    /// its profile, and belongs to it.
    pub fn row_at(&self, line: usize) -> Option<usize> {
        let range = self.range();
        let row = range.start + self.top + line;
        let row = if row > self.cursor { row - 1 } else { row };
        range.contains(&row).then_some(row)
    }

    /// Lines that the rows of the step take, the profile among them.
    pub fn lines(&self) -> usize {
        let rows = self.range().len();
        if rows == 0 { 0 } else { rows + 1 }
    }

    /// Lines of the step that takes most.
    pub fn most_lines(&self) -> usize {
        let rows = |step| self.rows.iter().filter(|row| row.step == step).count();
        Step::ALL.into_iter().map(rows).max().unwrap_or(0) + 1
    }

    /// Brings the focused row into sight; its profile takes a row of its own.
    pub fn keep(&mut self, height: usize) {
        let room = height.saturating_sub(1).max(1);
        let offset = self.cursor.saturating_sub(self.range().start);
        self.top = self.top.clamp((offset + 1).saturating_sub(room), offset);
        self.top = self.top.min(self.lines().saturating_sub(height));
    }

    /// Moves the focused setting by steps of its own.
    pub fn adjust(&mut self, steps: f64) {
        let Some(at) = self.focused() else { return };
        let (control, value) = (self.rows[at].row.control, &mut self.values[at]);
        match control {
            Control::Slider { min, max, step, .. } => {
                let now = value.as_f64().unwrap_or(min);
                let moved = ((now / step).round() + steps) * step;
                *value = Value::Number(tidy(moved.clamp(min, max.max(now)), step));
            }
            Control::Switch => *value = Value::Bool(!value.as_bool().unwrap_or(false)),
            Control::List | Control::Text | Control::Fixed { .. } => {}
        }
    }

    /// Puts a slider at a share of its track, 0 to 1, and the focus on it.
    pub fn slide_to(&mut self, row: usize, share: f64) {
        self.cursor = row;
        match self.current().map(|row| row.control) {
            Some(Control::Slider { min, max, step, .. }) => {
                let at = (min + (max - min) * share.clamp(0.0, 1.0)) / step;
                self.values[row] = Value::Number(tidy(at.round() * step, step));
            }
            Some(Control::Switch) => self.adjust(1.0),
            _ => {}
        }
    }

    /// The focused setting back to the gateway's default.
    pub fn to_default(&mut self) {
        self.set_focused(|row| row.default.clone());
    }

    /// The focused setting back to the configured value.
    pub fn to_config(&mut self) {
        self.set_focused(|row| row.value.clone());
    }

    fn set_focused(&mut self, value: impl Fn(&PruneSetting) -> Value) {
        if let Some(at) = self.focused() {
            self.values[at] = value(&self.rows[at].row);
        }
    }

    /// Every setting of every step back to the configured value.
    pub fn all_to_config(&mut self) {
        self.values = self.rows.iter().map(|row| row.row.value.clone()).collect();
        self.assumed.clear();
    }

    /// The text a person edits for the focused row.
    pub fn edit_text(&self) -> String {
        let value = self.focused().and_then(|at| Some(plain_text(self.unit(at), self.values.get(at)?)));
        value.unwrap_or_default()
    }

    /// Takes what was typed into the focused row; answers what was expected where it does not fit.
    pub fn set_text(&mut self, text: &str) -> Result<(), &'static str> {
        let Some(at) = self.focused() else { return Ok(()) };
        self.values[at] = parse_value(&self.rows[at].row, text)?;
        Ok(())
    }

    /// What a row's slider counts.
    pub fn unit(&self, at: usize) -> Option<Unit> {
        self.row(at)?.control.unit()
    }

    /// Where a row's tuned value stands on its track, 0 to 1.
    pub fn share(&self, at: usize) -> Option<f64> {
        share_of(self.row(at)?, self.values.get(at)?)
    }

    /// Where a row's configured value stands on its track.
    pub fn config_share(&self, at: usize) -> Option<f64> {
        let row = self.row(at)?;
        share_of(row, &row.value)
    }

    /// Whether the gateway would run the pruner now, under the tuned settings.
    pub fn gate_now(&self, inspection: &Inspection, now_ms: f64) -> Gate {
        inspection.gate(true, &self.settings(), now_ms)
    }

    /// Computes the total after for positions along the focused slider; nothing for other controls. `gate` is the pruner's under
    /// given settings; the steps in `waiting` are left out until their texts are read.
    pub fn compute_profile(
        &mut self,
        inspection: &Inspection,
        gate: impl Fn(&PruneSettings) -> Gate,
        waiting: StepSet,
    ) {
        let Some(at) = self.focused() else { return self.forget_profile() };
        let Control::Slider { min, max, step, .. } = self.rows[at].row.control else {
            return self.forget_profile();
        };
        let mut values = self.values.clone();
        values[at] = Value::Null;
        let profiled = Some(Profiled {
            subject: inspection.subject(),
            closer: inspection.closer.is_some(),
            row: at,
            others: values.clone(),
            steps: self.steps.without(waiting),
            is_open: gate(&self.settings()).is_open(),
        });
        // A slider that is held moves along its own profile.
        if self.profiled == profiled {
            return;
        }
        self.forget_profile();
        self.profiled = profiled;
        let (prompt, context) = (&inspection.next_prompt, &inspection.context);
        for position in 0..PROFILE_STEPS {
            let share = position as f64 / (PROFILE_STEPS - 1) as f64;
            values[at] = Value::Number(tidy(((min + (max - min) * share) / step).round() * step, step));
            let settings = settings_of(&self.rows, &values, &inspection.configured);
            let settings = StepSettings { steps: self.steps.without(waiting), ..settings };
            let total = inspection
                .plan(&settings, gate(&settings.prune))
                .map(|plan| prompt.budget_after(context, &plan).total());
            self.profile.push(total.unwrap_or(prompt.fixed));
        }
    }

    /// There is no profile.
    pub(super) fn forget_profile(&mut self) {
        self.profile.clear();
        self.profiled = None;
    }
}

#[cfg(test)]
#[path = "tuning_tests.rs"]
mod tests;
