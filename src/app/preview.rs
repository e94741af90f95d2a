//! The plan of the tuned settings, made anew with every key that moves one, and what that changed.

use std::sync::Arc;

use crate::app::figures::{Figures, failed_calls};
use crate::app::layout::Pane;
use crate::app::state::{App, Flash};
use crate::app::target::Target;
use crate::app::texts::told;
use crate::app::tuning::configured_steps;
use crate::gateway::pruning::PruneSettings;
use crate::inspect::{Inspection, SourceOfCount};
use crate::plan::Plan;
use crate::policy::prune::Gate;
use crate::policy::{Step, StepSet, StepSettings};

/// How long a changed value stays marked, ms.
const FLASH_MS: i64 = 400;
/// Messages up to which a slider's profile is computed with each key: it takes a plan for each position. Steps that look
/// closer each take as long as all the others together.
const PROFILE_MESSAGES: usize = 3_000;

/// A replayed prompt that differs from the planned one by more than a sixth holds other messages: the replay compacted earlier.
const UNLIKE: u64 = 6;

impl App {
    /// Makes the plan anew. `flash` marks what differs from the plan before.
    pub(super) fn replan(&mut self, flash: bool) {
        let before = self.plan.take();
        let values = self.told_values.take();
        self.waiting = StepSet::NONE;
        self.assume();
        let Some(inspection) = self.planned_session().cloned() else { return };
        let gate = gate_of(&self.tuning.settings(), &inspection, self.obeys_gates(), self.call_ms() as f64);
        if self.tuning.preview {
            let (plan, waiting) = told(&inspection, self.tuning.step_settings(&inspection), gate);
            self.waiting = waiting;
            match plan {
                Ok(plan) => self.plan = Some(Arc::new(self.with_made_summary(&inspection, plan))),
                Err(error) => self.toast(format!("no plan can be made: {error}"), true),
            }
            self.profile(&inspection);
            self.told_values = Some(self.tuning.values.clone());
        }
        self.weigh_steps(&inspection, gate);
        let height = self.height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.count(self.plan.as_deref(), height);
        }
        let max_chars = self.tuning.settings().soft_trim.max_chars;
        // The path is as long as the session: what failed on it is counted once.
        let subject = inspection.subject();
        let failed = match &self.failed {
            Some((known, failed)) if *known == subject => *failed,
            _ => failed_calls(&inspection),
        };
        self.failed = Some((subject, failed));
        self.figures = Figures {
            failed,
            ..Figures::count(&inspection, self.plan.as_deref(), max_chars, self.call_ms() as f64)
        };
        self.recount();
        if flash {
            let moved = values.is_some() && values != self.told_values;
            self.flash = self.difference(before.as_deref(), moved);
        }
        if self.plan.is_some() != before.is_some() {
            self.keep_in_sight();
        }
    }

    /// Whether a shut gate leaves everything as it is. A call that was made, and all calls together, are shown as the gateway would
    /// send them: only the next call may be looked at as if the gate were open.
    fn obeys_gates(&self) -> bool {
        self.tuning.obey_gates || self.target != Target::NextCall
    }

    /// Puts the bars on the scale of the target's replay, once it is there.
    pub(super) fn recount(&mut self) {
        let Some((recorded, counted, tuned)) = self.target_tokens() else { return };
        let figures = &mut self.figures;
        figures.now = figures.now.scaled_to(recorded);
        if let Some((after, tuned)) = figures.after.zip(tuned) {
            let off = after.total().abs_diff(tuned);
            figures.parts_unknown = off * UNLIKE > after.total().max(tuned);
            figures.after = Some(after.scaled_to(tuned));
        }
        figures.source = if counted { SourceOfCount::Measured } else { SourceOfCount::Calibrated };
    }

    fn profile(&mut self, inspection: &Inspection) {
        if self.target == Target::WholeSession {
            return self.tuning.forget_profile();
        }
        let rules = inspection.ruleset.ruleset.rules();
        let closer = self.tuning.steps.iter().filter(|step| step.needs_texture(rules)).count();
        if inspection.context.messages.len() * (1 + closer) <= PROFILE_MESSAGES {
            let (obeys, at) = (self.obeys_gates(), self.call_ms() as f64);
            let gate = |settings: &PruneSettings| gate_of(settings, inspection, obeys, at);
            self.tuning.compute_profile(inspection, gate, self.waiting);
        } else {
            self.tuning.forget_profile();
        }
    }

    /// What the last key changed: at most a screenful of numbers flashes. `moved` tells that a setting was.
    fn difference(&self, before: Option<&Plan>, moved: bool) -> Flash {
        let (Some(before), Some(after)) = (before, self.plan.as_deref()) else { return Flash::default() };
        let differs = |at: &usize| before.tokens_after.get(*at) != after.tokens_after.get(*at);
        Flash {
            messages: self.visible_messages().into_iter().filter(differs).collect(),
            setting: self.tuning.focused().filter(|_| moved),
            total: before.total_after() != after.total_after(),
            until_ms: if self.options.motion { self.now_ms + FLASH_MS } else { i64::MAX },
        }
    }

    /// Messages of the context that stand for rows in sight.
    fn visible_messages(&self) -> Vec<usize> {
        let height = self.height(Pane::Transcript);
        let Some(pane) = &self.transcript else { return Vec::new() };
        let rows = pane.rows.iter().skip(pane.scroll.top).take(height);
        rows.flat_map(|row| row.message.map(|first| first..first + row.messages as usize).unwrap_or_default())
            .collect()
    }
}

/// The gate of the pruner that a plan is made with at a moment (ms); where gates are not obeyed, an open one.
fn gate_of(settings: &PruneSettings, inspection: &Inspection, obeys: bool, at_ms: f64) -> Gate {
    let gate = inspection.gate(true, settings, at_ms);
    if obeys || gate.is_open() { gate } else { Gate::Open { idle_ms: f64::NAN } }
}

/// What each configured step would free on its own if nothing held it back, as far as sizes tell; none where that
/// cannot be measured.
pub(super) fn would_save(inspection: &Inspection) -> Vec<(Step, Option<u64>)> {
    let steps = configured_steps(inspection).with(Step::Prune, true);
    let freed = |step| {
        let settings = StepSettings { steps: StepSet::of(&[step]), ..inspection.configured.clone() };
        let plan = inspection.plan(&settings, Gate::Open { idle_ms: f64::NAN }).ok()?;
        Some(inspection.freed_by(&plan))
    };
    steps.iter().map(|step| (step, freed(step))).collect()
}
