//! The box of a dialog, the only border on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::put;

/// A centred box, shrunk to fit the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    /// Columns, including the border.
    pub(super) width: u16,
    /// Rows, including the border.
    pub(super) height: u16,
}

impl Frame<'_> {
    /// Clears the box and draws its border; returns the box.
    pub(super) fn draw(&self, theme: &Theme, buf: &mut Buffer) -> Rect {
        let screen = buf.area;
        let width = self.width.min(screen.width.saturating_sub(2));
        let height = self.height.min(screen.height.saturating_sub(1));
        let area = Rect {
            x: screen.x + (screen.width - width) / 2,
            y: screen.y + (screen.height.saturating_sub(1 + height)) / 2,
            width,
            height,
        };
        clear(theme, buf, area);
        border(theme, buf, area);
        if area.width > 6 {
            let title = format!(" {} ", self.title);
            put(buf, (area.x + 2, area.y), area.right() - 2, &title, theme.bold(Role::Bright));
        }
        area
    }
}

fn clear(theme: &Theme, buf: &mut Buffer, area: Rect) {
    let style = theme.style(Role::Text).patch(theme.background(BackgroundRole::Surface));
    for position in area.intersection(buf.area).positions() {
        let cell = &mut buf[position];
        cell.reset();
        cell.set_style(style);
    }
    // A wide character may reach from the left into the box: remove it.
    for y in area.y..area.bottom() {
        let left = area.x.checked_sub(1).and_then(|x| buf.cell_mut((x, y)));
        if let Some(cell) = left.filter(|cell| crate::text::width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
}

fn border(theme: &Theme, buf: &mut Buffer, area: Rect) {
    if area.width < 2 || area.height < 2 {
        return;
    }
    let style = theme.style(Role::Ghost);
    let (left, top, right, bottom) = (area.x, area.y, area.right() - 1, area.bottom() - 1);
    for x in left + 1..right {
        put(buf, (x, top), area.right(), session_columns::LIGHT, style);
        put(buf, (x, bottom), area.right(), session_columns::LIGHT, style);
    }
    for y in top + 1..bottom {
        put(buf, (left, y), area.right(), session_columns::LINE, style);
        put(buf, (right, y), area.right(), session_columns::LINE, style);
    }
    for (at, sign) in [((left, top), "╭"), ((right, top), "╮"), ((left, bottom), "╰"), ((right, bottom), "╯")]
    {
        put(buf, at, area.right(), sign, style);
    }
}

/// Draws a hairline inside the border.
pub(super) fn rule(theme: &Theme, buf: &mut Buffer, area: Rect, y: u16) {
    for x in area.x + 1..area.right().saturating_sub(1) {
        put(buf, (x, y), area.right(), session_columns::LIGHT, theme.style(Role::Faint));
    }
}

/// Returns the area inside the border, with one blank cell on each side.
pub(super) fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

/// Highlights the selected row of a list in a box.
pub(super) fn selected(theme: &Theme, buf: &mut Buffer, row: Rect, style: Style) {
    crate::ui::widgets::apply_style(buf, row, style);
    put(buf, (row.x, row.y), row.right(), session_columns::CURSOR, theme.style(Role::Focus));
}
