//! The lines of a document on the screen.

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::Span;

use super::put_spans;
use crate::doc::{Line, Tone};
use crate::ui::theme::{Role, Theme};

/// Draws a line of a document up to column `end`.
pub fn put_doc_line(theme: &Theme, line: &Line, at: (u16, u16), end: u16, buf: &mut Buffer) {
    let span = |span: &crate::doc::Span| Span::styled(span.text.clone(), style(theme, span.tone));
    put_spans(buf, at, end, &line.spans.iter().map(span).collect::<Vec<_>>());
}

fn style(theme: &Theme, tone: Tone) -> Style {
    match tone {
        Tone::Plain => theme.style(Role::Text),
        Tone::Strong => theme.bold(Role::Bright),
        Tone::Dim => theme.style(Role::Muted),
        Tone::Good => theme.style(Role::User),
        Tone::Warning => theme.style(Role::Warn),
        Tone::Bad => theme.style(Role::Danger),
        Tone::Trimmed | Tone::Cleared => theme.style(Role::Plan),
        Tone::Part(_) if theme.uses_letters() => theme.style(Role::Ghost),
        Tone::Part(part) => Style::new().fg(theme.part_colours(part, false).0),
    }
}
