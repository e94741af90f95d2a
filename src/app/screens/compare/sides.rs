//! Presets as the columns of the comparison, beside the configuration and the tuned settings.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::app::action::{Action, ScreenKind};
use crate::app::effect::Effect;
use crate::app::screens::compare::SidesView;
use crate::app::state::{App, Overlay};
use crate::gateway::setting_value::Unit;
use crate::js::Value;
use crate::report::sweep::{Side, SideName, SideOutcome};
use crate::report::timeline::RecordedSession;
use crate::session::LoadedSession;
use crate::session::setting_change::{SettingChange, parse_preset};
use crate::session::simulated_settings::{default_replay_policies, left_out_policies};
use crate::write::patch::ConfigPatch;

/// Columns of a side, and of the names of settings before all sides.
const MIN_SIDE_COLUMNS: u16 = 14;
const MAX_SIDE_COLUMNS: u16 = 22;
const MIN_NAME_COLUMNS: u16 = 22;

/// The columns of the sides on a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideColumns {
    /// Columns of the names of settings.
    pub names: u16,
    /// Columns of each side.
    pub width: u16,
    /// The visible sides: the first one, and those around the cursor.
    pub shown: Vec<usize>,
}

impl SideColumns {
    /// Places `count` sides; the first one is always visible.
    fn new(width: u16, count: usize, cursor: usize) -> Self {
        let room = width.saturating_sub(MIN_NAME_COLUMNS);
        let fit = usize::from(room / MIN_SIDE_COLUMNS).clamp(1, count.max(1));
        let column = (room / fit as u16).clamp(1, MAX_SIDE_COLUMNS);
        let rest = fit.saturating_sub(1);
        let first =
            (cursor.max(1) - 1).saturating_sub(rest / 2).min((count.max(1) - 1).saturating_sub(rest)) + 1;
        let shown = std::iter::once(0).chain(first..first + rest).filter(|at| *at < count).collect();
        Self { names: width.saturating_sub(column * fit as u16), width: column, shown }
    }

    /// Returns the columns of the visible side at a place.
    pub fn columns(&self, place: usize) -> Range<u16> {
        let from = self.names + self.width * place as u16;
        from..from + self.width
    }
}

/// A setting under some changes.
#[derive(Debug, Clone, PartialEq)]
pub struct SideValue {
    pub unit: Option<Unit>,
    /// `None` for the configured value of a setting that no row has.
    pub value: Option<Value>,
    /// Whether one of the changes sets it.
    pub is_set: bool,
}

/// Returns the value of a setting under some changes.
pub fn value_under(session: &LoadedSession, changes: &[SettingChange], key: &str) -> SideValue {
    let row = session.setting_rows.iter().find(|row| row.setting.id.spec().key == key);
    let unit = row.and_then(|row| row.setting.control.unit());
    let changed = changes.iter().rfind(|change| change.key() == key).map(|change| &change.value);
    let value = changed.or(row.map(|row| &row.setting.value)).cloned();
    SideValue { unit, value, is_set: changed.is_some() }
}

impl App {
    /// Opens the comparison of presets, or returns from it to the map.
    pub(in crate::app) fn show_presets(&mut self) -> Vec<Effect> {
        let on_top = matches!(self.overlay(), Some(Overlay::Compare));
        let mut effects = if on_top { Vec::new() } else { self.toggle_screen(ScreenKind::Compare) };
        if matches!(self.overlay(), Some(Overlay::Compare)) {
            let shows_map = on_top && self.compare_screen.sides.take().is_some();
            if !shows_map {
                self.compare_screen.sides = Some(SidesView::default());
                effects.push(Effect::ReadPresets);
            }
        }
        effects
    }

    /// The sides to compare, the reference first, and why a preset is none of them.
    pub fn compared_sides(&self, recording: &RecordedSession) -> (Vec<Side>, Vec<String>) {
        let (session, inputs) = (&recording.session, &recording.inputs);
        let side = |name, changes: Vec<SettingChange>| {
            let left_out = left_out_policies(inputs.contradicted_policies, &changes);
            let policies = default_replay_policies(session, &changes).without(left_out);
            Side { name, changes, policies }
        };
        let mut sides = vec![side(SideName::Config, Vec::new())];
        let tuned = self.tuned_changes(session);
        if !tuned.is_empty() {
            let policies = self.tuned_policies(inputs.recorded_settings.policies.enabled);
            sides.push(Side { policies, ..side(SideName::Tuning, tuned) });
        }
        let mut problems = Vec::new();
        for preset in &self.presets {
            let parse =
                |values: &Vec<_>| parse_preset(&preset.name, values).map_err(|error| error.to_string());
            match preset.values.as_ref().map_err(|error| error.replace('\n', " ")).and_then(parse) {
                Ok(changes) => sides.push(side(SideName::Preset(preset.name.clone()), changes)),
                Err(error) => problems.push(error),
            }
        }
        let reference = self.compare_screen.sides.as_ref().map(|view| &view.reference);
        if let Some(at) = sides.iter().position(|side| Some(&side.name) == reference) {
            sides[..=at].rotate_right(1);
        }
        (sides, problems)
    }

