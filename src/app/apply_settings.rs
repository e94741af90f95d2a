//! Settings that a screen found, taken into the tuning pane with the preview on: the same for advice and for a sweep.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::replay_state::OPT_IN_POLICIES;
use crate::app::state::App;
use crate::app::target::Target;
use crate::app::tuning::{TuningPane, configured_policies};
use crate::gateway::provenance::Provenance;
use crate::inspect::LoadedSession;
use crate::inspect::session_settings::is_session_setting;
use crate::inspect::setting_change::SettingChange;
use crate::js::Value;
use crate::policy::{Policy, PolicySet};

/// The key that stands in the title of the pane as a switch.
const PRUNE_MODE_KEY: &str = "contextPruning.mode";

/// The keys of a change that the pane has no place for.
fn unknown_settings_text(keys: &[&str]) -> String {
    format!("{}: no setting of this pane; y copies the patch", keys.join(", "))
}

/// The steps that a replay under the configuration runs.
fn active_policies(inspection: &LoadedSession) -> PolicySet {
    let gateway = inspection.gateway_policies();
    let switched = OPT_IN_POLICIES.into_iter().filter(|step| gateway.has(*step));
    let steps = switched.fold(configured_policies(inspection), |steps, step| steps.with(step, true));
    steps.with(Policy::Prune, inspection.pruning_configured)
}

impl TuningPane {
    /// Puts a setting by its key as `--set` has it; the value as the rules hold it, spans in ms. Its step takes part, its
    /// row has the focus. False where there is no such row, or this version does not read it.
    pub fn apply_setting(&mut self, key: &str, value: &Value) -> bool {
        // Pruning is on wherever its step takes part; the patch says so.
        if key == PRUNE_MODE_KEY {
            return true;
        }
        if is_session_setting(key) {
            let (key, value) = (key.to_owned(), value.clone());
            self.assumed_changes.push(SettingChange { key, policy: None, value, origin: Provenance::Flag });
            self.preview = true;
            return true;
        }
        let Some(at) = self.rows.iter().position(|row| row.key() == key) else { return false };
        if self.rows[at].setting.control.fixed_reason().is_some() {
            return false;
        }
        self.values[at] = value.clone();
        self.focus_policy(self.rows[at].policy);
        self.cursor = at;
        self.enable_focused_policy();
        true
    }
}

impl App {
    /// Takes settings into the tuning pane, nothing else changed there, and shows the failed call under them where one failed:
    /// that is what advice is about. A key that the pane has no place for is named.
    pub(super) fn apply_settings(&mut self, settings: &[(&str, &Value)]) -> Vec<Effect> {
        self.tuning.reset_all();
        if let Some(own) = self.active_session() {
            self.tuning.policies = active_policies(own);
        }
        let unknown: Vec<&str> = settings
            .iter()
            .filter(|(key, value)| !self.tuning.apply_setting(key, value))
            .map(|(key, _)| *key)
            .collect();
        if unknown.len() == settings.len() {
            self.show_toast(unknown_settings_text(&unknown), true);
            return Vec::new();
        }
        self.overlay = None;
        self.zoom = false;
        self.focus_pane(Pane::Tuning);
        let height = self.pane_height(Pane::Tuning);
        self.tuning.keep_visible(height);
        let failed = self.failed_overflow().is_some();
        let effects = self.show_target(if failed { Target::FailedCall } else { Target::NextCall });
        if !unknown.is_empty() {
            self.show_toast(unknown_settings_text(&unknown), false);
        }
        effects
    }
}
