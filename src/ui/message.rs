//! The message pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::app::layout::Pane;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{content_left, put, title};

/// Draws the pane.
pub fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if app.layout().tabs.is_empty() {
        title(theme, buf, area, Pane::Message.title(), app.focus == Pane::Message);
    }
    let Some(text) = &app.message.text else { return };
    let x = content_left(area) + 1;
    let lines = text.parts.iter().flat_map(|part| part.text.lines()).skip(app.message.top);
    for (y, line) in (area.y + 1..area.bottom()).zip(lines) {
        put(buf, (x, y), area.right().saturating_sub(1), line, theme.style(Role::Text));
    }
}
