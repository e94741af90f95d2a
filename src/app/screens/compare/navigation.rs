//! Moves over the map and the list, and selects the varied settings.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::screens::compare::{CompareFocus, MapMetric};
use crate::app::state::{App, InputPurpose, LineInput};
use crate::format::format_number;
use crate::format::number::Amount;
use crate::report::sweep::{Axis, AxisContext, AxisError, Grid, usual_axes};

impl App {
    /// Handles an action of the comparison; returns whether it is one.
    pub(in crate::app) fn dispatch_compare(&mut self, action: Action) -> bool {
        match action {
            Action::Right => self.move_along_axis(1, 1),
            Action::Left => self.move_along_axis(1, -1),
            Action::Down => self.move_compare_cursor(1),
            Action::Up => self.move_compare_cursor(-1),
            Action::PageDown | Action::HalfPageDown => self.move_compare_cursor(5),
            Action::PageUp | Action::HalfPageUp => self.move_compare_cursor(-5),
            Action::Top => self.move_compare_cursor(isize::MIN / 2),
            Action::Bottom => self.move_compare_cursor(isize::MAX / 2),
            Action::More => self.move_along_axis(2, 1),
            Action::Less => self.move_along_axis(2, -1),
            Action::NextOrder => {
                let at = MapMetric::ALL
                    .iter()
                    .position(|measure| *measure == self.compare_screen.metric)
                    .unwrap_or(0);
                self.compare_screen.metric = MapMetric::ALL[(at + 1) % MapMetric::ALL.len()];
            }
            Action::NextPane | Action::PreviousPane => {
                self.compare_screen.focus = match self.compare_screen.focus {
                    CompareFocus::Map if !self.compare_screen.trade_offs().is_empty() => CompareFocus::List,
                    _ => CompareFocus::Map,
                };
            }
            Action::ToConfig => self.go_to_cell(self.compare_screen.baseline_cell()),
            Action::NextMatch | Action::PreviousMatch => self.go_to_smallest_change(),
            Action::TurnAxes => self.rotate_axes(),
            Action::Next => self.cycle_axis(1),
            Action::Previous => self.cycle_axis(-1),
            Action::Headroom => {
                let text = self.compare_screen.headroom.map(Amount::text).unwrap_or_default();
                self.input = Some(LineInput::new(InputPurpose::Headroom, text));
            }
            Action::EditAxes => {
                self.input = Some(LineInput::new(
                    InputPurpose::Axes,
                    axes_text(&self.compare_screen.sweep_state.axes),
                ));
            }
            _ => return false,
        }
        true
    }

    fn move_along_axis(&mut self, axis: usize, by: isize) {
        let Some(count) = self.compare_screen.sweep_state.axes.get(axis).map(|axis| axis.points.len()) else {
            return;
        };
        if let Some(at) = self.compare_screen.point.get_mut(axis) {
            *at = at.saturating_add_signed(by).min(count.saturating_sub(1));
            self.compare_screen.cursor_moved = true;
        }
        self.sync_compare_list();
    }

    /// Moves down the map or the list, by focus.
    fn move_compare_cursor(&mut self, by: isize) {
        if self.compare_screen.focus == CompareFocus::Map {
            return self.move_along_axis(0, by);
        }
        let cells = self.compare_screen.trade_offs();
        let rows = self.compare_list_rows();
        self.compare_screen.list_scroll.move_by(by, cells.len(), rows);
        let cell = cells.get(self.compare_screen.list_scroll.cursor).copied();
        self.go_to_cell(cell);
    }

    pub(in crate::app) fn go_to_cell(&mut self, cell: Option<usize>) {
        let at =
            cell.zip(self.compare_screen.sweep_state.grid.as_ref()).map(|(cell, grid)| grid.points_of(cell));
        if let Some(at) = at {
            (self.compare_screen.point, self.compare_screen.cursor_moved) = (at, true);
            self.sync_compare_list();
        }
    }

    fn go_to_smallest_change(&mut self) {
        let Some(sweep) = self.compare_screen.sweep_state.sweep.as_ref() else { return };
        match sweep.smallest_fitting {
            Some(cell) => self.go_to_cell(Some(cell)),
            None => self.show_note("no setting on this map helps".into()),
        }
    }

    /// Handles a click: selects a cell or a row of the list; a click on the selected cell applies it.
    pub(in crate::app) fn click_compare(&mut self, x: u16, y: u16) -> Vec<Effect> {
        if self.compare_screen.sides.is_some() {
            return self.click_side(x);
        }
        let list = self.compare_layout().list;
        if let Some((down, across)) = self.compare_grid().hit(x, y) {
            let cell = self.compare_screen.cell_at(down, across);
            self.compare_screen.focus = CompareFocus::Map;
            if cell.is_some() && cell == self.compare_screen.selected() {
                return self.apply_cell();
            }
            self.go_to_cell(cell);
        } else if list.contains(ratatui::layout::Position { x, y }) && y >= list.y + 2 {
            let row = self.compare_screen.list_scroll.top + usize::from(y - list.y - 2);
            if let Some(cell) = self.compare_screen.trade_offs().get(row).copied() {
                self.compare_screen.focus = CompareFocus::List;
                self.go_to_cell(Some(cell));
            }
        }
        Vec::new()
    }

