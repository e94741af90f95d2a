//! The session record, section by section.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::record::{HEADER_ROWS, RecordLine, RecordScreen};
use crate::report::record::describe_rollup;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, content_left, note, on_title, put, scrollbar, title};

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &RecordScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let view = match &screen.view {
        Some(Ok(view)) => view,
        Some(Err(reason)) => {
            title(theme, buf, area, "Session record", true);
            return note(theme, "The record cannot be read.", &reason.to_string(), area, buf);
        }
        None => {
            title(theme, buf, area, "Session record", true);
            return;
        }
    };
    let from = title(theme, buf, area, &format!("Session record · {}", view.title), true);
    if let Some(total) = total(app, screen) {
        let total = [Span::styled(total, theme.style(Role::Muted))];
        on_title(buf, area.y, from, area.right().saturating_sub(1), &total);
    }
    let body = Rect { y: area.y + HEADER_ROWS, height: area.height.saturating_sub(HEADER_ROWS), ..area };
    let lines = screen.lines(area.width);
    let top = screen.top.min(lines.len().saturating_sub(usize::from(body.height)));
    let left = content_left(area) + 1;
    let names = RecordScreen::name_width(area.width);
    for (y, line) in (body.y..body.bottom()).zip(&lines[top..]) {
        match line {
            RecordLine::Section(name) => {
                put(buf, (left, y), body.right(), name, theme.bold(Role::Bright));
            }
            RecordLine::Field { name, value } => {
                put(buf, (left + 1, y), left + names, name, theme.style(Role::Muted));
                let end = body.right().saturating_sub(1);
                put(buf, (left + 1 + names, y), end, value, theme.style(Role::Text));
            }
            RecordLine::Blank => {}
        }
    }
    scrollbar(theme, buf, body, top, lines.len());
}

/// Describes the usage of the session with those that it started.
fn total(app: &App, screen: &RecordScreen) -> Option<String> {
    let at = app.sessions.items.iter().position(|item| item.key == screen.key)?;
    describe_rollup(app.sessions.rollups.get(at)?)
}
