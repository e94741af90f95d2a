//! Widgets that all screens share: text in cells, title lines, thin bars, scrollbars, numbers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::doc::{Line, Tone};
use crate::text;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};

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

/// Clears an area to the page's background.
pub fn clear(theme: &Theme, buf: &mut Buffer, area: Rect) {
    for position in area.intersection(buf.area).positions() {
        buf[position].reset();
    }
    apply_style(buf, area, theme.base());
}

/// Draws why a page has no content.
pub fn note(theme: &Theme, what: &str, why: &str, area: Rect, buf: &mut Buffer) {
    let at = (area.x + 3, area.y + 2);
    put(buf, at, area.right(), what, theme.bold(Role::Bright));
    let lines = text::wrap(why, usize::from(area.width.saturating_sub(6)));
    for (y, line) in (at.1 + 1..area.bottom()).zip(lines) {
        put(buf, (at.0, y), area.right(), &line, theme.style(Role::Text));
    }
}

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

#[derive(Debug, Clone, Copy)]
pub struct ThinBar {
    /// End of the bar, 0 to 1.
    pub share: f64,
    /// End of the tail, 0 to 1: the value before the plan.
    pub tail: f64,
    pub style: Style,
    pub tail_style: Style,
}

impl ThinBar {
    /// Draws the bar; a share above 0 shows at least half a cell.
    pub fn draw(&self, buf: &mut Buffer, (x, y): (u16, u16), width: u16) {
        let halves = |share: f64| (share.clamp(0.0, 1.0) * f64::from(width) * 2.0).round() as u16;
        let bar = if self.share > 0.0 { halves(self.share).max(1) } else { 0 };
        let tail = halves(self.tail).div_ceil(2);
        for cell in 0..width {
            let (sign, style) = match bar.saturating_sub(cell * 2) {
                2.. => (session_columns::HEAVY, self.style),
                1 => (session_columns::HALF, self.style),
                0 if cell < tail => (session_columns::LIGHT, self.tail_style),
                0 => break,
            };
            put(buf, (x + cell, y), x + width, sign, style);
        }
    }
}

/// Returns the first column of a pane's content, after its hairline if it has one.
pub fn content_left(area: Rect) -> u16 {
    if area.x > 0 { area.x + 1 } else { area.x }
}

/// Draws the title line and the left hairline of a pane; returns the column after the title. The focused pane's line is
/// heavy and blue.
pub fn title(theme: &Theme, buf: &mut Buffer, area: Rect, name: &str, focused: bool) -> u16 {
    if area.is_empty() {
        return area.x;
    }
    let (sign, style) = if focused {
        (session_columns::HEAVY, theme.style(Role::Focus))
    } else {
        (session_columns::LIGHT, theme.style(Role::Faint))
    };
    let left = content_left(area);
    for x in left..area.right() {
        put(buf, (x, area.y), area.right(), sign, style);
    }
    if left > area.x {
        hairline(theme, buf, area);
    }
    let style = if focused { theme.bold(Role::Focus) } else { theme.style(Role::Muted) };
    put(buf, (left + 1, area.y), area.right(), &format!(" {name} "), style)
}

fn hairline(theme: &Theme, buf: &mut Buffer, area: Rect) {
    let style = theme.style(Role::Faint);
    let above = area.y.checked_sub(1).and_then(|y| buf.cell((area.x, y)));
    let goes_on = above.is_some_and(|cell| [session_columns::LINE, "┬"].contains(&cell.symbol()));
    put(buf, (area.x, area.y), area.right(), if goes_on { session_columns::TICK } else { "┬" }, style);
    for y in area.y + 1..area.bottom() {
        put(buf, (area.x, y), area.right(), session_columns::LINE, style);
    }
}

/// Writes on a title line before column `end`, with a blank on either side; returns the start. Writes nothing and
/// returns `end` if it does not fit or there is nothing to write.
pub fn on_title(buf: &mut Buffer, y: u16, start: u16, end: u16, spans: &[Span]) -> u16 {
    let width = spans_width(spans) + 2;
    if spans.is_empty() || start + width > end {
        return end;
    }
    let from = end - width;
    let x = put(buf, (from, y), end, " ", Style::new());
    let x = put_spans(buf, (x, y), end, spans);
    put(buf, (x, y), end, " ", Style::new());
    from
}

/// Draws the scrollbar of a list on the hairline to its right, or in its last column; only if rows are hidden.
pub fn scrollbar(theme: &Theme, buf: &mut Buffer, list: Rect, top: usize, len: usize) {
    let beside = list.right() < buf.area.right();
    let x = if beside { list.right() } else { list.right().saturating_sub(1) };
    let track = Rect { x, width: 1, ..list };
    let height = usize::from(track.height);
    if height == 0 || len <= height {
        return;
    }
    let thumb = (height * height / len).clamp(1, height);
    let (room, hidden) = (height - thumb, len - height);
    let from = (top.min(hidden) * room + hidden / 2) / hidden;
    for line in from..from + thumb {
        let at = (track.x, track.y + line as u16);
        put(buf, at, track.right(), session_columns::THUMB, theme.style(Role::Ghost));
    }
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

#[cfg(test)]
mod thin_bar_tests {
    use super::*;
    use ratatui::layout::Rect;

    #[test]
    fn thin_bars_count_in_half_cells_and_keep_a_tail() {
        let drawn = |share, tail| {
            let mut buf = Buffer::empty(Rect::new(0, 0, 6, 1));
            let style = Style::new();
            ThinBar { share, tail, style, tail_style: style }.draw(&mut buf, (0, 0), 6);
            buf.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()
        };
        assert_eq!(drawn(0.4, 1.0), "━━╸───");
        assert_eq!(drawn(0.001, 0.0), "╸     ");
        assert_eq!(drawn(0.0, 0.5), "───   ");
        assert_eq!(drawn(2.0, 9.0), "━━━━━━");
    }
}
