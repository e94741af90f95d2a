//! The card over the first screen ever.

use ratatui::buffer::Buffer;

use crate::app::App;
use crate::text;
use crate::ui::frame_box::{Frame, inside};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::put;

const WIDTH: u16 = 76;
/// Rows of the frame with its margins, and of the last line with the blank before it.
const FRAME_ROWS: u16 = 4;
const LAST_ROWS: u16 = 2;
/// Columns of a key.
const KEY_COLUMNS: u16 = 4;

pub(in crate::ui) fn draw(app: &App, theme: &Theme, buf: &mut Buffer) {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let width = usize::from(WIDTH.min(app.size.0.saturating_sub(2)).saturating_sub(6));
    let mut rows = Vec::new();
    for line in app.welcome_lines() {
        let indent = if line.key.is_empty() { 0 } else { KEY_COLUMNS };
        for (at, words) in text::wrap(&line.text, width.saturating_sub(indent.into())).into_iter().enumerate()
        {
            rows.push((if at == 0 { line.key.clone() } else { String::new() }, indent, words));
        }
    }
    let height = rows.len() as u16 + FRAME_ROWS + LAST_ROWS;
    let body = inside(Frame { title: "Welcome", width: WIDTH, height }.draw(theme, buf));
    let (x, end) = (body.x + 1, body.right());
    let mut y = body.y + 1;
    for (key, indent, words) in rows {
        put(buf, (x, y), end, &key, theme.bold(Role::Bright));
        put(buf, (x + indent, y), end, &words, theme.style(Role::Text));
        y += 1;
    }
    put(buf, (x, y + 1), end, "Any key closes this; it is shown once.", theme.style(Role::Muted));
}
