//! Saves the tuned settings as presets, and loads them again.

use crate::app::apply_settings::unknown_settings_text;
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::screens::palette::PaletteCommand;
use crate::app::state::{App, Overlay};
use crate::config::presets::{Preset, PresetFile};
use crate::format::quantity;
use crate::gateway::duration::parse_duration;
use crate::gateway::prune_setting::Unit;
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::settings::SettingId;
use crate::session::preset_values::{parse_preset, set_text};
use crate::session::setting_change::SettingChange;

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