    /// Moves the list's cursor to the selected cell if the list has it.
    pub(in crate::app) fn sync_compare_list(&mut self) {
        let cells = self.compare_screen.trade_offs();
        let selected = self.compare_screen.selected();
        let rows = self.compare_list_rows();
        if let Some(row) = cells.iter().position(|cell| Some(*cell) == selected) {
            self.compare_screen.list_scroll.move_to(row, cells.len(), rows);
        }
    }

    fn compare_list_rows(&self) -> usize {
        usize::from(self.compare_layout().list.height.saturating_sub(2))
    }

    /// Rotates the axes: two axes are swapped; with more, the next one is shown.
    fn rotate_axes(&mut self) {
        let mut axes = self.compare_screen.sweep_state.axes.clone();
        if axes.len() > 1 {
            axes.rotate_left(1);
            self.set_chosen_axes(axes);
        }
    }

    /// Puts another setting on the axis from left to right.
    fn cycle_axis(&mut self, by: isize) {
        let place = 1;
        let Some(recording) = self.replay_state.recording.clone() else { return };
        let mut axes = self.compare_screen.sweep_state.axes.clone();
        let base: Vec<_> = self.tuned_changes(&recording.session);
        let policies = self.tuned_policies(recording.inputs.recorded_settings.policies.enabled);
        let axis_context = AxisContext { session: &recording.session, base: &base, policies };
        let taken =
            |axis: &Axis| axes.iter().enumerate().any(|(at, shown)| at != place && shown.id == axis.id);
        let mut usual = usual_axes(&axis_context, recording.inputs.provider_window.get());
        usual.retain(|axis| !taken(axis));
        if usual.is_empty() {
            self.show_note("no more settings to vary".into());
            return;
        }
        let now = axes.get(place).and_then(|axis| usual.iter().position(|usual| usual.id == axis.id));
        let count = usual.len() as isize;
        let next = now.map_or(if by > 0 { 0 } else { count - 1 }, |at| (at as isize + by).rem_euclid(count));
        let axis = usual.swap_remove(next as usize);
        match axes.get_mut(place) {
            Some(shown) => *shown = axis,
            None => axes.push(axis),
        }
        self.set_chosen_axes(axes);
    }

    fn set_chosen_axes(&mut self, axes: Vec<Axis>) {
        match Grid::from_axes(&axes) {
            Ok(_) => {
                self.compare_screen.chosen_axes = Some(axes);
                self.compare_screen.focus = CompareFocus::Map;
            }
            Err(error) => self.show_toast(error.to_string(), true),
        }
    }

    /// Sets the headroom from text, in tokens or as a share of the window; an empty text means none.
    pub(in crate::app) fn set_headroom(&mut self, text: &str) -> Result<(), CompareInputError> {
        if text.trim().is_empty() || text.trim() == "0" {
            self.compare_screen.headroom = None;
            return Ok(());
        }
        let Some(recording) = &self.replay_state.recording else { return Ok(()) };
        let window = recording.inputs.provider_window;
        let amount = Amount::parse(text).ok_or(CompareInputError::NoAmount)?;
        match amount.tokens(window) {
            Some(tokens) if tokens < window => self.compare_screen.headroom = Some(amount),
            Some(_) => return Err(CompareInputError::TooLarge { window: window.whole() }),
            None => return Err(CompareInputError::UnknownWindow),
        }
        Ok(())
    }

    /// Sets the axes from text: `KEY=A..B:STEP`, separated by blanks; an empty text lets the session choose.
    pub(in crate::app) fn set_typed_axes(&mut self, text: &str) -> Result<(), CompareInputError> {
        if text.trim().is_empty() {
            self.compare_screen.chosen_axes = None;
            return Ok(());
        }
        let Some(recording) = self.replay_state.recording.clone() else { return Ok(()) };
        // An empty base, so that a tuned setting can be varied too.
        let policies = self.tuned_policies(recording.inputs.recorded_settings.policies.enabled);
        let axis_context = AxisContext { session: &recording.session, base: &[], policies };
        let axes = text.split_whitespace().map(|axis| Axis::parse(&axis_context, axis));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        Grid::from_axes(&axes)?;
        self.compare_screen.chosen_axes = Some(axes);
        self.compare_screen.focus = CompareFocus::Map;
        Ok(())
    }
}

/// A problem with text that was typed on the comparison.
#[derive(Debug, thiserror::Error)]
pub(in crate::app) enum CompareInputError {
    #[error("expected tokens, such as 20k, or a share, such as 10%")]
    NoAmount,
    #[error("expected less than the window of {}", format_number(*.window))]
    TooLarge { window: u64 },
    #[error("the window is unknown; write tokens instead of a share")]
    UnknownWindow,
    #[error(transparent)]
    Axis(#[from] AxisError),
}

/// Formats axes in the form that the person types.
fn axes_text(axes: &[Axis]) -> String {
    let text = |axis: &Axis| {
        let others = axis.points.iter().filter(|point| point.value.is_some());
        let values: Vec<&str> = others.map(|point| point.text.as_str()).collect();
        format!("{}={}", axis.key(), values.join(","))
    };
    axes.iter().map(text).collect::<Vec<_>>().join(" ")
}
