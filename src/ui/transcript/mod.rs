//! The transcript pane: one row per message with rail, text, fate and tokens.

mod columns;
mod row;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::layout::Pane;
use crate::app::target::Target;
use crate::app::transcript::TranscriptPane;
use crate::context::rows::Filter;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{content_left, on_title, put_right, row_at, scrollbar, title};
use crate::ui::{empty_states, session_columns};
use columns::Columns;
use row::RowPainter;

pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let layout = app.layout();
    if layout.tabs.is_empty() {
        // A plan is for one prompt, also beside the bars of the whole session.
        let is_next_call = app.target == Target::WholeSession && app.preview.plan.is_some();
        let name = if is_next_call { "Next call" } else { Pane::Transcript.title() };
        title(theme, buf, area, name, app.focus == Pane::Transcript);
    }
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let Some(pane) = &app.transcript else {
        empty_states::draw_no_transcript(app, theme, list, buf);
        return;
    };
    if empty_states::draw_opening(app, theme, list, buf) {
        return;
    }
    let columns = Columns::new(area, layout.width_class, app.preview.plan.is_some());
    let columns = Columns { named: layout.tabs.is_empty(), ..columns };
    if columns.named {
        headings(app, theme, pane, area, &columns, buf);
    }
    if pane.rows.is_empty() {
        empty_states::draw_no_rows(app, theme, pane, list, buf);
        return;
    }
    let rows = pane.rows.iter().enumerate().skip(pane.scroll.top).take(usize::from(list.height));
    for (y, (at, row)) in (list.y..list.bottom()).zip(rows) {
        let line = RowPainter { app, theme, pane, columns: &columns, area: row_at(list, y) };
        line.draw(row, at == pane.scroll.cursor, buf);
    }
    if let Some(mark) = app.unseen_mark() {
        let spans = [Span::styled(mark, theme.bold(Role::Focus))];
        put_right(buf, list.bottom().saturating_sub(1), list.x, list.right(), &spans);
    }
}

/// Draws the scrollbar. It is on the hairline of the next pane, so it comes after that pane.
pub(super) fn draw_scrollbar(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if let Some(pane) = app.transcript.as_ref().filter(|_| !app.is_opening_slowly()) {
        let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        scrollbar(theme, buf, list, pane.scroll.top, pane.rows.len());
    }
}

/// Draws the column names in the title line, each with the `~` of the estimates below it, with the active filter and search.
fn headings(
    app: &App,
    theme: &Theme,
    pane: &TranscriptPane,
    area: Rect,
    columns: &Columns,
    buf: &mut Buffer,
) {
    let muted = theme.style(Role::Muted);
    let from = content_left(area) + 14;
    if columns.total_end > 0 {
        on_title(buf, area.y, from, columns.total_end + 1, &[Span::styled("~total", muted)]);
    }
    let words = if app.preview.plan.is_some() {
        vec![
            Span::styled("~before ", muted),
            Span::styled(session_columns::ARROW, theme.style(Role::Muted)),
            Span::styled(" ~after", muted),
        ]
    } else {
        vec![Span::styled("~tokens", muted)]
    };
    let start = on_title(buf, area.y, from, columns.after_end + 1, &words);
    let mut facts = Vec::new();
    if pane.filter != Filter::Conversation {
        facts.push(Span::styled(pane.filter.as_str(), theme.style(Role::Bright)));
    }
    if !pane.query.is_empty() {
        let found = match pane.matches.len() {
            0 => format!("/{}", pane.query),
            count => format!("/{} {count} found", pane.query),
        };
        if !facts.is_empty() {
            facts.push(Span::raw("   "));
        }
        facts.push(Span::styled(found, theme.style(Role::Bright)));
    }
    if !facts.is_empty() {
        on_title(buf, area.y, from, start.saturating_sub(1), &facts);
    }
}
