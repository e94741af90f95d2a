//! What is done with a cell: into the tuning pane, onto the clipboard, into a file.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::gateway::prune_setting::{Control, Unit};
use crate::inspect::patch::ConfigPatch;
use crate::js::{Object, Value, stringify};
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
        let left = axes.iter().filter(|(axis, at)| !self.take_point(axis, *at)).count();
        if Some(cell) == self.compare.current() && left == 0 {
            self.toast("nothing differs in this cell".into(), false);
        }
        if left > 0 {
            self.toast("the window is no setting of the tuning pane; y copies it as a patch".into(), false);
        }
        // What is tuned now is still varied when the map is opened again.
        self.compare.chosen = Some(self.compare.filling.axes.clone());
        self.overlay = None;
        self.zoom = false;
        self.focus_on(Pane::Tuning);
        self.replan(true);
    }

    /// Sets one setting to a point; answers whether the pane has it.
    fn take_point(&mut self, axis: &Axis, at: usize) -> bool {
        let (Some(point), tuning) = (axis.points.get(at), &mut self.tuning) else { return true };
        let moved = at != axis.current;
        let Some(row) = tuning.rows.iter().position(|row| row.key() == axis.key) else {
            let mode = axis.step == Some(Step::Prune);
            if mode && moved {
                let on = point.value.as_ref().is_some_and(|value| value.str_is("cache-ttl"));
                tuning.steps = tuning.steps.with(Step::Prune, on);
                tuning.preview = true;
            }
            return mode || !moved;
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
        true
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
        let session = &recording.inspection.session;
        let session = Object::from([
            ("key", Value::from(session.key.0.as_str())),
            ("agent", Value::from(session.agent.as_str())),
            ("id", Value::from(session.id.as_str())),
        ]);
        let mut members = Object::from([("schemaVersion", Value::from(1_i32)), ("session", session.into())]);
        for (key, value) in json::members(&recording.inspection, sweep) {
            members.insert(key, value);
        }
        vec![Effect::Save { name: FILE.into(), text: stringify(&Value::from(members)) + "\n" }]
    }
}
