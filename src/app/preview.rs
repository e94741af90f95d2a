//! The plan of the tuned settings, made anew with every key that moves one, and what that changed.

use std::sync::Arc;

use crate::app::figures::Figures;
use crate::app::layout::Pane;
use crate::app::state::{App, Flash};
use crate::inspect::Inspection;
use crate::plan::Plan;
use crate::policy::prune::Gate;

/// How long a changed value stays marked, ms.
const FLASH_MS: i64 = 400;
/// Messages up to which a slider's profile is computed with each key: it takes a plan for each position.
const PROFILE_MESSAGES: usize = 5_000;

impl App {
    /// Makes the plan anew. `flash` marks what differs from the plan before.
    pub(super) fn replan(&mut self, flash: bool) {
        let before = self.plan.take();
        let Some(inspection) = self.inspection().cloned() else { return };
        if self.tuning.preview {
            let gate = self.tuning.gate(&inspection, self.now_ms as f64);
            match inspection.plan(&self.tuning.step_settings(&inspection), gate) {
                Ok(plan) => self.plan = Some(Arc::new(self.with_made_summary(&inspection, plan))),
                Err(error) => self.toast(format!("this context cannot be measured: {error}"), true),
            }
            self.profile(&inspection, gate);
        }
        if let Some(pane) = &mut self.transcript {
            pane.count(self.plan.as_deref());
        }
        let max_chars = self.tuning.settings().soft_trim.max_chars;
        self.figures = Figures::count(&inspection, self.plan.as_deref(), max_chars, self.now_ms as f64);
        if flash {
            self.flash = self.difference(before.as_deref());
        }
        if self.plan.is_some() != before.is_some() {
            self.keep_in_sight();
        }
    }

    fn profile(&mut self, inspection: &Inspection, gate: Gate) {
        if inspection.context.messages.len() <= PROFILE_MESSAGES {
            self.tuning.compute_profile(inspection, gate);
        } else {
            self.tuning.profile.clear();
        }
    }

    /// What the last key changed: at most a screenful of numbers flashes.
    fn difference(&self, before: Option<&Plan>) -> Flash {
        let (Some(before), Some(after)) = (before, self.plan.as_deref()) else { return Flash::default() };
        let moved = |at: &usize| before.tokens_after.get(*at) != after.tokens_after.get(*at);
        Flash {
            messages: self.visible_messages().into_iter().filter(moved).collect(),
            setting: (before.settings != after.settings).then_some(self.tuning.cursor),
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

/// What the configured settings would free if the gate let them.
pub(super) fn would_save(inspection: &Inspection) -> Option<u64> {
    let plan = inspection.plan(&inspection.configured, Gate::Open { idle_ms: f64::NAN }).ok()?;
    Some(plan.total_before().saturating_sub(plan.total_after()))
}
