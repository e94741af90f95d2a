//! The command log: a time and a command line on each row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::command_log::{CommandLogScreen, DETAIL_ROWS};
use crate::format::format_time;
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{clear, note, on_title, put, row_at, scrollbar, title};
use crate::ui::{frame_box, glyphs};

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &CommandLogScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let from = title(theme, buf, area, "Command log", true);
    if screen.commands.is_empty() {
        return note(
            theme,
            "The log is empty.",
            "Open a session, and its command line appears here.",
            area,
            buf,
        );
    }
    let count = [Span::styled(screen.commands.len().to_string(), theme.style(Role::Muted))];
    on_title(buf, area.y, from, area.right().saturating_sub(1), &count);
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + DETAIL_ROWS), ..area };
    let rows = CommandLogScreen::list_rows(app.size.1).min(usize::from(list.height));
    let top = screen.scroll.top.min(screen.commands.len().saturating_sub(rows));
    for (y, (at, command)) in (list.y..list.bottom()).zip(screen.commands.iter().enumerate().skip(top)) {
        if at == screen.scroll.cursor {
            frame_box::selected(theme, buf, row_at(list, y), theme.background(BackgroundRole::Selected));
        }
        let end = list.right().saturating_sub(1);
        let time = format_time(command.at_ms);
        let x = put(buf, (list.x + 2, y), end, &time, theme.style(Role::Muted));
        put(buf, (x + 2, y), end, &text::visible(&command.line), theme.style(Role::Text));
    }
    scrollbar(theme, buf, list, top, screen.commands.len());
    if let Some(command) = screen.commands.get(screen.scroll.cursor) {
        let below = Rect { y: list.bottom(), height: DETAIL_ROWS, ..area };
        for x in below.left()..below.right() {
            put(buf, (x, below.y), below.right(), glyphs::LIGHT, theme.style(Role::Faint));
        }
        let lines = text::wrap(&command.line, usize::from(below.width.saturating_sub(4)));
        for (y, line) in (below.y + 1..below.bottom()).zip(lines) {
            put(buf, (below.x + 2, y), below.right(), &line, theme.style(Role::Bright));
        }
    }
}
