//! Applies settings found by a screen to the tuning pane and turns the preview on: the same for advice and for a
//! sweep.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::replay_state::OPT_IN_POLICIES;
use crate::app::state::App;
use crate::app::target::Target;
use crate::app::tuning::{TuningPane, configured_policies};
use crate::gateway::provenance::Provenance;
use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::policy::{Policy, PolicySet};
use crate::session::LoadedSession;
use crate::session::setting_change::SettingChange;

/// Names the keys that the pane has no setting for.
pub(super) fn unknown_settings_text(keys: &[&str]) -> String {
    format!("{}: not in this pane; y p copies the patch", keys.join(", "))
}

/// Returns the policies of a replay under the config.
fn active_policies(session: &LoadedSession) -> PolicySet {
    let gateway = session.gateway_policies();
    let switched = OPT_IN_POLICIES.into_iter().filter(|step| gateway.has(*step));
    let steps = switched.fold(configured_policies(session), |steps, step| steps.with(step, true));
    steps.with(Policy::Prune, session.pruning_configured)
}

impl TuningPane {
    /// Sets a value in the unit of the rules (durations in ms); enables its policy and focuses
    /// its row. Returns `false` when the pane has no such row or the version has the value built in.
    pub fn apply_setting(&mut self, id: SettingId, value: &Value) -> bool {
        // Pruning is on whenever its policy is; the patch contains the key.
        if id == SettingId::PruneMode {
            return true;
        }
        if id.spec().policy.is_none() {
            let value = value.clone();
            self.assumed_changes.push(SettingChange { id, value, origin: Provenance::Flag, model: None });
            self.preview = true;
            return true;
        }
        let Some(at) = self.rows.iter().position(|row| row.setting.id == id) else { return false };
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
    /// Resets the tuning pane and sets values in it; returns the keys that it has no setting for.
    pub(super) fn set_tuning(&mut self, settings: &[(SettingId, &Value)]) -> Vec<&'static str> {
        self.tuning.reset_all();
        if let Some(own) = self.active_session() {
            self.tuning.policies = active_policies(own);
        }
        let set = settings.iter().filter(|(id, value)| !self.tuning.apply_setting(*id, value));
        set.map(|(id, _)| id.spec().key).collect()
    }

    /// Resets the tuning pane, applies the settings and shows the failed call, as advice is about it; without one,
    /// the next call. A toast names keys that the pane has no setting for.
    pub(super) fn apply_settings(&mut self, settings: &[(SettingId, &Value)]) -> Vec<Effect> {
        let unknown = self.set_tuning(settings);
        if unknown.len() == settings.len() {
            self.show_toast(unknown_settings_text(&unknown), true);
            return Vec::new();
        }
        self.leave_screens();
        self.zoom = false;
        self.focus_pane(Pane::Tuning);
        let height = self.pane_height(Pane::Tuning);
        self.tuning.keep_visible(height);
        let effects = self.show_tried_settings();
        if !unknown.is_empty() {
            self.show_toast(unknown_settings_text(&unknown), false);
        } else if let Some(change) = self.tuning.assumed_changes.first() {
            let words = format!("{} has no row here: alt-z takes it back", change.key());
            self.show_toast(words, false);
        }
        effects
    }

    /// Shows the failed call under settings that a screen found; without one, the next call.
    pub(super) fn show_tried_settings(&mut self) -> Vec<Effect> {
        let failed = self.failed_overflow().is_some();
        self.show_target(if failed { Target::FailedCall } else { Target::NextCall })
    }
}
