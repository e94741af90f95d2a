//! The command palette: runs any action by name.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;

use crate::app::App;
use crate::app::keymap::KeyContext;
use crate::app::screens::palette::{PaletteScreen, palette_rows};
use crate::app::state::{InputPurpose, LineInput};
use crate::ui::frame_box::{Frame, inside, selected};
use crate::ui::status::{draw_input, first_key};
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{put, put_right, row_at, scrollbar};

const WIDTH: u16 = 64;
const HEIGHT: u16 = 18;

/// Draws the palette over the screen; returns the cursor position.
pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &PaletteScreen, buf: &mut Buffer) -> Position {
    let (text, at) = (screen.text.as_str(), screen.selected);
    theme.backdrop(app.layout().above_status(app.size), buf);
    let frame = Frame { title: "Run", width: WIDTH, height: HEIGHT };
    let area = frame.draw(theme, buf);
    let body = inside(area);
    let prompt = LineInput::new(InputPurpose::Search, text.to_owned());
    let x = put(buf, (body.x + 1, body.y), body.right(), ": ", theme.bold(Role::Muted));
    let cursor = draw_input(&prompt, theme, (x, body.y), body.right(), buf);
    let rows = palette_rows(text);
    let list = Rect { y: body.y + 2, height: body.height.saturating_sub(2), ..body };
    if rows.is_empty() {
        put(buf, (list.x + 1, list.y), list.right(), "no matching action", theme.style(Role::Text));
        return cursor;
    }
    let height = usize::from(list.height).max(1);
    let top = (at + 1).saturating_sub(height);
    for (y, (row, action)) in (list.y..list.bottom()).zip(rows.iter().enumerate().skip(top)) {
        let line = row_at(list, y);
        if row == at {
            selected(theme, buf, line, theme.background(BackgroundRole::Selected));
        }
        let key = [
            KeyContext::Global,
            KeyContext::Transcript,
            KeyContext::Message,
            KeyContext::Tuning,
            KeyContext::Dialog,
        ]
        .map(|context| first_key(app, context, action.0));
        let key = key.into_iter().find(|key| !key.is_empty()).unwrap_or_default();
        let style = if row == at { theme.bold(Role::Bright) } else { theme.style(Role::Text) };
        let name_end = put(buf, (list.x + 1, y), list.right() - 12, action.1, style).max(list.x + 22);
        put(buf, (name_end + 2, y), list.right() - 10, action.3, theme.style(Role::Muted));
        put_right(buf, y, list.right() - 9, list.right() - 1, &[Span::styled(key, theme.bold(Role::Text))]);
    }
    scrollbar(theme, buf, Rect { width: list.width + 1, ..list }, top, rows.len());
    cursor
}
