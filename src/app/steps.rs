//! The screen of the steps: a cursor over all of them, what each does alone, and the way to its settings.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::{App, Overlay};
use crate::inspect::Inspection;
use crate::inspect::summary_calls::{CallsAsked, SummaryCalls};
use crate::plan::StepEffect;
use crate::policy::prune::Gate;
use crate::policy::{Step, StepSet, StepSettings};

/// Messages up to which every step is also told on its own with each key: it takes a plan for each of them.
const ALONE_MESSAGES: usize = 10_000;

/// What is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepsScreen {
    /// The step under the cursor, counted over those that are shown.
    pub cursor: usize,
    /// The steps that are shown for the version, in order.
    pub shown: Vec<Step>,
    /// What each step does on its own, in the order of the steps; none where that is not known, or not yet.
    pub alone: Vec<Option<StepEffect>>,
    /// The calls of the planned compaction's summary as they were asked for last, and the answer.
    pub calls: Option<(CallsAsked, Option<Result<SummaryCalls, String>>)>,
}

impl StepsScreen {
    /// The step under the cursor.
    pub fn selected(&self) -> Step {
        self.shown.get(self.cursor).or(self.shown.last()).copied().unwrap_or(Step::Prune)
    }

    /// What a step does on its own.
    pub fn alone(&self, step: Step) -> Option<&StepEffect> {
        self.alone.get(step as usize)?.as_ref()
    }

    /// Moves the cursor.
    pub(super) fn move_by(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.shown.len().saturating_sub(1));
    }

    /// The lines of the list: the steps in order under their moments, and all together.
    pub fn lines(&self) -> Vec<StepsLine> {
        let mut lines = Vec::new();
        let mut moment = None;
        for step in self.shown.iter().copied() {
            if moment.replace(step.moment()) != Some(step.moment()) {
                lines.push(StepsLine::Moment(step.moment()));
            }
            lines.push(StepsLine::Step(step));
        }
        lines.push(StepsLine::Total);
        lines
    }

    /// The step on a line of the area; its title is line 0.
    fn step_at(&self, line: usize) -> Option<Step> {
        match self.lines().get(line.checked_sub(1)?)? {
            StepsLine::Step(step) => Some(*step),
            _ => None,
        }
    }
}

impl App {
    /// Where the screen stands.
    pub fn steps_area(&self) -> Rect {
        self.layout().under_bar(self.size)
    }

    /// Opens the screen, the focused step under the cursor.
    pub(super) fn show_steps(&mut self) {
        if self.inspection().is_none() {
            self.toast("no session is open".into(), false);
            return;
        }
        let shown = self.tuning.shown.clone();
        let cursor = shown.iter().position(|step| *step == self.tuning.step).unwrap_or(0);
        let screen = StepsScreen { cursor, shown, ..StepsScreen::default() };
        self.overlay = Some(Overlay::Steps(screen));
        self.replan(false);
    }

    /// Tells every step on its own, while the screen shows it.
    pub(super) fn weigh_steps(&mut self, inspection: &Inspection, gate: Gate) {
        if !matches!(self.overlay, Some(Overlay::Steps(_))) {
            return;
        }
        let few = inspection.context.messages.len() <= ALONE_MESSAGES;
        let settings = self.tuning.step_settings(inspection);
        let effect = |step: Step| {
            let settings = StepSettings { steps: StepSet::of(&[step]), ..settings.clone() };
            inspection.plan(&settings, gate).ok()?.effects.pop()
        };
        let alone = Step::ALL.into_iter().map(|step| if few { effect(step) } else { None }).collect();
        if let Some(Overlay::Steps(screen)) = &mut self.overlay {
            screen.alone = alone;
        }
    }

    /// Asks for the calls of the planned compaction's summary, while the screen shows it.
    pub(super) fn want_calls(&mut self, effects: &mut Vec<Effect>) {
        let plan = self.plan.as_deref().filter(|plan| plan.compaction.is_some());
        let (Some(plan), Some(inspection)) = (plan, self.inspection()) else { return };
        let inspection = Arc::clone(inspection);
        let asked = CallsAsked {
            epoch: inspection.epoch,
            compaction: plan.settings.compaction,
            summary_tokens: plan.settings.summary_tokens,
        };
        let Some(Overlay::Steps(screen)) = &mut self.overlay else { return };
        if screen.calls.as_ref().is_none_or(|(known, _)| *known != asked) {
            screen.calls = Some((asked, None));
            effects.push(Effect::TellCalls { inspection, asked });
        }
    }

    /// Takes the calls, where they are still those that are asked for.
    pub(super) fn take_calls(&mut self, asked: &CallsAsked, told: Result<SummaryCalls, String>) {
        let Some(Overlay::Steps(screen)) = &mut self.overlay else { return };
        if let Some((_, answer)) = screen.calls.as_mut().filter(|(known, _)| known == asked) {
            *answer = Some(told);
        }
    }

    /// Switches the step under the cursor of the screen, else the one the tuning pane shows.
    pub(super) fn toggle_step(&mut self) {
        match &self.overlay {
            None | Some(Overlay::Timeline) => {}
            Some(Overlay::Steps(screen)) => {
                let step = screen.selected();
                self.tuning.focus_step(step);
            }
            // Nobody would see it.
            Some(_) => return,
        }
        self.tuning.toggle(self.tuning.step);
        self.replan(true);
    }

    /// Shows the settings of the step that stands so many further.
    pub(super) fn step_focus_by(&mut self, by: isize) {
        self.focus_step(self.tuning.step_by(by));
    }

    pub(super) fn focus_step(&mut self, step: Step) {
        self.tuning.focus_step(step);
        self.replan(false);
        self.keep_in_sight();
    }

    /// From the screen to the settings of the step under the cursor.
    pub(super) fn open_step(&mut self) {
        let Some(Overlay::Steps(screen)) = &self.overlay else { return };
        let step = screen.selected();
        self.overlay = None;
        self.zoom = false;
        self.focus_step(step);
        self.focus_on(Pane::Tuning);
    }

    /// A click puts the cursor on a step; one on the sign of a step, or on the step under the cursor, switches it.
    pub(super) fn click_steps(&mut self, column: u16, row: u16) -> Vec<Effect> {
        let area = self.steps_area();
        let Some(Overlay::Steps(screen)) = &mut self.overlay else { return Vec::new() };
        let line = usize::from(row.saturating_sub(area.y));
        let Some(step) = screen.step_at(line) else { return Vec::new() };
        let again = screen.selected() == step;
        screen.cursor = screen.shown.iter().position(|shown| *shown == step).unwrap_or(0);
        if again || column < SIGN_COLUMNS {
            self.toggle_step();
        }
        Vec::new()
    }
}

/// Columns before the name of a step: a click there means its sign.
const SIGN_COLUMNS: u16 = 4;

/// A line of the screen's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepsLine {
    /// When the steps below are taken.
    Moment(crate::policy::step::Moment),
    /// A step.
    Step(Step),
    /// All together.
    Total,
}
