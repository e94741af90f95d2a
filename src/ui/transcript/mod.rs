//! The transcript pane: one row per message with rail, text, fate and tokens.

mod compaction_marker;
mod row;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::layout::{Pane, WidthClass};
use crate::app::transcript::TranscriptPane;
use crate::context::rows::Filter;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{content_left, on_title, put_right, row_at, scrollbar, title};
use crate::ui::{empty_states, glyphs};
use row::RowPainter;

/// Columns of a row, from the cursor to the total. Hidden ones are 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    /// The cursor; the protected zone and the rail are right of it.
    pub(super) cursor: u16,
    /// First column of the text.
    pub(super) text: u16,
    /// The column after the text.
    pub(super) text_end: u16,
    /// Sign of the fate; 0 without a plan.
    pub(super) sign: u16,
    /// The column after the tokens before the plan; 0 without a plan.
    pub(super) before_end: u16,
    /// The column after the tokens.
    pub(super) after_end: u16,
    /// First cell and width of the bar.
    pub(super) bar: (u16, u16),
    /// The column after the total; 0 if hidden.
    pub(super) total_end: u16,
}

/// Cells of a row's bar.
const BAR_WIDTH: u16 = 6;

impl Columns {
    /// Lays out the columns from the right: total 6, bar 6, after 6, arrow, before 6, sign with its count. Narrow panes
    /// drop the bar first, then the total; sign and after always remain.
    pub(super) fn new(area: Rect, breadth: WidthClass, plan: bool) -> Self {
        let cursor = content_left(area);
        let end = area.right().saturating_sub(1);
        let totals = area.width >= 44 && breadth != WidthClass::Tabs;
        let bars = totals && (breadth == WidthClass::Wide || area.width >= 90);
        let after_bar = if totals { end.saturating_sub(7) } else { end };
        let after_end = if bars { after_bar.saturating_sub(BAR_WIDTH + 1) } else { after_bar };
        let before_end = if plan { after_end.saturating_sub(8) } else { 0 };
        let sign = if plan { after_end.saturating_sub(16) } else { 0 };
        let text_end = if plan { sign.saturating_sub(1) } else { after_end.saturating_sub(7) };
        let text = cursor + 4;
        Self {
            cursor,
            text,
            text_end: text_end.max(text),
            sign,
            before_end,
            after_end,
            bar: (after_end + 1, if bars { BAR_WIDTH } else { 0 }),
            total_end: if totals { end } else { 0 },
        }
    }
}

pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let layout = app.layout();
    if layout.tabs.is_empty() {
        title(theme, buf, area, Pane::Transcript.title(), app.focus == Pane::Transcript);
    }
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let Some(pane) = &app.transcript else {
        empty_states::draw_no_transcript(app, theme, list, buf);
        return;
    };
    if empty_states::draw_opening(app, theme, list, buf) {
        return;
    }
    let columns = Columns::new(area, layout.width_class, app.plan.is_some());
    if layout.tabs.is_empty() {
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
}

/// Draws the scrollbar. It is on the hairline of the next pane, so it comes after that pane.
pub(super) fn draw_scrollbar(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    if let Some(pane) = app.transcript.as_ref().filter(|_| !empty_states::is_opening(app)) {
        let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        scrollbar(theme, buf, list, pane.scroll.top, pane.rows.len());
    }
}

/// Draws the column names in the title line, with the active filter and search.
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
        on_title(buf, area.y, from, columns.total_end + 1, &[Span::styled("total", muted)]);
    }
    let words = if app.plan.is_some() {
        vec![
            Span::styled("before ", muted),
            Span::styled(glyphs::ARROW, theme.style(Role::Muted)),
            Span::styled(" after", muted),
        ]
    } else {
        vec![Span::styled("tokens", muted)]
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

/// Draws a number that ends before a column.
pub(super) fn put_number(buf: &mut Buffer, y: u16, end: u16, words: String, style: ratatui::style::Style) {
    put_right(buf, y, end.saturating_sub(8), end, &[Span::styled(words, style)]);
}