    /// The column of the cursor.
    pub fn side_cursor(&self, sides: &[Side]) -> usize {
        let selected = self.compare_screen.sides.as_ref().map(|view| &view.selected);
        sides.iter().position(|side| Some(&side.name) == selected).unwrap_or(0)
    }

    pub fn side_columns(&self, sides: &[Side]) -> SideColumns {
        SideColumns::new(self.size.0, sides.len(), self.side_cursor(sides))
    }

    /// The outcome of a side, once it is replayed.
    pub fn side_outcome(&self, side: &Side) -> Option<&SideOutcome> {
        let compared = self.compare_screen.sweep_state.sides.as_ref()?;
        let at = compared.sides.iter().position(|known| known == side)?;
        compared.outcomes.get(at)
    }

    /// Handles an action while presets are compared; `None` when the main screen handles it.
    pub(in crate::app) fn dispatch_sides(&mut self, action: Action) -> Option<Vec<Effect>> {
        let recording = self.replay_state.recording.clone()?;
        let sides = self.compared_sides(&recording).0;
        let (cursor, last) = (self.side_cursor(&sides), sides.len().saturating_sub(1));
        let to = match action {
            Action::Right | Action::Down | Action::More | Action::Next => (cursor + 1).min(last),
            Action::Left | Action::Up | Action::Less | Action::Previous => cursor.saturating_sub(1),
            Action::Bottom | Action::PageDown | Action::HalfPageDown => last,
            Action::Top | Action::PageUp | Action::HalfPageUp => 0,
            Action::ToConfig => sides.iter().position(|side| side.name == SideName::Config).unwrap_or(0),
            Action::Fold => return self.set_reference(sides.get(cursor)?.name.clone()),
            Action::Open => return Some(self.apply_side(&sides.get(cursor)?.name.clone())),
            Action::Copy | Action::CopyPatch => {
                let changes = &sides.get(cursor)?.changes;
                return Some(self.copy_patch_of(ConfigPatch::from_changes(&recording.session, changes)));
            }
            Action::NextPane
            | Action::PreviousPane
            | Action::NextOrder
            | Action::NextMatch
            | Action::PreviousMatch
            | Action::TurnAxes
            | Action::EditAxes
            | Action::Headroom
            | Action::SavePlan => {
                self.show_note("only on the map".into());
                cursor
            }
            _ => return None,
        };
        self.select_side(sides.get(to)?.name.clone());
        Some(Vec::new())
    }

    fn select_side(&mut self, name: SideName) {
        if let Some(view) = &mut self.compare_screen.sides {
            view.selected = name;
        }
    }

    /// Compares the others with a side; with the configuration, if it is that side already.
    fn set_reference(&mut self, name: SideName) -> Option<Vec<Effect>> {
        let view = self.compare_screen.sides.as_mut()?;
        view.reference = if view.reference == name { SideName::Config } else { name };
        Some(Vec::new())
    }

    /// Sets the tuning pane to a side.
    fn apply_side(&mut self, name: &SideName) -> Vec<Effect> {
        match name {
            SideName::Preset(name) => return self.load_preset(name),
            SideName::Tuning => self.show_note("Tuning has these settings already".into()),
            SideName::Config => {
                self.leave_screens();
                self.zoom = false;
                self.tuning.reset_all();
                self.focus_pane(crate::app::layout::Pane::Tuning);
                self.replan(true);
                self.show_note("Same as your config".into());
            }
        }
        Vec::new()
    }

    /// Handles a click: selects a column; a click on the selected one applies it.
    pub(super) fn click_side(&mut self, x: u16) -> Vec<Effect> {
        let Some(recording) = self.replay_state.recording.clone() else { return Vec::new() };
        let sides = self.compared_sides(&recording).0;
        let columns = self.side_columns(&sides);
        let place = (0..columns.shown.len()).find(|place| columns.columns(*place).contains(&x));
        let Some(at) = place.map(|place| columns.shown[place]) else { return Vec::new() };
        if at == self.side_cursor(&sides) {
            return self.apply_side(&sides[at].name.clone());
        }
        self.select_side(sides[at].name.clone());
        Vec::new()
    }
}

/// The rows of a page that lists the sides: those below the title.
pub fn table_area(area: Rect) -> Rect {
    let gap = if area.height >= 24 { 2 } else { 1 };
    Rect { y: area.y + gap, height: area.height.saturating_sub(gap), ..area }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_side_and_the_cursor_are_visible_at_every_width() {
        for width in 60..200 {
            for count in 1..12 {
                for cursor in 0..count {
                    let columns = SideColumns::new(width, count, cursor);
                    assert!(
                        columns.shown.contains(&0) && columns.shown.contains(&cursor),
                        "{width} {columns:?}"
                    );
                    let last = columns.columns(columns.shown.len() - 1);
                    assert!(last.end <= width && columns.names >= MIN_NAME_COLUMNS, "{width} {columns:?}");
                }
            }
        }
    }
}
