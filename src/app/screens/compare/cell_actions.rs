//! Actions on a cell: apply it to the tuning pane, copy its patch, save the sweep to a file.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::export::json::to_line;
use crate::gateway::setting_value::{Control, Unit};
use crate::js::Value;
use crate::policy::Policy;
use crate::report::sweep::{Axis, json};
use crate::write::patch::ConfigPatch;

const SWEEP_FILE: &str = "clawscope-sweep.json";

impl App {
    /// Applies the settings of the selected cell to the tuning pane, and shows their effect on the failed call.
    pub(in crate::app) fn apply_cell(&mut self) -> Vec<Effect> {
        let Some(cell) = self.compare_screen.selected() else { return Vec::new() };
        let axes: Vec<(Axis, usize)> = self
            .compare_screen
            .sweep_state
            .axes
            .iter()
            .cloned()
            .zip(self.compare_screen.point.iter().copied())
            .collect();
        // A cell applied in part would not be the cell that the person selected.
        if let Some((axis, _)) = axes.iter().find(|(axis, at)| *at != axis.current && !self.has_setting(axis))
        {
            let words = format!("{}: not in the tuning pane; press y to copy this cell's patch", axis.key());
            self.show_toast(words, true);
            return Vec::new();
        }
        for (axis, at) in &axes {
            self.apply_point(axis, *at);
        }
        if Some(cell) == self.compare_screen.baseline_cell() {
            self.show_note("Same as your config".into());
        }
        // The same settings are varied when the map is opened again.
        self.compare_screen.chosen_axes = Some(self.compare_screen.sweep_state.axes.clone());
        self.leave_screens();
        self.zoom = false;
        self.focus_pane(Pane::Tuning);
        self.replan(true);
        self.show_tried_settings()
    }

    /// Whether the tuning pane can set an axis: with a row, or with the pruning switch in its title.
    fn has_setting(&self, axis: &Axis) -> bool {
        axis.policy == Some(Policy::Prune) || self.tuning.rows.iter().any(|row| row.setting.id == axis.id)
    }

    fn apply_point(&mut self, axis: &Axis, at: usize) {
        let (Some(point), tuning) = (axis.points.get(at), &mut self.tuning) else { return };
        let moved = at != axis.current;
        let Some(row) = tuning.rows.iter().position(|row| row.setting.id == axis.id) else {
            let mode = axis.policy == Some(Policy::Prune);
            if mode && moved {
                let on = point.value.as_ref().is_some_and(|value| value.str_is("cache-ttl"));
                tuning.policies = tuning.policies.with(Policy::Prune, on);
                tuning.preview = true;
            }
            return;
        };
        tuning.values[row] = match (tuning.rows[row].setting.control, point.number, &point.value) {
            _ if !moved => tuning.rows[row].setting.value.clone(),
            (Control::Slider { unit: Unit::Milliseconds, .. }, Some(ms), _) => Value::Number(ms),
            (_, _, Some(value)) => value.clone(),
            (_, _, None) => tuning.rows[row].setting.value.clone(),
        };
        if moved {
            let step = tuning.rows[row].policy;
            tuning.focus_policy(step);
            tuning.cursor = row;
            tuning.policies = tuning.policies.with(step, true);
            tuning.preview = true;
        }
    }

    /// Copies the patch of the selected cell.
    pub(in crate::app) fn copy_cell(&mut self) -> Vec<Effect> {
        let (Some(cell), Some(recording)) =
            (self.compare_screen.selected(), self.replay_state.recording.clone())
        else {
            return Vec::new();
        };
        let patch = match &self.compare_screen.sweep_state.sweep {
            Some(sweep) => sweep.patch(&recording.session, cell),
            None => ConfigPatch::default(),
        };
        if self.compare_screen.sweep_state.sweep.is_none() {
            self.show_note("not replayed yet".into());
            return Vec::new();
        }
        self.copy_patch_of(patch)
    }

    /// Copies a patch, unless it changes nothing.
    pub(super) fn copy_patch_of(&mut self, patch: ConfigPatch) -> Vec<Effect> {
        if patch.text.is_empty() {
            self.show_note("same as your config, so no patch".into());
            return Vec::new();
        }
        vec![Effect::Copy { text: patch.text, label: "config patch" }]
    }

    /// Saves every cell as JSON in a new file.
    pub(in crate::app) fn save_sweep(&mut self) -> Vec<Effect> {
        let (Some(sweep), Some(recording)) =
            (&self.compare_screen.sweep_state.sweep, &self.replay_state.recording)
        else {
            self.show_note("not every cell is replayed yet".into());
            return Vec::new();
        };
        match to_line(&json::sweep_json(&recording.session, sweep)) {
            Ok(line) => vec![Effect::SaveFile { name: SWEEP_FILE.into(), text: line + "\n" }],
            Err(error) => {
                self.show_toast(error.to_string(), false);
                Vec::new()
            }
        }
    }
}
