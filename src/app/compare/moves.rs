//! Moving over the map and the list, and choosing what is varied.

use crate::app::action::Action;
use crate::app::compare::{Measure, Part};
use crate::app::effect::Effect;
use crate::app::state::{App, Overlay, Prompt, Purpose};
use crate::inspect::amount::Amount;
use crate::inspect::words::grouped;
use crate::sweep::{Axis, Grid, Ground, usual_axes};

impl App {
    /// Does what an action says on the comparison; answers whether it belongs to it.
    pub(in crate::app) fn compare_action(&mut self, action: Action) -> bool {
        if !matches!(self.overlay, Some(Overlay::Compare)) {
            return false;
        }
        match action {
            Action::CellRight => self.compare_move(1, 1),
            Action::CellLeft => self.compare_move(1, -1),
            Action::Down => self.compare_down(1),
            Action::Up => self.compare_down(-1),
            Action::PageDown | Action::HalfPageDown => self.compare_down(5),
            Action::PageUp | Action::HalfPageUp => self.compare_down(-5),
            Action::Top => self.compare_down(isize::MIN / 2),
            Action::Bottom => self.compare_down(isize::MAX / 2),
            Action::NextHeld => self.compare_move(2, 1),
            Action::PreviousHeld => self.compare_move(2, -1),
            Action::NextMeasure => {
                let at =
                    Measure::ALL.iter().position(|measure| *measure == self.compare.measure).unwrap_or(0);
                self.compare.measure = Measure::ALL[(at + 1) % Measure::ALL.len()];
            }
            Action::NextPane | Action::PreviousPane => {
                self.compare.part = match self.compare.part {
                    Part::Map if !self.compare.trade_offs().is_empty() => Part::List,
                    _ => Part::Map,
                };
            }
            Action::ToConfig => self.compare_go(self.compare.current()),
            Action::Smallest => self.compare_smallest(),
            Action::TurnAxes => self.turn_axes(),
            Action::NextAxis => self.other_axis(1, 1),
            Action::PreviousAxis => self.other_axis(1, -1),
            Action::NextAxisDown => self.other_axis(0, 1),
            Action::PreviousAxisDown => self.other_axis(0, -1),
            Action::Headroom => {
                let text = self.compare.headroom.map(Amount::text).unwrap_or_default();
                self.prompt = Some(Prompt::new(Purpose::Headroom, text));
            }
            Action::EditAxes => {
                self.prompt = Some(Prompt::new(Purpose::Axes, axes_text(&self.compare.filling.axes)));
            }
            _ => return false,
        }
        true
    }

    /// Moves along an axis.
    fn compare_move(&mut self, axis: usize, by: isize) {
        let Some(count) = self.compare.filling.axes.get(axis).map(|axis| axis.points.len()) else { return };
        if let Some(at) = self.compare.at.get_mut(axis) {
            *at = at.saturating_add_signed(by).min(count.saturating_sub(1));
            self.compare.moved = true;
        }
        self.compare_follow_list();
    }

    /// Down the map, or down the list.
    fn compare_down(&mut self, by: isize) {
        if self.compare.part == Part::Map {
            return self.compare_move(0, by);
        }
        let cells = self.compare.trade_offs();
        let rows = self.compare_list_rows();
        self.compare.list.step(by, cells.len(), rows);
        let cell = cells.get(self.compare.list.cursor).copied();
        self.compare_go(cell);
    }

    /// Puts the cursor on a cell.
    pub(in crate::app) fn compare_go(&mut self, cell: Option<usize>) {
        let at = cell.zip(self.compare.filling.grid.as_ref()).map(|(cell, grid)| grid.at(cell));
        if let Some(at) = at {
            (self.compare.at, self.compare.moved) = (at, true);
            self.compare_follow_list();
        }
    }

    fn compare_smallest(&mut self) {
        let Some(sweep) = self.compare.filling.sweep.as_ref() else { return };
        match sweep.smallest {
            Some(cell) => self.compare_go(Some(cell)),
            None => self.toast("no setting of this map would have helped".into(), false),
        }
    }

    /// A click puts the cursor on a cell, or on a row of the list; one on the cell under the cursor takes it.
    pub(in crate::app) fn click_compare(&mut self, x: u16, y: u16) -> Vec<Effect> {
        let list = self.compare_places().list;
        if let Some((down, across)) = self.compare_grid().at(x, y) {
            let cell = self.compare.cell_at(down, across);
            self.compare.part = Part::Map;
            if cell.is_some() && cell == self.compare.selected() {
                self.take_cell();
            } else {
                self.compare_go(cell);
            }
        } else if list.contains(ratatui::layout::Position { x, y }) && y >= list.y + 2 {
            let row = self.compare.list.top + usize::from(y - list.y - 2);
            if let Some(cell) = self.compare.trade_offs().get(row).copied() {
                self.compare.part = Part::List;
                self.compare_go(Some(cell));
            }
        }
        Vec::new()
    }

