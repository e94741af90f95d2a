//! Settings that a screen found, taken into the tuning pane with the preview on: the same for advice and for a sweep.

use crate::app::layout::Pane;
use crate::app::state::App;
use crate::app::tuning::TuningPane;
use crate::js::Value;

/// The key that stands in the title of the pane as a switch.
const MODE: &str = "contextPruning.mode";

fn no_such(keys: &[&str]) -> String {
    format!("{}: no setting of this pane; y copies the patch", keys.join(", "))
}

impl TuningPane {
    /// Puts a setting by its key as `--set` has it; the value as the rules hold it, spans in ms. Its step takes part, its
    /// row has the focus. False where there is no such row, or this version does not read it.
    pub fn take(&mut self, key: &str, value: &Value) -> bool {
        // Pruning is on wherever its step takes part; the patch says so.
        if key == MODE {
            return true;
        }
        let Some(at) = self.rows.iter().position(|row| row.key() == key) else { return false };
        if self.rows[at].row.control.fixed().is_some() {
            return false;
        }
        self.values[at] = value.clone();
        self.focus_step(self.rows[at].step);
        self.cursor = at;
        self.show_step();
        true
    }
}

impl App {
    /// Takes settings into the tuning pane, nothing else changed there, and shows what they come to. What the pane has no
    /// row for is told.
    pub(super) fn take_settings(&mut self, settings: &[(&str, &Value)]) {
        self.tuning.all_to_config();
        let unknown: Vec<&str> = settings
            .iter()
            .filter(|(key, value)| !self.tuning.take(key, value))
            .map(|(key, _)| *key)
            .collect();
        if unknown.len() == settings.len() {
            self.toast(no_such(&unknown), true);
            return;
        }
        self.overlay = None;
        self.zoom = false;
        self.focus_on(Pane::Tuning);
        let height = self.height(Pane::Tuning);
        self.tuning.keep(height);
        self.replan(true);
        if !unknown.is_empty() {
            self.toast(no_such(&unknown), false);
        }
    }
}
