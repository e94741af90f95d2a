//! Help: every available key, in groups.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::action::{ACTIONS, Action, ActionGroup};
use crate::app::keymap::KeyContext;
use crate::ui::frame_box::{Frame, inside};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_spans, scrollbar};

/// Columns of one column of keys, and of the keys in it.
const COLUMN_WIDTH: u16 = 41;
const KEYS_WIDTH: u16 = 14;

enum Line {
    Heading(&'static str),
    Keys(String, &'static str),
    Blank,
}

pub(in crate::ui) fn draw(app: &App, theme: &Theme, top: usize, buf: &mut Buffer) {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let columns = (buf.area.width.saturating_sub(6) / COLUMN_WIDTH).clamp(1, 3);
    let groups = groups(app);
    let rows = rows_of(&groups, columns);
    let frame = Frame { title: "Keys", width: columns * COLUMN_WIDTH + 4, height: rows as u16 + 4 };
    let body = inside(frame.draw(theme, buf));
    let list = Rect { y: body.y + 1, height: body.height.saturating_sub(1), ..body };
    let top = top.min(rows.saturating_sub(usize::from(list.height)));
    for (column, part) in columns_of(&groups, rows).into_iter().enumerate() {
        let x = list.x + 1 + COLUMN_WIDTH * column as u16;
        for (y, line) in (list.y..list.bottom()).zip(part.iter().skip(top)) {
            draw_line(theme, line, (x, y), (x + COLUMN_WIDTH - 1).min(list.right()), buf);
        }
    }
    scrollbar(theme, buf, Rect { width: list.width + 1, ..list }, top, rows);
}

fn draw_line(theme: &Theme, line: &Line, at: (u16, u16), end: u16, buf: &mut Buffer) {
    match line {
        Line::Blank => {}
        Line::Heading(words) => {
            put(buf, at, end, words, theme.bold(Role::Focus));
        }
        Line::Keys(keys, words) => {
            put_spans(buf, at, at.0 + KEYS_WIDTH - 1, &[Span::styled(keys.as_str(), theme.bold(Role::Text))]);
            put(buf, (at.0 + KEYS_WIDTH, at.1), end, words, theme.style(Role::Muted));
        }
    }
}

fn groups(app: &App) -> Vec<Vec<Line>> {
    let of = |group: ActionGroup| {
        let rows = ACTIONS.iter().filter(move |row| row.2 == group);
        let keys = rows.map(move |row| (keys(app, group, row.0), row.3)).filter(|(keys, _)| !keys.is_empty());
        std::iter::once(Line::Heading(group.name())).chain(keys.map(|(keys, words)| Line::Keys(keys, words)))
    };
    ActionGroup::ALL
        .into_iter()
        .map(|group| of(group).collect())
        .filter(|lines: &Vec<Line>| lines.len() > 1)
        .collect()
}

/// Returns the keys of an action in the home context of its group, otherwise in any context.
fn keys(app: &App, group: ActionGroup, action: Action) -> String {
    let home = match group {
        ActionGroup::Move | ActionGroup::Transcript => KeyContext::Transcript,
        ActionGroup::Message => KeyContext::Message,
        ActionGroup::Tuning => KeyContext::Tuning,
        ActionGroup::Timeline => KeyContext::Timeline,
        ActionGroup::Compare => KeyContext::Compare,
        ActionGroup::Screen | ActionGroup::Commit | ActionGroup::Program => KeyContext::Global,
    };
    let places = [
        home,
        KeyContext::Global,
        KeyContext::Transcript,
        KeyContext::Tuning,
        KeyContext::Message,
        KeyContext::Dialog,
    ];
    let bound = places.into_iter().map(|place| app.options.keymap.keys_for(place, action));
    let keys = bound.into_iter().find(|keys| !keys.is_empty()).unwrap_or_default();
    let mut shown = String::new();
    for key in keys {
        if !shown.is_empty() && shown.len() + 1 + key.len() >= usize::from(KEYS_WIDTH) {
            break;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&key);
    }
    shown
}

/// Returns the fewest rows that hold all groups unbroken in `columns` columns.
fn rows_of(groups: &[Vec<Line>], columns: u16) -> usize {
    let all: usize = groups.iter().map(|group| group.len() + 1).sum();
    let least = groups.iter().map(Vec::len).max().unwrap_or(0);
    (least..=all).find(|rows| columns_of(groups, *rows).len() <= usize::from(columns)).unwrap_or(all)
}

/// Distributes groups over columns of at most `rows` rows, with a blank line between two.
fn columns_of(groups: &[Vec<Line>], rows: usize) -> Vec<Vec<&Line>> {
    let mut columns: Vec<Vec<&Line>> = Vec::new();
    for group in groups {
        match columns.last_mut().filter(|column| column.len() + 1 + group.len() <= rows) {
            Some(column) => {
                column.push(&Line::Blank);
                column.extend(group);
            }
            None => columns.push(group.iter().collect()),
        }
    }
    columns
}