    /// The list's cursor goes to the cell of the map, where it is one of the list.
    pub(super) fn compare_follow_list(&mut self) {
        let cells = self.compare.trade_offs();
        let selected = self.compare.selected();
        let rows = self.compare_list_rows();
        if let Some(row) = cells.iter().position(|cell| Some(*cell) == selected) {
            self.compare.list.to(row, cells.len(), rows);
        }
    }

    fn compare_list_rows(&self) -> usize {
        usize::from(self.compare_places().list.height.saturating_sub(2))
    }

    /// The axes change places: with two of them down and across, with more the next one comes to be shown.
    fn turn_axes(&mut self) {
        let mut axes = self.compare.filling.axes.clone();
        if axes.len() > 1 {
            axes.rotate_left(1);
            self.vary(axes);
        }
    }

    /// Another setting on an axis that is shown.
    fn other_axis(&mut self, place: usize, by: isize) {
        let Some(recording) = self.again.recording.clone() else { return };
        let mut axes = self.compare.filling.axes.clone();
        let base: Vec<_> = self.tuned_changes(&recording.inspection);
        let ground = Ground { inspection: &recording.inspection, base: &base };
        let taken =
            |axis: &Axis| axes.iter().enumerate().any(|(at, shown)| at != place && shown.key == axis.key);
        let mut usual = usual_axes(&ground, recording.material.provider_window);
        usual.retain(|axis| !taken(axis));
        if usual.is_empty() {
            self.toast("no other setting can be varied".into(), false);
            return;
        }
        let now = axes.get(place).and_then(|axis| usual.iter().position(|usual| usual.key == axis.key));
        let count = usual.len() as isize;
        let next = now.map_or(if by > 0 { 0 } else { count - 1 }, |at| (at as isize + by).rem_euclid(count));
        let axis = usual.swap_remove(next as usize);
        match axes.get_mut(place) {
            Some(shown) => *shown = axis,
            None => axes.push(axis),
        }
        self.vary(axes);
    }

    /// Varies these from now on.
    fn vary(&mut self, axes: Vec<Axis>) {
        match Grid::of(&axes) {
            Ok(_) => {
                self.compare.chosen = Some(axes);
                self.compare.part = Part::Map;
            }
            Err(error) => self.toast(error.to_string(), true),
        }
    }

    /// Leaves free what was typed, in tokens or as a share of the window; nothing leaves nothing. Answers what is wrong with it.
    pub(in crate::app) fn leave_free(&mut self, text: &str) -> Result<(), String> {
        if text.trim().is_empty() || text.trim() == "0" {
            self.compare.headroom = None;
            return Ok(());
        }
        let Some(recording) = &self.again.recording else { return Ok(()) };
        let window = recording.material.provider_window;
        let amount = Amount::parse(text)
            .ok_or_else(|| "expected tokens, such as 20k, or a share, such as 10%".to_owned())?;
        match amount.tokens(window) {
            Some(tokens) if tokens < window => self.compare.headroom = Some(amount),
            Some(_) => return Err(format!("expected less than the window of {}", grouped(window as u64))),
            None => return Err("nobody knows the window, so there is no share of it".into()),
        }
        Ok(())
    }

    /// Varies what was typed: `KEY=A..B:STEP`, several parted by blanks; nothing leaves the choice to the session. Answers
    /// what is wrong with it.
    pub(in crate::app) fn vary_typed(&mut self, text: &str) -> Result<(), String> {
        if text.trim().is_empty() {
            self.compare.chosen = None;
            return Ok(());
        }
        let Some(recording) = self.again.recording.clone() else { return Ok(()) };
        // What is tuned does not stand in the way of varying it.
        let ground = Ground { inspection: &recording.inspection, base: &[] };
        let axes = text.split_whitespace().map(|axis| Axis::parse(&ground, axis));
        let axes = axes.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        Grid::of(&axes).map_err(|error| error.to_string())?;
        self.compare.chosen = Some(axes);
        self.compare.part = Part::Map;
        Ok(())
    }
}

/// Axes as they are typed.
fn axes_text(axes: &[Axis]) -> String {
    let text = |axis: &Axis| {
        let others = axis.points.iter().filter(|point| point.value.is_some());
        let values: Vec<&str> = others.map(|point| point.text.as_str()).collect();
        format!("{}={}", axis.key, values.join(","))
    };
    axes.iter().map(text).collect::<Vec<_>>().join(" ")
}
