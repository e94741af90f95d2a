//! Widgets that all screens share: text in cells, title lines, thin bars, scrollbars, numbers.

mod doc_line;
mod page;
mod pane;
mod thin_bar;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::text;
pub use doc_line::put_doc_line;
pub use page::{clear, note};
pub use pane::{content_left, on_title, scrollbar, title};
pub use thin_bar::ThinBar;

/// Blanks between facts on one line.
const GAP: u16 = 3;

/// Writes text up to column `end`, truncated if it does not fit; returns the next column. All text of the screen passes
/// through here, and so through [`crate::text`].
pub fn put(buf: &mut Buffer, (x, y): (u16, u16), end: u16, text: &str, style: Style) -> u16 {
    let end = end.min(buf.area.right());
    if x >= end || x < buf.area.left() || y < buf.area.top() || y >= buf.area.bottom() {
        return x;
    }
    let (shown, used) = text::truncate(text, usize::from(end - x));
    // Remove the dimming of a line below the text.
    let dim = style.add_modifier.contains(Modifier::DIM);
    let style = if dim { style } else { style.remove_modifier(Modifier::DIM) };
    // A no-break space matters only for wrapping, so draw a blank.
    buf.set_stringn(x, y, shown.replace('\u{a0}', " "), used, style);
    x + used as u16
}

/// Writes spans one after another; returns the next column.
pub fn put_spans(buf: &mut Buffer, (x, y): (u16, u16), end: u16, spans: &[Span]) -> u16 {
    spans.iter().fold(x, |x, span| put(buf, (x, y), end, &span.content, span.style))
}

pub fn spans_width(spans: &[Span]) -> u16 {
    let columns: usize = spans.iter().map(|span| text::width(&span.content)).sum();
    columns.min(usize::from(u16::MAX / 2)) as u16
}

/// Writes spans that end before column `end`, truncated on the right if they would start before `start`; returns their
/// start.
pub fn put_right(buf: &mut Buffer, y: u16, start: u16, end: u16, spans: &[Span]) -> u16 {
    let x = end.saturating_sub(spans_width(spans)).max(start);
    put_spans(buf, (x, y), end, spans);
    x
}

/// Writes groups of spans, separated by three blanks, as long as they fit whole; returns the next column.
pub fn put_facts(buf: &mut Buffer, (x, y): (u16, u16), end: u16, facts: &[Vec<Span>]) -> u16 {
    let mut at = x;
    for fact in facts.iter().filter(|fact| !fact.is_empty()) {
        let from = if at == x { x } else { at + GAP };
        if from + spans_width(fact) > end {
            // The first fact is the subject of the line: truncate it rather than drop it.
            return if at == x { put_spans(buf, (x, y), end, fact) } else { at };
        }
        at = put_spans(buf, (from, y), end, fact);
    }
    at
}

/// Like [`put_facts`], but ends before column `end` and drops facts from the left. Returns the start.
pub fn put_facts_right(buf: &mut Buffer, y: u16, start: u16, end: u16, facts: &[Vec<Span>]) -> u16 {
    let mut at = end;
    for fact in facts.iter().rev().filter(|fact| !fact.is_empty()) {
        let right = if at == end { end } else { at.saturating_sub(GAP) };
        let width = spans_width(fact);
        if right < start + width {
            break;
        }
        at = right - width;
        put_spans(buf, (at, y), right, fact);
    }
    at
}

/// Styles the part of an area inside the buffer.
pub fn apply_style(buf: &mut Buffer, area: Rect, style: Style) {
    buf.set_style(area.intersection(buf.area), style);
}

pub fn row_at(area: Rect, y: u16) -> Rect {
    Rect { y, height: 1, ..area }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(buf: &Buffer) -> String {
        buf.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn text_outside_of_the_screen_is_left_out() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 4, 1));
        put(&mut buf, (2, 0), 99, "wide", Style::new());
        put(&mut buf, (0, 7), 99, "below", Style::new());
        assert_eq!(symbols(&buf), "  w…");
    }

    #[test]
    fn facts_that_do_not_fit_are_left_out_whole() {
        let facts = ["one", "two", "three"].map(|word| vec![Span::raw(word)]);
        let mut buf = Buffer::empty(Rect::new(0, 0, 12, 1));
        put_facts(&mut buf, (0, 0), 12, &facts);
        assert_eq!(symbols(&buf), "one   two   ");
        let mut buf = Buffer::empty(Rect::new(0, 0, 12, 1));
        put_facts_right(&mut buf, 0, 0, 12, &facts);
        assert_eq!(symbols(&buf), " two   three");
    }

    #[test]
    fn transcript_text_never_reaches_a_cell_unescaped() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 20, 1));
        put(&mut buf, (0, 0), 20, "\u{1b}[2J\u{202e}x", Style::new());
        assert!(symbols(&buf).starts_with("␛[2J⟨202E⟩x"), "{}", symbols(&buf));
    }
}
