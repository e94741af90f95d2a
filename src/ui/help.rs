//! Help: every key that works, in groups.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::{ACTIONS, Action, Group};
use crate::app::keymap::Context;
use crate::ui::frame_box::{Frame, inside};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_spans, scrollbar};

/// Columns of one column of keys, and of the keys in it.
const COLUMN: u16 = 40;
const KEYS: u16 = 16;
/// Keys shown for one action.
const SHOWN: usize = 3;

/// A line of a column.
enum Line {
    Heading(&'static str),
    Keys(String, &'static str),
    Blank,
}

/// Draws the help over the screen.
pub(super) fn draw(app: &App, theme: &Theme, top: usize, buf: &mut Buffer) {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let columns = (buf.area.width.saturating_sub(6) / COLUMN).clamp(1, 3);
    let lines = lines(app);
    let rows = rows_of(&lines, columns);
    let frame = Frame { title: "Keys", width: columns * COLUMN + 4, height: rows as u16 + 4 };
    let body = inside(frame.draw(theme, buf));
    let list = Rect { y: body.y + 1, height: body.height.saturating_sub(1), ..body };
    let top = top.min(rows.saturating_sub(usize::from(list.height)));
    for (column, part) in split(&lines, rows).into_iter().enumerate() {
        let x = list.x + 1 + COLUMN * column as u16;
        for (y, line) in (list.y..list.bottom()).zip(part.iter().skip(top)) {
            draw_line(theme, line, (x, y), (x + COLUMN - 1).min(list.right()), buf);
        }
    }
    let edge = Rect { x: body.right() + 1, width: 1, ..list };
    scrollbar(theme, buf, edge, top, rows);
}

fn draw_line(theme: &Theme, line: &Line, at: (u16, u16), end: u16, buf: &mut Buffer) {
    match line {
        Line::Blank => {}
        Line::Heading(words) => {
            put(buf, at, end, words, theme.bold(Role::Focus));
        }
        Line::Keys(keys, words) => {
            put_spans(buf, at, at.0 + KEYS - 1, &[Span::styled(keys.as_str(), theme.bold(Role::Text))]);
            put(buf, (at.0 + KEYS, at.1), end, words, theme.style(Role::Muted));
        }
    }
}

fn lines(app: &App) -> Vec<Line> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        let rows = ACTIONS.iter().filter(|row| row.2 == group);
        let keys: Vec<Line> = rows
            .map(|row| (keys(app, group, row.0), row.3))
            .filter(|(keys, _)| !keys.is_empty())
            .map(|(keys, words)| Line::Keys(keys, words))
            .collect();
        if keys.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::Blank);
        }
        lines.push(Line::Heading(group.name()));
        lines.extend(keys);
    }
    lines
}

/// The keys of an action where its group is at home, else where it is bound at all.
fn keys(app: &App, group: Group, action: Action) -> String {
    let home = match group {
        Group::Move | Group::Transcript => Context::Transcript,
        Group::Message => Context::Message,
        Group::Tuning => Context::Tuning,
        Group::Screen | Group::Commit | Group::Program => Context::Global,
    };
    let places =
        [home, Context::Global, Context::Transcript, Context::Tuning, Context::Message, Context::Dialog];
    let bound = places.into_iter().map(|place| app.options.keymap.keys(place, action));
    let keys = bound.into_iter().find(|keys| !keys.is_empty()).unwrap_or_default();
    keys.into_iter().take(SHOWN).collect::<Vec<_>>().join(" ")
}

/// The fewest rows that hold all lines in so many columns.
fn rows_of(lines: &[Line], columns: u16) -> usize {
    let least = lines.len().div_ceil(usize::from(columns).max(1));
    (least..=lines.len())
        .find(|rows| split(lines, *rows).len() <= usize::from(columns))
        .unwrap_or(lines.len())
}

/// Columns of at most so many lines; a heading is never the last of one, a blank never the first.
fn split(lines: &[Line], rows: usize) -> Vec<&[Line]> {
    let mut columns = Vec::new();
    let mut rest = lines;
    while !rest.is_empty() {
        let mut end = rows.clamp(1, rest.len());
        if end < rest.len() && end > 1 && matches!(rest[end - 1], Line::Heading(_)) {
            end -= 1;
        }
        columns.push(&rest[..end]);
        rest = &rest[end..];
        while let [Line::Blank, after @ ..] = rest {
            rest = after;
        }
    }
    columns
}
