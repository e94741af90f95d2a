//! The frame of a pane: its title line, the hairline on its left, and the scrollbar on the hairline to its right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::{put, put_spans, spans_width};
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};

/// Returns the first column of a pane's content, after its hairline if it has one.
pub fn content_left(area: Rect) -> u16 {
    if area.x > 0 { area.x + 1 } else { area.x }
}

/// Draws the title line and the left hairline of a pane; returns the column after the title. The focused pane's line is
/// heavy and blue.
pub fn title(theme: &Theme, buf: &mut Buffer, area: Rect, name: &str, focused: bool) -> u16 {
    if area.is_empty() {
        return area.x;
    }
    let (sign, style) = if focused {
        (glyphs::HEAVY, theme.style(Role::Focus))
    } else {
        (glyphs::LIGHT, theme.style(Role::Faint))
    };
    let left = content_left(area);
    for x in left..area.right() {
        put(buf, (x, area.y), area.right(), sign, style);
    }
    if left > area.x {
        hairline(theme, buf, area);
    }
    let style = if focused { theme.bold(Role::Focus) } else { theme.style(Role::Muted) };
    put(buf, (left + 1, area.y), area.right(), &format!(" {name} "), style)
}

fn hairline(theme: &Theme, buf: &mut Buffer, area: Rect) {
    let style = theme.style(Role::Faint);
    let above = area.y.checked_sub(1).and_then(|y| buf.cell((area.x, y)));
    let goes_on = above.is_some_and(|cell| [glyphs::LINE, "┬"].contains(&cell.symbol()));
    put(buf, (area.x, area.y), area.right(), if goes_on { glyphs::TICK } else { "┬" }, style);
    for y in area.y + 1..area.bottom() {
        put(buf, (area.x, y), area.right(), glyphs::LINE, style);
    }
}

/// Writes on a title line before column `end`, with a blank on either side; returns the start. Writes nothing and
/// returns `end` if it does not fit.
pub fn on_title(buf: &mut Buffer, y: u16, start: u16, end: u16, spans: &[Span]) -> u16 {
    let width = spans_width(spans) + 2;
    if start + width > end {
        return end;
    }
    let from = end - width;
    let x = put(buf, (from, y), end, " ", Style::new());
    let x = put_spans(buf, (x, y), end, spans);
    put(buf, (x, y), end, " ", Style::new());
    from
}

/// Draws the scrollbar of a list on the hairline to its right, or in its last column; only if rows are hidden.
pub fn scrollbar(theme: &Theme, buf: &mut Buffer, list: Rect, top: usize, len: usize) {
    let beside = list.right() < buf.area.right();
    let x = if beside { list.right() } else { list.right().saturating_sub(1) };
    let track = Rect { x, width: 1, ..list };
    let height = usize::from(track.height);
    if height == 0 || len <= height {
        return;
    }
    let thumb = (height * height / len).clamp(1, height);
    let (room, hidden) = (height - thumb, len - height);
    let from = (top.min(hidden) * room + hidden / 2) / hidden;
    for line in from..from + thumb {
        let at = (track.x, track.y + line as u16);
        put(buf, at, track.right(), glyphs::THUMB, theme.style(Role::Ghost));
    }
}
