//! The command palette: runs any action by name.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::app::App;
use crate::app::keymap::KeyContext;
use crate::app::screens::palette::{PaletteCommand, PaletteRow, PaletteScreen};
use crate::ui::frame_box::{Frame, inside, selected};
use crate::ui::status::draw_input;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{put, put_right, put_spans, row_at, scrollbar};

/// Columns of the box: as many as its longest descriptions need.
const MAX_WIDTH: u16 = 104;
const HEIGHT: u16 = 20;
/// Columns of the names, of the note and of the key.
const NAME_COLUMNS: u16 = 21;
const NOTE_COLUMNS: u16 = 10;
const KEY_COLUMNS: u16 = 9;

/// Draws the palette over the screen; returns the cursor position.
pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &PaletteScreen, buf: &mut Buffer) -> Position {
    theme.backdrop(app.layout().above_status(app.size), buf);
    let frame = Frame { title: "Run", width: app.size.0.saturating_sub(4).min(MAX_WIDTH), height: HEIGHT };
    let body = inside(frame.draw(theme, buf));
    let x = put(buf, (body.x + 1, body.y), body.right(), ": ", theme.bold(Role::Muted));
    let cursor = draw_input(&screen.line, theme, (x, body.y), body.right(), buf);
    let rows = screen.rows();
    let list = Rect { y: body.y + 2, height: body.height.saturating_sub(2), ..body };
    if let Some(row) = screen.row_number() {
        let words = format!("enter goes to row {}", crate::format::format_number(row as u64));
        put(buf, (list.x + 1, list.y), list.right(), &words, theme.style(Role::Text));
        return cursor;
    }
    if rows.is_empty() {
        put(buf, (list.x + 1, list.y), list.right(), &screen.expected(), theme.style(Role::Text));
        return cursor;
    }
    let height = usize::from(list.height).max(1);
    let top = (screen.selected + 1).saturating_sub(height);
    for (y, (at, row)) in (list.y..list.bottom()).zip(rows.iter().enumerate().skip(top)) {
        draw_row(app, theme, screen, row, (row_at(list, y), at == screen.selected), buf);
    }
    scrollbar(theme, buf, Rect { width: list.width + 1, ..list }, top, rows.len());
    cursor
}

fn draw_row(
    app: &App,
    theme: &Theme,
    screen: &PaletteScreen,
    found: &PaletteRow,
    (line, is_selected): (Rect, bool),
    buf: &mut Buffer,
) {
    if is_selected {
        selected(theme, buf, line, theme.background(BackgroundRole::Selected));
    }
    let (y, end) = (line.y, line.right());
    let style = if is_selected { theme.bold(Role::Bright) } else { theme.style(Role::Text) };
    let hit = |style: Style| style.patch(theme.style(Role::Focus)).add_modifier(Modifier::UNDERLINED);
    let note = if line.width > 60 { NOTE_COLUMNS } else { 0 };
    let words_end = end.saturating_sub(KEY_COLUMNS + note + 1);
    let name = marked(&found.name, &found.name_hits, style, hit(style));
    let name_end = put_spans(buf, (line.x + 1, y), words_end, &name).max(line.x + 1 + NAME_COLUMNS);
    let muted = theme.style(Role::Muted);
    let words = marked(&found.description, &found.description_hits, muted, hit(muted));
    put_spans(buf, (name_end + 2, y), words_end, &words);
    if note > 0 {
        put(buf, (words_end + 1, y), end, found.note, theme.style(Role::Ghost));
    }
    let key = key_of(app, screen.below, &found.command);
    put_right(buf, y, end - KEY_COLUMNS, end - 1, &[Span::styled(key, theme.bold(Role::Text))]);
}

/// The key where the palette was opened, otherwise on another screen.
fn key_of(app: &App, below: KeyContext, command: &PaletteCommand) -> String {
    let PaletteCommand::Action(action) = *command else { return String::new() };
    let contexts =
        [below, KeyContext::Transcript, KeyContext::Tuning, KeyContext::Timeline, KeyContext::Compare];
    let mut keys = contexts.into_iter().map(|context| app.key_words(context, action));
    keys.find(|key| !key.starts_with(':')).unwrap_or_default()
}

/// Splits a text into spans, with the characters at `hits` in their own style.
pub(super) fn marked<'a>(text: &'a str, hits: &[usize], style: Style, hit: Style) -> Vec<Span<'a>> {
    let mut spans: Vec<Span<'a>> = Vec::new();
    let mut from = 0;
    let mut was_hit = false;
    for (at, (byte, _)) in text.char_indices().enumerate() {
        let is_hit = hits.contains(&at);
        if is_hit != was_hit && byte > from {
            spans.push(Span::styled(&text[from..byte], if was_hit { hit } else { style }));
            from = byte;
        }
        was_hit = is_hit;
    }
    spans.push(Span::styled(&text[from..], if was_hit { hit } else { style }));
    spans
}
