//! Help: keys, signs, numbers and the guide, with a search.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::app::message_layout::occurrences;
use crate::app::screens::help::{
    HelpDocument, HelpEntry, HelpLayout, HelpLine, HelpPage, HelpScreen, sign_widths,
};
use crate::format::format_number;
use crate::text;
use crate::ui::frame_box::{Frame, inside, rule, selected};
use crate::ui::session_columns;
use crate::ui::status::draw_input;
use crate::ui::theme::{BackgroundRole, Role, Theme, tone_style};
use crate::ui::widgets::{put, put_right, put_spans, row_at, scrollbar, spans_width};

/// Draws the help over the screen; returns the position of the text cursor while the search is typed.
pub(in crate::ui) fn draw(
    app: &App,
    theme: &Theme,
    screen: &HelpScreen,
    buf: &mut Buffer,
) -> Option<Position> {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let title = screen.document.map_or_else(|| "Help".to_owned(), HelpDocument::title);
    let title = title.as_str();
    let frame = Frame { title, width: app.size.0.saturating_sub(2), height: app.size.1.saturating_sub(1) };
    let area = frame.draw(theme, buf);
    draw_tabs(theme, screen, area, text::width(title) as u16 + 8, buf);
    let body = inside(area);
    let list = Rect { y: body.y + 1, height: body.height.saturating_sub(3), ..body };
    let layout = app.help_layout(screen);
    let top = screen.scroll.top.min(layout.rows().saturating_sub(usize::from(list.height)));
    let page = PagePainter { theme, screen, layout: &layout, list, top };
    page.draw(buf);
    scrollbar(theme, buf, Rect { width: list.width + 1, ..list }, top, layout.rows());
    let foot = area.bottom().saturating_sub(2);
    rule(theme, buf, area, foot.saturating_sub(1));
    draw_search(theme, screen, &layout, row_at(body, foot), buf)
}

/// Draws the pages that fit into the title line.
fn draw_tabs(theme: &Theme, screen: &HelpScreen, area: Rect, from: u16, buf: &mut Buffer) {
    let mut spans = vec![Span::styled(" tab ", theme.bold(Role::Text))];
    for page in HelpPage::ALL {
        let is_shown = page == screen.page && !screen.is_searching();
        let style = if is_shown { theme.bold(Role::Focus) } else { theme.style(Role::Muted) };
        spans.push(Span::styled(format!(" {} ", page.title()), style));
    }
    if area.x + from + spans_width(&spans) < area.right().saturating_sub(2) {
        put_right(buf, area.y, area.x + from, area.right().saturating_sub(2), &spans);
    }
}

/// Draws the search, or how to start one, with the number of rows found.
fn draw_search(
    theme: &Theme,
    screen: &HelpScreen,
    layout: &HelpLayout,
    line: Rect,
    buf: &mut Buffer,
) -> Option<Position> {
    let muted = theme.style(Role::Muted);
    let x = put(buf, (line.x + 1, line.y), line.right(), "/", theme.bold(Role::Text)) + 1;
    let is_entry = |line: &&HelpLine| matches!(line, HelpLine::Entry(_));
    let found = layout.columns.iter().flatten().filter(is_entry).count();
    let words = match (screen.is_searching(), found) {
        (false, _) => String::new(),
        (true, 0) => "nothing found".to_owned(),
        (true, found) => format!("{} found", format_number(found as u64)),
    };
    let end = put_right(buf, line.y, x, line.right() - 1, &[Span::styled(words, muted)]);
    if screen.is_typing {
        return Some(draw_input(&screen.search, theme, (x, line.y), end.saturating_sub(2), buf));
    }
    let (words, style) = if screen.is_searching() {
        (screen.search.text(), theme.style(Role::Bright))
    } else {
        ("search help", muted)
    };
    put(buf, (x, line.y), end, words, style);
    None
}

struct PagePainter<'a> {
    theme: &'a Theme,
    screen: &'a HelpScreen,
    layout: &'a HelpLayout,
    list: Rect,
    top: usize,
}

impl PagePainter<'_> {
    fn draw(&self, buf: &mut Buffer) {
        let columns = self.layout.columns.len().max(1) as u16;
        let width = self.list.width / columns;
        for (at, column) in (0..).zip(&self.layout.columns) {
            let x = self.list.x + width * at;
            if at > 0 {
                for y in self.list.y..self.list.bottom() {
                    put(buf, (x - 1, y), x, session_columns::LINE, self.theme.style(Role::Faint));
                }
            }
            let rows = column.iter().enumerate().skip(self.top);
            for (y, (row, line)) in (self.list.y..self.list.bottom()).zip(rows) {
                let area = Rect { x, y, width: width.saturating_sub(1), height: 1 };
                if self.screen.is_list() && row == self.screen.scroll.cursor {
                    selected(self.theme, buf, area, self.theme.background(BackgroundRole::Selected));
                }
                let at = Rect { x: x + 1, width: area.width.saturating_sub(1), ..area };
                self.line(line, sign_widths(column, row), at, buf);
            }
        }
    }

    fn line(&self, line: &HelpLine, widths: (usize, usize), at: Rect, buf: &mut Buffer) {
        match line {
            HelpLine::Heading(words) => {
                put(buf, (at.x, at.y), at.right(), words, self.theme.bold(Role::Focus));
            }
            HelpLine::Subheading(words) => {
                put(buf, (at.x, at.y), at.right(), words, self.theme.bold(Role::Text));
            }
            HelpLine::Text(words) => {
                put(buf, (at.x, at.y), at.right(), words, self.theme.style(Role::Text));
            }
            HelpLine::Entry(entry) => self.entry(entry, widths, at, buf),
            HelpLine::More(words, from) => {
                let words = self.found(words, self.theme.style(Role::Muted));
                put_spans(buf, (at.x + *from as u16, at.y), at.right(), &words);
            }
            HelpLine::Blank => {}
        }
    }

    /// Draws an entry; `widths` are the columns of signs and names around it.
    fn entry(&self, entry: &HelpEntry, widths: (usize, usize), at: Rect, buf: &mut Buffer) {
        let (y, end) = (at.y, at.right());
        let (name, words) = entry.columns(widths);
        put_spans(buf, (at.x, y), end, &self.found(&entry.lead, tone_style(self.theme, entry.tone)));
        let text = self.theme.style(Role::Text);
        put_spans(buf, (at.x + name as u16, y), end, &self.found(&entry.name, text));
        let muted = self.theme.style(Role::Muted);
        put_spans(buf, (at.x + words as u16, y), end, &self.found(&entry.words, muted));
    }

    /// Splits a text into spans, with the searched words marked.
    fn found<'a>(&self, words: &'a str, style: Style) -> Vec<Span<'a>> {
        let mut hits: Vec<Range<usize>> = Vec::new();
        if self.screen.is_searching() {
            let searched = self.screen.search.text().split_whitespace();
            hits.extend(searched.flat_map(|word| occurrences(words, word)));
            hits.sort_by_key(|hit| hit.start);
        }
        let mark = style.patch(self.theme.background(BackgroundRole::Hot)).add_modifier(Modifier::UNDERLINED);
        let mut spans = Vec::new();
        let mut from = 0;
        for hit in hits.into_iter().filter(|hit| hit.end <= words.len()) {
            if hit.start < from || !words.is_char_boundary(hit.start) || !words.is_char_boundary(hit.end) {
                continue;
            }
            spans.push(Span::styled(&words[from..hit.start], style));
            spans.push(Span::styled(&words[hit.clone()], mark));
            from = hit.end;
        }
        spans.push(Span::styled(&words[from..], style));
        spans
    }
}
