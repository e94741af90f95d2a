//! The columns of the transcript, and how a number is put into one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::compaction_marker::CompactionMarker;
use crate::app::layout::WidthClass;
use crate::format::{format_short, format_short_estimate};
use crate::policy::Fate;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{content_left, put, put_right, put_spans, spans_width};

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
    /// The title line has the columns' names, whose `~` stands for all estimates below.
    pub(super) named: bool,
}

/// Cells of a row's bar.
const BAR_WIDTH: u16 = 6;

impl Columns {
    /// Lays out the columns from the right: total 6, bar 6, after 6, arrow, before 6, sign with its count. Narrow panes
    /// drop the bar first, then the total; sign and after always remain. The title line may add the columns' names.
    pub(super) fn new(area: Rect, breadth: WidthClass, plan: bool) -> Self {
        let cursor = content_left(area);
        let end = area.right().saturating_sub(1);
        let totals = area.width >= 44 && breadth != WidthClass::Tabs;
        let bars = totals && (breadth == WidthClass::Wide || area.width >= 90);
        let after_bar = if totals { end.saturating_sub(7) } else { end };
        let after_end = if bars { after_bar.saturating_sub(BAR_WIDTH + 1) } else { after_bar };
        let before_end = if plan { after_end.saturating_sub(8) } else { 0 };
        let sign = if plan { after_end.saturating_sub(17) } else { 0 };
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
            named: false,
        }
    }

    /// Formats estimated tokens, with `~` unless the column's name has it.
    pub(super) fn estimate(&self, tokens: u64) -> String {
        if self.named { format_short(tokens) } else { format_short_estimate(tokens) }
    }
}

/// Draws a number that ends before a column.
pub(super) fn put_number(buf: &mut Buffer, y: u16, end: u16, words: String, style: ratatui::style::Style) {
    put_right(buf, y, end.saturating_sub(8), end, &[Span::styled(words, style)]);
}

/// Columns of the hairline before the words.
const LEAD: u16 = 2;

/// Draws the line across the row, with the words that fit.
pub(super) fn draw(cut: &CompactionMarker, theme: &Theme, columns: &Columns, area: Rect, buf: &mut Buffer) {
    let y = area.y;
    let (from, end) = (columns.cursor + 2, area.right().saturating_sub(1));
    let faint = theme.style(Role::Faint);
    for x in from..end {
        put(buf, (x, y), end, session_columns::LIGHT, faint);
    }
    let room = end.saturating_sub(from + LEAD + 1);
    let variants = [true, false].map(|whole| words(cut, theme, whole));
    let fits = variants.iter().find(|spans| spans_width(spans) <= room).unwrap_or(&variants[1]);
    put_spans(buf, (from + LEAD, y), end, fits);
}

fn words<'a>(cut: &CompactionMarker, theme: &Theme, whole: bool) -> Vec<Span<'a>> {
    let muted = |words: &'static str| Span::styled(words, theme.style(Role::Muted));
    let number = |tokens, style| Span::styled(format_short_estimate(tokens), style);
    let mut spans = vec![muted(" cut: ")];
    if cut.summarised_messages == 0 && cut.lost_messages == 0 {
        spans.push(muted("nothing above to summarise, "));
    } else {
        spans.push(number(cut.summarised_tokens, theme.fate(Fate::Summarised)));
        spans.push(muted(if whole { " summarised above, " } else { " above, " }));
    }
    if cut.lost_messages > 0 {
        spans.push(number(cut.lost_tokens, theme.fate(Fate::Dropped)));
        spans.push(muted(" lost, "));
    }
    spans.push(number(cut.kept_tokens, theme.style(Role::Text)));
    spans.push(muted(if whole { " kept below " } else { " below " }));
    spans
}
