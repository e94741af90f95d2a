//! The window that waits for a letter: what each letter copies or shows.

use ratatui::buffer::Buffer;

use crate::app::App;
use crate::app::screens::letters::{KeyMenu, KeyMenuKind};
use crate::ui::frame_box::{Frame, inside};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::put;

const WIDTH: u16 = 70;
/// Rows of the frame and its margins.
const FRAME_ROWS: u16 = 4;

pub(in crate::ui) fn draw(app: &App, theme: &Theme, window: &KeyMenu, buf: &mut Buffer) {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let rows = window.rows.len() as u16;
    let frame = Frame { title: window.kind.title(), width: WIDTH, height: rows + FRAME_ROWS };
    let body = inside(frame.draw(theme, buf));
    for (y, row) in (body.y..body.bottom()).zip(&window.rows) {
        put(buf, (body.x + 1, y), body.right(), &row.letter.to_string(), theme.bold(Role::Bright));
        let x = put(buf, (body.x + 4, y), body.right(), row.name, theme.style(Role::Text));
        let x = if window.kind == KeyMenuKind::Copy { (x + 2).max(body.x + 25) } else { x };
        let first = row.text.lines().next().unwrap_or_default();
        put(buf, (x, y), body.right().saturating_sub(1), first, theme.style(Role::Muted));
    }
}
