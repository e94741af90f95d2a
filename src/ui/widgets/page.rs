//! Full-screen pages over the panes: an empty page, and the note on a page without content.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{apply_style, put};
use crate::text;
use crate::ui::theme::{Role, Theme};

/// Clears an area to the page's background.
pub fn clear(theme: &Theme, buf: &mut Buffer, area: Rect) {
    for position in area.intersection(buf.area).positions() {
        buf[position].reset();
    }
    apply_style(buf, area, theme.base());
}

/// Draws why a page has no content.
pub fn note(theme: &Theme, what: &str, why: &str, area: Rect, buf: &mut Buffer) {
    let at = (area.x + 3, area.y + 2);
    put(buf, at, area.right(), what, theme.bold(Role::Bright));
    let lines = text::wrap(why, usize::from(area.width.saturating_sub(6)));
    for (y, line) in (at.1 + 1..area.bottom()).zip(lines) {
        put(buf, (at.0, y), area.right(), &line, theme.style(Role::Text));
    }
}
