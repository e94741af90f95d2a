//! Saves the tuned settings as presets, and loads them again.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::replay_state::OPT_IN_POLICIES;
use crate::app::screens::palette::PaletteCommand;
use crate::app::state::{App, Overlay};
use crate::app::target::Target;
use crate::app::tuning::{TuningPane, configured_policies};
use crate::config::presets::{Preset, PresetFile};
use crate::format::quantity;
use crate::gateway::registry::Provenance;
use crate::gateway::setting_value::{Unit, parse_duration};
use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::policy::{Policy, PolicySet};
use crate::session::LoadedSession;
use crate::session::setting_change::{SettingChange, parse_preset, set_text};

/// Converts a configured value to the unit of the rules: durations to ms.
fn rule_value(change: &SettingChange) -> Value {
    let is_duration = change.id.spec().control.unit() == Some(Unit::Milliseconds);
    let ms = change.value.as_str().filter(|_| is_duration).and_then(parse_duration);
    ms.map_or_else(|| change.value.clone(), |ms| Value::Number(ms.get()))
}

impl App {
    pub(super) fn on_presets(&mut self, presets: Vec<PresetFile>) {
        let names: Vec<String> = presets.iter().map(|preset| preset.name.clone()).collect();
        self.presets = presets;
        if let Some(Overlay::Palette(palette)) = self.views.top_mut() {
            palette.presets = names;
        }
    }

    pub(super) fn run_preset_command(&mut self, command: PaletteCommand) -> Vec<Effect> {
        match command {
            PaletteCommand::SavePreset(name) => self.save_preset(name),
            PaletteCommand::LoadPreset(name) => self.load_preset(&name),
            PaletteCommand::DeletePreset(name) => vec![Effect::DeletePreset(name)],
            PaletteCommand::UseRuleset(release) => self.use_release(&release),
            PaletteCommand::Type(text) => self.type_in_palette(&text),
            PaletteCommand::Action(action) => self.dispatch(action),
        }
    }

    /// Opens the palette with a text.
    pub(super) fn type_in_palette(&mut self, text: &str) -> Vec<Effect> {
        let effects = self.toggle_screen(crate::app::action::ScreenKind::Palette);
        if let Some(Overlay::Palette(palette)) = self.views.top_mut() {
            palette.line.insert(text);
        }
        effects
    }

    fn save_preset(&mut self, name: String) -> Vec<Effect> {
        let Some(session) = self.active_session() else {
            self.show_toast("no session is open".into(), true);
            return Vec::new();
        };
        let values: Vec<(String, String)> = self.changed_settings(session).iter().map(set_text).collect();
        if values.is_empty() {
            self.show_toast("nothing to save: every setting is as configured".into(), true);
            return Vec::new();
        }
        vec![Effect::SavePreset(Preset { name, values })]
    }

    /// Sets the tuning pane to a preset: its settings, and the config for all others.
    pub(super) fn load_preset(&mut self, name: &str) -> Vec<Effect> {
        let preset = self.presets.iter().find(|preset| preset.name == name);
        let values = preset.map(|preset| preset.values.clone());
        let changes = match values {
            None => Err(format!("no preset is called {name}")),
            Some(values) => {
                values.and_then(|values| parse_preset(name, &values).map_err(|error| error.to_string()))
            }
        };
        let changes = match changes {
            Ok(changes) if self.active_session().is_some() => changes,
            Ok(_) => return self.refuse("no session is open".into()),
            Err(error) => return self.refuse(error),
        };
        let values: Vec<(SettingId, Value)> =
            changes.iter().map(|change| (change.id, rule_value(change))).collect();
        let settings: Vec<(SettingId, &Value)> = values.iter().map(|(id, value)| (*id, value)).collect();
        let unknown = self.set_tuning(&settings);
        if let Some((_, mode)) = settings.iter().rev().find(|(id, _)| *id == SettingId::PruneMode) {
            self.tuning.policies = self.tuning.policies.with(Policy::Prune, mode.str_is("cache-ttl"));
        }
        self.leave_screens();
        self.zoom = false;
        self.tuning.preview = !self.tuning.policies.is_empty();
        self.focus_pane(Pane::Tuning);
        self.replan(true);
        let words = match unknown[..] {
            [] => format!("Loaded preset {name} ({})", quantity(values.len() as u64, "setting")),
            _ => format!("Loaded preset {name}; {}", unknown_settings_text(&unknown)),
        };
        self.show_toast(words, false);
        Vec::new()
    }

    fn refuse(&mut self, reason: String) -> Vec<Effect> {
        self.show_toast(reason, true);
        Vec::new()
    }
}

// Applies settings found by a screen to the tuning pane and turns the preview on: the same for advice and for a
// sweep.

/// Names the keys that the pane has no setting for.
fn unknown_settings_text(keys: &[&str]) -> String {
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
