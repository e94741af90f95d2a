//! The text of a rule.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::screens::rule::{HEADER_ROWS, RuleScreen};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, content_left, on_title, put, scrollbar, title};

pub(in crate::ui) fn draw(theme: &Theme, screen: &RuleScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let citation = format!("Rule {} {}", screen.rule.document.name, screen.rule.id);
    let from = title(theme, buf, area, &citation, true);
    let name = [Span::styled(screen.rule.title, theme.style(Role::Muted))];
    on_title(buf, area.y, from, area.right().saturating_sub(1), &name);
    let body = Rect { y: area.y + HEADER_ROWS, height: area.height.saturating_sub(HEADER_ROWS), ..area };
    let lines = screen.lines(area.width);
    let top = screen.top.min(lines.len().saturating_sub(usize::from(body.height)));
    for (y, line) in (body.y..body.bottom()).zip(&lines[top..]) {
        let style = if line.starts_with('#') { theme.bold(Role::Bright) } else { theme.style(Role::Text) };
        put(buf, (content_left(area), y), body.right().saturating_sub(1), line, style);
    }
    scrollbar(theme, buf, body, top, lines.len());
}
