//! The best trade-offs: cells that none beats in cost, peak and tokens cleared together.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::{View, dash, estimated, exactly, label, short};
use crate::app::compare::Part;
use crate::inspect::cost::cost_short;
use crate::sweep::{Axis, Cell};
use crate::text;
use crate::ui::frame_box;
use crate::ui::theme::Role;
use crate::ui::widgets::{put, put_right, row_of, scrollbar, title};

/// Columns of the numbers, from the right: cleared, peak, cost.
const NUMBERS: [u16; 3] = [8, 9, 8];
/// Columns of a setting at most, and at least.
const MOST: u16 = 16;
const LEAST: u16 = 5;

impl View<'_> {
    pub(super) fn list(&self, buf: &mut Buffer) {
        let area = self.places.list;
        if area.height < 2 {
            return;
        }
        let focused = self.screen.part == Part::List;
        title(self.theme, buf, area, "Best trade-offs", focused);
        let cells = self.screen.trade_offs();
        let rows = Rect { y: area.y + 2, height: area.height - 2, ..area };
        self.list_row(area.y + 1, &Row::Head, buf);
        if self.sweep().is_none() {
            put(
                buf,
                (area.x + 3, rows.y),
                area.right(),
                "when every cell is known",
                self.theme.style(Role::Muted),
            );
            return;
        }
        let top = self.screen.list.top.min(cells.len().saturating_sub(usize::from(rows.height)));
        for (y, (at, number)) in (rows.y..rows.bottom()).zip(cells.iter().enumerate().skip(top)) {
            let Some(cell) = self.screen.cell(*number) else { continue };
            let selected = self.screen.selected() == Some(*number);
            if selected {
                let line = Rect {
                    x: area.x + u16::from(area.x > 0),
                    width: area.width.saturating_sub(1),
                    ..row_of(area, y)
                };
                let ground = self.theme.selection(focused);
                frame_box::selected(self.theme, buf, line, ground);
            }
            self.list_row(y, &Row::Cell { at, cell, selected }, buf);
        }
        scrollbar(self.theme, buf, rows, top, cells.len());
    }

    /// Columns of each setting.
    fn widths(&self) -> Vec<u16> {
        let area = self.places.list;
        let numbers: u16 = NUMBERS.iter().sum();
        let room = area.width.saturating_sub(numbers + 7);
        let axes = &self.screen.filling.axes;
        let wanted = |axis: &Axis| {
            let widest = axis.points.iter().map(|point| text::width(&point.text)).max().unwrap_or(0);
            (text::width(short(axis)).max(widest) as u16 + 2).clamp(LEAST, MOST)
        };
        let mut widths: Vec<u16> = axes.iter().map(wanted).collect();
        // The widest gives way first.
        while widths.iter().sum::<u16>() > room {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > LEAST) else { break };
            *widest -= 1;
        }
        widths
    }

    fn list_row(&self, y: u16, row: &Row<'_>, buf: &mut Buffer) {
        let area = self.places.list;
        let theme = self.theme;
        let mut x = area.x + 3;
        if let Row::Cell { at, .. } = row {
            put_right(buf, y, x, x + 2, &[self.span(Role::Muted, (at + 1).to_string())]);
        }
        x += 2;
        for (place, (axis, width)) in self.screen.filling.axes.iter().zip(self.widths()).enumerate() {
            let span = match row {
                Row::Head => self.span(Role::Muted, short(axis)),
                Row::Cell { cell, selected, .. } => {
                    let point = cell.at.get(place).copied().unwrap_or(0);
                    let style = match (point == axis.current, selected) {
                        (_, true) => theme.bold(Role::Bright),
                        (true, _) => theme.style(Role::Muted),
                        (false, _) => theme.style(Role::Text),
                    };
                    Span::styled(label(&axis.points[point]), style)
                }
            };
            let words = text::cut(&span.content, usize::from(width.saturating_sub(1))).0.clone();
            put_right(buf, y, x, x + width, &[Span::styled(words, span.style)]);
            x += width;
        }
        let numbers = match row {
            Row::Head => ["left out", "peak", "cost"].map(|word| self.span(Role::Muted, word)),
            Row::Cell { cell, .. } => {
                let peak = if cell.overflows() > 0 { Role::Danger } else { Role::Text };
                [
                    self.span(Role::Text, estimated(cell.left_out())),
                    self.span(peak, exactly(cell.peak())),
                    self.span(Role::Text, cost_short(&cell.totals.spent).unwrap_or_else(dash)),
                ]
            }
        };
        let mut end = area.right().saturating_sub(2);
        for (span, width) in numbers.into_iter().zip(NUMBERS) {
            if end < x + width {
                break;
            }
            put_right(buf, y, end - width, end, &[span]);
            end -= width;
        }
    }
}

/// A line of the list.
enum Row<'a> {
    /// Names.
    Head,
    /// A cell.
    Cell { at: usize, cell: &'a Cell, selected: bool },
}
