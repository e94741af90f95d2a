//! The sessions pane: agents and their sessions, with the fill level and the marks of each.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::layout::{Pane, WidthClass};
use crate::app::legend::SESSION_MARKS;
use crate::app::sessions::SessionRow;
use crate::app::state::InputPurpose;
use crate::format::quantity;
use crate::gateway::compaction::RESERVE_FLOOR;
use crate::session::title::{shown_name, split_envelope};
use crate::session::{Mark, SessionItem};
use crate::ui::glyphs;
use crate::ui::legend_style::tone_role;
use crate::ui::status::draw_input;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{
    ThinBar, apply_style, on_title, put, put_right, put_spans, row_at, scrollbar, title,
};

/// Cells of a session's bar.
const BAR_WIDTH: u16 = 4;

/// Draws the pane; returns the cursor position while a filter is typed.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let layout = app.layout();
    let focused = app.focus == Pane::Sessions;
    if layout.tabs.is_empty() {
        let from = title(theme, buf, area, Pane::Sessions.title(), focused);
        let count = Span::styled(app.sessions.items.len().to_string(), theme.style(Role::Muted));
        on_title(buf, area.y, from, area.right().saturating_sub(1), &[count]);
    }
    let cursor = filter(app, theme, area, buf);
    let list = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    if app.sessions.rows.is_empty() && !app.sessions.filter.is_empty() {
        no_match(app, theme, list, buf);
        return cursor;
    }
    let scroll = app.sessions.scroll;
    let rows = app.sessions.rows.iter().enumerate().skip(scroll.top).take(usize::from(list.height));
    for (y, (at, row)) in (list.y..).zip(rows) {
        let line = SessionLine {
            app,
            theme,
            area: row_at(list, y),
            shows_bars: shows_bars(layout.width_class, area),
        };
        match row {
            SessionRow::Agent(name) => {
                put(buf, (area.x + 1, y), area.right(), name, theme.bold(Role::Muted));
            }
            SessionRow::Gap => {}
            SessionRow::Item(item) => {
                if let Some(item) = app.sessions.items.get(*item) {
                    line.draw(item, at == scroll.cursor, focused, buf);
                }
            }
        }
    }
    cursor
}

/// Draws the scrollbar. It is on the hairline of the next pane, so it comes after that pane.
pub(super) fn draw_scrollbar(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let list = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    scrollbar(theme, buf, list, app.sessions.scroll.top, app.sessions.rows.len());
}

fn shows_bars(breadth: WidthClass, area: Rect) -> bool {
    breadth == WidthClass::Wide || area.width >= 40
}

fn filter(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let at = (area.x + 1, area.y + 1);
    if area.height < 2 {
        return None;
    }
    let key = Span::styled("/", theme.bold(Role::Text));
    match app.input.as_ref().filter(|prompt| prompt.purpose == InputPurpose::Filter) {
        Some(prompt) => {
            let x = put_spans(buf, at, area.right(), &[key]);
            Some(draw_input(&prompt.line, theme, (x, at.1), area.right().saturating_sub(1), buf))
        }
        None if app.sessions.filter.is_empty() => {
            put_spans(buf, at, area.right(), &[key, Span::styled(" filter", theme.style(Role::Muted))]);
            None
        }
        None => {
            let filter = Span::styled(app.sessions.filter.as_str(), theme.style(Role::Bright));
            put_spans(buf, at, area.right(), &[key, filter]);
            None
        }
    }
}

fn no_match(app: &App, theme: &Theme, list: Rect, buf: &mut Buffer) {
    let words = format!("0 of {} match", quantity(app.sessions.items.len() as u64, "session"));
    for (y, line) in (list.y + 1..list.bottom()).zip(crate::text::wrap(&words, usize::from(list.width - 2))) {
        put(buf, (list.x + 1, y), list.right(), &line, theme.style(Role::Text));
    }
    let spans = [
        Span::styled("esc", theme.bold(Role::Text)),
        Span::styled(" clear filter", theme.style(Role::Muted)),
    ];
    if list.height > 3 {
        put_spans(buf, (list.x + 1, list.y + 3), list.right(), &spans);
    }
}

struct SessionLine<'a> {
    app: &'a App,
    theme: &'a Theme,
    area: Rect,
    shows_bars: bool,
}

impl SessionLine<'_> {
    fn draw(&self, item: &SessionItem, selected: bool, focused: bool, buf: &mut Buffer) {
        let (theme, area) = (self.theme, self.area);
        if selected {
            apply_style(buf, area, theme.selection(focused));
            let role = if focused { Role::Focus } else { Role::Ghost };
            put(buf, (area.x, area.y), area.right(), glyphs::CURSOR, theme.style(role));
        }
        if let Some((sign, role)) = session_mark(item) {
            put(buf, (area.x + 1, area.y), area.right(), sign, theme.style(role));
        }
        let numbers = if self.shows_bars { 6 + BAR_WIDTH } else { 5 };
        let end = area.right().saturating_sub(numbers);
        let name = shown_name(item, self.app.secrets);
        let (mark, words) = split_envelope(&name);
        let x = put(buf, (area.x + 3, area.y), end, mark, theme.style(Role::Muted));
        put(buf, (x, area.y), end, words, self.name_style(item, selected));
        let level = level(item);
        if self.shows_bars && item.window_percent().is_some() {
            let bar = ThinBar {
                share: share(item),
                tail: 1.0,
                style: theme.style(if level == Role::Text { Role::Muted } else { level }),
                tail_style: theme.style(Role::Faint),
            };
            bar.draw(buf, (end + 1, area.y), BAR_WIDTH);
        }
        let style = match level {
            Role::Text if selected => theme.style(Role::Text),
            Role::Text => theme.style(Role::Muted),
            Role::Danger => theme.bold(Role::Danger),
            level => theme.style(level),
        };
        let words =
            item.window_percent().map_or_else(|| glyphs::UNKNOWN.to_owned(), |percent| format!("{percent}%"));
        put_right(buf, area.y, end, area.right(), &[Span::styled(words, style)]);
    }

    fn name_style(&self, item: &SessionItem, selected: bool) -> Style {
        let open = self.app.displayed_session().is_some_and(|open| open.item.key == item.key);
        let aside = item.has(Mark::Orphan) || item.marks.iter().any(|mark| mark.is_archive());
        match (open || selected, aside) {
            (true, _) => self.theme.bold(Role::Bright),
            (_, true) => self.theme.style(Role::Muted),
            _ => self.theme.style(Role::Text),
        }
    }
}

/// Returns the sign of the most serious mark of a session.
fn session_mark(item: &SessionItem) -> Option<(&'static str, Role)> {
    let found = SESSION_MARKS.iter().find(|(mark, _)| item.has(*mark));
    found.map(|(_, row)| (row.signs, tone_role(row.tone)))
}

fn share(item: &SessionItem) -> f64 {
    let tokens = item.tokens.map_or(0, |counted| counted.tokens);
    tokens as f64 / item.window.max(1) as f64
}

/// Red above the window, amber where the gateway would compact.
fn level(item: &SessionItem) -> Role {
    let Some(counted) = item.tokens else { return Role::Text };
    let compacts = item.window.saturating_sub(RESERVE_FLOOR as u64);
    match counted.tokens {
        tokens if item.window > 0 && tokens > item.window => Role::Danger,
        tokens if compacts > 0 && tokens > compacts => Role::Warn,
        _ => Role::Text,
    }
}
