//! Settings that a screen found, taken into the tuning pane with the preview on: the same for advice and for a sweep.

use crate::app::again::SWITCHED;
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::app::target::Target;
use crate::app::tuning::{TuningPane, configured_steps};
use crate::gateway::provenance::Provenance;
use crate::inspect::Inspection;
use crate::inspect::change::Change;
use crate::inspect::session_settings::is_session_setting;
use crate::js::Value;
use crate::policy::{Step, StepSet};

/// The key that stands in the title of the pane as a switch.
const MODE: &str = "contextPruning.mode";

/// The keys of a change that the pane has no place for.
fn no_such(keys: &[&str]) -> String {
    format!("{}: no setting of this pane; y copies the patch", keys.join(", "))
}

/// The steps that a replay under the configuration runs.
fn steps_in_force(inspection: &Inspection) -> StepSet {
    let gateway = inspection.gateway_steps();
    let switched = SWITCHED.into_iter().filter(|step| gateway.has(*step));
    let steps = switched.fold(configured_steps(inspection), |steps, step| steps.with(step, true));
    steps.with(Step::Prune, inspection.configured_on)
}

impl TuningPane {
    /// Puts a setting by its key as `--set` has it; the value as the rules hold it, spans in ms. Its step takes part, its
    /// row has the focus. False where there is no such row, or this version does not read it.
    pub fn take(&mut self, key: &str, value: &Value) -> bool {
        // Pruning is on wherever its step takes part; the patch says so.
        if key == MODE {
            return true;
        }
        if is_session_setting(key) {
            let (key, value) = (key.to_owned(), value.clone());
            self.assumed.push(Change { key, step: None, value, origin: Provenance::Flag });
            self.preview = true;
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
    /// Takes settings into the tuning pane, nothing else changed there, and shows the failed call under them where one failed:
    /// that is what advice is about. A key that the pane has no place for is named.
    pub(super) fn take_settings(&mut self, settings: &[(&str, &Value)]) -> Vec<Effect> {
        self.tuning.all_to_config();
        if let Some(own) = self.own_session() {
            self.tuning.steps = steps_in_force(own);
        }
        let unknown: Vec<&str> = settings
            .iter()
            .filter(|(key, value)| !self.tuning.take(key, value))
            .map(|(key, _)| *key)
            .collect();
        if unknown.len() == settings.len() {
            self.toast(no_such(&unknown), true);
            return Vec::new();
        }
        self.overlay = None;
        self.zoom = false;
        self.focus_on(Pane::Tuning);
        let height = self.height(Pane::Tuning);
        self.tuning.keep(height);
        let failed = self.failed_overflow().is_some();
        let effects = self.show_target(if failed { Target::FailedCall } else { Target::NextCall });
        if !unknown.is_empty() {
            self.toast(no_such(&unknown), false);
        }
        effects
    }
}
