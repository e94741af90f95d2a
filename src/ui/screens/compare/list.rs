//! The best trade-offs: cells that no other cell beats in cost, peak and cleared tokens at once.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::{View, dash, label, left_out, peak, regret, regret_role, short_name};
use crate::app::screens::compare::CompareFocus;
use crate::report::cost::format_cost;
use crate::report::sweep::{Axis, Cell};
use crate::text;
use crate::ui::theme::Role;
use crate::ui::widgets::{put, put_right, row_at, scrollbar, title};
use crate::ui::{frame_box, session_columns};

/// Columns of the numbers, from the right: cleared, peak, cost, needed again.
const NUMBER_WIDTHS: [u16; 4] = [8, 9, 8, 6];
/// Largest and smallest width of a setting.
const MAX_SETTING_WIDTH: u16 = 16;
const MIN_SETTING_WIDTH: u16 = 5;

impl View<'_> {
    pub(super) fn list(&self, buf: &mut Buffer) {
        let area = self.places.list;
        if area.height < 2 {
            return;
        }
        let focused = self.screen.focus == CompareFocus::List;
        title(self.theme, buf, area, "Best trade-offs", focused);
        let cells = self.screen.trade_offs();
        let rows = Rect { y: area.y + 2, height: area.height - 2, ..area };
        self.list_row(area.y + 1, &TableRow::Header, buf);
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
        let top = self.screen.list_scroll.top.min(cells.len().saturating_sub(usize::from(rows.height)));
        for (y, (at, number)) in (rows.y..rows.bottom()).zip(cells.iter().enumerate().skip(top)) {
            let Some(cell) = self.screen.cell(*number) else { continue };
            let selected = self.screen.selected() == Some(*number);
            if selected {
                let line = Rect {
                    x: area.x + u16::from(area.x > 0),
                    width: area.width.saturating_sub(1),
                    ..row_at(area, y)
                };
                let background = self.theme.selection(focused);
                frame_box::selected(self.theme, buf, line, background);
            }
            self.list_row(y, &TableRow::Cell { at, cell, selected }, buf);
        }
        scrollbar(self.theme, buf, rows, top, cells.len());
    }

    fn widths(&self) -> Vec<u16> {
        let area = self.places.list;
        let numbers: u16 = NUMBER_WIDTHS.iter().sum();
        let room = area.width.saturating_sub(numbers + 7);
        let axes = &self.screen.sweep_state.axes;
        let wanted = |axis: &Axis| {
            let widest =
                axis.points.iter().map(|point| text::width(axis.shown_text(point))).max().unwrap_or(0);
            (text::width(short_name(axis)).max(widest) as u16 + 2).clamp(MIN_SETTING_WIDTH, MAX_SETTING_WIDTH)
        };
        let mut widths: Vec<u16> = axes.iter().map(wanted).collect();
        // Shrink the widest column first.
        while widths.iter().sum::<u16>() > room {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > MIN_SETTING_WIDTH) else {
                break;
            };
            *widest -= 1;
        }
        widths
    }

    fn list_row(&self, y: u16, row: &TableRow<'_>, buf: &mut Buffer) {
        let area = self.places.list;
        let theme = self.theme;
        let mut x = area.x + 3;
        if let TableRow::Cell { at, .. } = row {
            put_right(buf, y, x, x + 2, &[self.span(Role::Muted, (at + 1).to_string())]);
        }
        x += 2;
        for (place, (axis, width)) in self.screen.sweep_state.axes.iter().zip(self.widths()).enumerate() {
            let span = match row {
                TableRow::Header => self.span(Role::Muted, short_name(axis)),
                TableRow::Cell { cell, selected, .. } => {
                    let point = cell.points.get(place).copied().unwrap_or(0);
                    let style = match (point == axis.current, selected) {
                        (_, true) => theme.bold(Role::Bright),
                        (true, _) => theme.style(Role::Muted),
                        (false, _) => theme.style(Role::Text),
                    };
                    Span::styled(label(axis, &axis.points[point]), style)
                }
            };
            let words = text::truncate(&span.content, usize::from(width.saturating_sub(1))).0.clone();
            put_right(buf, y, x, x + width, &[Span::styled(words, span.style)]);
            x += width;
        }
        let numbers = match row {
            TableRow::Header => {
                ["freed", "peak", "cost", session_columns::AGAIN].map(|word| self.span(Role::Muted, word))
            }
            TableRow::Cell { cell, .. } => {
                let danger = if cell.overflows() > 0 { Role::Danger } else { Role::Text };
                [
                    self.span(Role::Text, left_out(cell)),
                    self.span(danger, peak(cell)),
                    self.span(Role::Text, format_cost(&cell.totals.cost_breakdown).unwrap_or_else(dash)),
                    self.span(regret_role(cell), regret(cell)),
                ]
            }
        };
        let mut end = area.right().saturating_sub(2);
        for (span, width) in numbers.into_iter().zip(NUMBER_WIDTHS) {
            if end < x + width {
                break;
            }
            put_right(buf, y, end - width, end, &[span]);
            end -= width;
        }
    }
}

enum TableRow<'a> {
    Header,
    Cell { at: usize, cell: &'a Cell, selected: bool },
}
