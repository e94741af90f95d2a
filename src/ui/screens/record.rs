//! The session record, section by section.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::doc_page::draw_doc;
use crate::app::App;
use crate::app::screens::record::RecordScreen;
use crate::report::record::describe_rollup;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, note, on_title, title};

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &RecordScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let name = match &screen.page {
        Some(Ok(page)) => format!("Session record · {}", page.doc.headline),
        _ => "Session record".to_owned(),
    };
    let from = title(theme, buf, area, &name, true);
    match &screen.page {
        Some(Ok(page)) => {
            let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
            draw_doc(theme, page, list, buf);
        }
        Some(Err(reason)) => note(theme, "The record cannot be read.", &reason.to_string(), area, buf),
        None => {}
    }
    if let Some(total) = total(app, screen) {
        let total = [Span::styled(total, theme.style(Role::Muted))];
        on_title(buf, area.y, from, area.right().saturating_sub(1), &total);
    }
}

/// Describes the usage of the session with those that it started.
fn total(app: &App, screen: &RecordScreen) -> Option<String> {
    let at = app.sessions.items.iter().position(|item| item.key == screen.key)?;
    describe_rollup(app.sessions.rollups.get(at)?)
}
