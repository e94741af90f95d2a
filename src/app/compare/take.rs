//! What is done with a cell: into the tuning pane, onto the clipboard, into a file.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::export::json::line;
use crate::gateway::prune_setting::{Control, Unit};
use crate::inspect::patch::ConfigPatch;
use crate::js::Value;
use crate::policy::Step;
use crate::sweep::{Axis, json};

/// The file that a sweep is saved as.
const FILE: &str = "clawscope-sweep.json";

impl App {
    /// Takes the settings of the cell under the cursor into the tuning pane, and shows what they come to.
    pub(in crate::app) fn take_cell(&mut self) {
        let Some(cell) = self.compare.selected() else { return };
        let axes: Vec<(Axis, usize)> =
            self.compare.filling.axes.iter().cloned().zip(self.compare.at.iter().copied()).collect();
        // Taken in part a cell would not be what was looked at.
        if let Some((axis, _)) = axes.iter().find(|(axis, at)| *at != axis.current && !self.holds(axis)) {
            let words =
                format!("{} is no setting of the tuning pane; y copies the patch of this cell", axis.key);
            self.toast(words, true);
            return;
        }
        for (axis, at) in &axes {
            self.take_point(axis, *at);
        }
        if Some(cell) == self.compare.current() {
            self.toast("nothing differs in this cell".into(), false);
        }
        // What is tuned now is still varied when the map is opened again.
        self.compare.chosen = Some(self.compare.filling.axes.clone());
        self.overlay = None;
        self.zoom = false;
        self.focus_on(Pane::Tuning);
        self.replan(true);
    }

    /// Whether the tuning pane has a setting: a row of it, or the switch of the pruner in its title.
    fn holds(&self, axis: &Axis) -> bool {
        axis.step == Some(Step::Prune) || self.tuning.rows.iter().any(|row| row.key() == axis.key)
    }

    /// Sets one setting to a point.
    fn take_point(&mut self, axis: &Axis, at: usize) {
        let (Some(point), tuning) = (axis.points.get(at), &mut self.tuning) else { return };
        let moved = at != axis.current;
        let Some(row) = tuning.rows.iter().position(|row| row.key() == axis.key) else {
            let mode = axis.step == Some(Step::Prune);
            if mode && moved {
                let on = point.value.as_ref().is_some_and(|value| value.str_is("cache-ttl"));
                tuning.steps = tuning.steps.with(Step::Prune, on);
                tuning.preview = true;
            }
            return;
        };
        tuning.values[row] = match (tuning.rows[row].row.control, point.number, &point.value) {
            _ if !moved => tuning.rows[row].row.value.clone(),
            (Control::Slider { unit: Unit::Milliseconds, .. }, Some(ms), _) => Value::Number(ms),
            (_, _, Some(value)) => value.clone(),
            (_, _, None) => tuning.rows[row].row.value.clone(),
        };
        if moved {
            let step = tuning.rows[row].step;
            tuning.focus_step(step);
            tuning.cursor = row;
            tuning.steps = tuning.steps.with(step, true);
            tuning.preview = true;
        }
    }

    /// The patch of the cell under the cursor.
    pub(in crate::app) fn copy_cell(&mut self) -> Vec<Effect> {
        let (Some(cell), Some(recording)) = (self.compare.selected(), self.again.recording.clone()) else {
            return Vec::new();
        };
        let patch = match &self.compare.filling.sweep {
            Some(sweep) => sweep.patch(&recording.inspection, cell),
            None => ConfigPatch::default(),
        };
        if patch.text.is_empty() {
            let done = self.compare.filling.sweep.is_some();
            let words =
                if done { "nothing differs from the configuration: no patch" } else { "not known yet" };
            self.toast(words.into(), false);
            return Vec::new();
        }
        vec![Effect::Copy { text: patch.text, what: "config patch" }]
    }

    /// Every cell as JSON, in a new file.
    pub(in crate::app) fn save_sweep(&mut self) -> Vec<Effect> {
        let (Some(sweep), Some(recording)) = (&self.compare.filling.sweep, &self.again.recording) else {
            self.toast("not every cell is known yet".into(), false);
            return Vec::new();
        };
        let text = line(json::answer(&recording.inspection, sweep)) + "\n";
        vec![Effect::Save { name: FILE.into(), text }]
    }
}
