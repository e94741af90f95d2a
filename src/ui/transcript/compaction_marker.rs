//! The line at the position of a planned compaction.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::columns::Columns;
use crate::app::compaction_marker::CompactionMarker;
use crate::format::format_short_estimate;
use crate::policy::Fate;
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_spans, spans_width};

/// Columns of the hairline before the words.
const LEAD: u16 = 2;

/// Draws the line across the row, with the words that fit.
pub(super) fn draw(cut: &CompactionMarker, theme: &Theme, columns: &Columns, area: Rect, buf: &mut Buffer) {
    let y = area.y;
    let (from, end) = (columns.cursor + 2, area.right().saturating_sub(1));
    let faint = theme.style(Role::Faint);
    for x in from..end {
        put(buf, (x, y), end, glyphs::LIGHT, faint);
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
