//! Moves the borders between panes, with keys or the mouse. The sizes stay for the run.

use crate::app::layout::{Border, Pane, WidthClass};
use crate::app::state::App;

impl App {
    /// Moves the border of the focused pane by columns; the one above the tuning pane by half as many rows.
    pub(super) fn move_border_by(&mut self, by: i16) {
        let layout = self.layout();
        let border = match self.focus {
            _ if self.zoom || self.overlay().is_some() => return,
            Pane::Sessions => Border::Sessions,
            Pane::Tuning => Border::Tuning,
            _ if layout.width_class == WidthClass::Narrow => Border::Sessions,
            Pane::Transcript | Pane::Message => Border::Message,
        };
        match border {
            Border::Sessions => self.move_border(border, layout.transcript.x.saturating_add_signed(by), 0),
            Border::Message => self.move_border(border, layout.message.x.saturating_add_signed(by), 0),
            Border::Tuning => self.move_border(border, 0, layout.tuning.y.saturating_add_signed(by / 2)),
        }
    }

    /// Moves a border to a position, within the limits of the panes next to it.
    pub(super) fn move_border(&mut self, border: Border, column: u16, row: u16) {
        let before = self.layout();
        let added = |to: u16, from: u16| i16::try_from(i32::from(to) - i32::from(from)).unwrap_or(0);
        match border {
            Border::Sessions => self.pane_sizes.sessions += added(column, before.transcript.x),
            Border::Message => self.pane_sizes.message += added(before.message.x, column),
            Border::Tuning => self.pane_sizes.tuning += added(before.tuning.y, row),
        }
        // What the layout did not allow must not have to be taken back first.
        let after = self.layout();
        match border {
            Border::Sessions => self.pane_sizes.sessions += added(after.transcript.x, column),
            Border::Message => self.pane_sizes.message += added(column, after.message.x),
            Border::Tuning => self.pane_sizes.tuning += added(row, after.tuning.y),
        }
        self.keep_cursors_visible();
    }
}
