//! The text around the selected hit, next to the list or below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::format::{format_number, format_time};
use crate::session::search::{SearchHit, SearchQuery};
use crate::text;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{content_left, put, put_spans, title};

pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let screen = &app.search_screen;
    let is_below = area.x == 0;
    let hit = screen.selected_hit().map(|(_, hit)| hit);
    if !is_below || hit.is_some() {
        title(theme, buf, area, "Message", false);
    }
    let Some(hit) = hit else { return };
    let (x, end) = (content_left(area) + 1, area.right().saturating_sub(1));
    let next = put_spans(buf, (x, area.y + 1), end, &source(hit, theme));
    // Speaker, place and a blank; below the list they share a line.
    let (at, head) = if is_below { ((next + 3, area.y + 1), 2) } else { ((x, area.y + 2), 4) };
    put(buf, at, end, &place(hit), theme.style(Role::Muted));
    let shown = hit.text.with_secrets(&screen.query, app.secrets);
    let columns = usize::from(end.saturating_sub(x)).max(1);
    let lines: Vec<String> = shown.lines().flat_map(|line| wrapped(line, columns)).collect();
    let rows = usize::from(area.height.saturating_sub(head));
    // The first match is in sight, with a third of the lines above it.
    let first = lines.iter().position(|line| screen.query.first_range(line).is_some()).unwrap_or(0);
    let top = first.saturating_sub(rows / 3).min(lines.len().saturating_sub(rows));
    for (y, line) in (area.y + head..area.bottom()).zip(lines.iter().skip(top)) {
        put_spans(buf, (x, y), end, &marked(theme, &screen.query, line, theme.style(Role::Text)));
    }
}

/// Returns the speaker, the part of the message and the entry.
fn source<'a>(hit: &SearchHit, theme: &Theme) -> [Span<'a>; 3] {
    let (name, role) = speaker(hit);
    let part = if ["text", "error"].contains(&hit.part) { String::new() } else { format!("  {}", hit.part) };
    [
        Span::styled(name.to_owned(), theme.bold(role)),
        Span::styled(part, theme.style(Role::Muted)),
        Span::styled(format!("   #{}", hit.id), theme.style(Role::Muted)),
    ]
}

fn place(hit: &SearchHit) -> String {
    let mut place = vec![format!("line {}", format_number(hit.line))];
    place.extend(hit.time_ms.map(format_time));
    if !hit.is_on_branch {
        place.push("on another branch".to_owned());
    }
    place.join(" · ")
}

/// Wraps a line; an empty one stays.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let lines = text::wrap(line, columns);
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// Returns the name of a hit's speaker and its role.
pub(super) fn speaker(hit: &SearchHit) -> (&str, Role) {
    match (&hit.tool, hit.role) {
        (Some(tool), _) => (tool, Role::Tool),
        (None, "user") => ("you", Role::User),
        (None, "assistant") => ("assistant", Role::Assistant),
        (None, "compaction" | "branch_summary" | "compactionSummary" | "branchSummary") => {
            ("summary", Role::Plan)
        }
        (None, role) => (role, Role::Muted),
    }
}

/// Returns the style of a searched word.
fn word_style(theme: &Theme) -> Style {
    theme.background(BackgroundRole::Hot).add_modifier(Modifier::UNDERLINED)
}

/// Splits a visible line into spans, with the searched words marked.
pub(super) fn marked<'a>(theme: &Theme, query: &SearchQuery, line: &str, style: Style) -> Vec<Span<'a>> {
    let mut spans = Vec::new();
    let mut at = 0;
    for range in query.ranges(line) {
        spans.push(Span::styled(line[at..range.start].to_owned(), style));
        spans.push(Span::styled(line[range.clone()].to_owned(), style.patch(word_style(theme))));
        at = range.end;
    }
    spans.push(Span::styled(line[at..].to_owned(), style));
    spans
}
