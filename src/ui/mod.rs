//! State to cells. Every function here reads the state, gets styles from the theme and writes cells; none keeps state
//! from one frame to the next, so a screen is reproducible from its state.

mod budget;
mod changed_value;
pub mod detail;
mod empty_states;
mod frame_box;
mod header;
pub mod highlight;
pub mod message;
mod message_body;
mod screens;
pub mod session_columns;
mod sessions;
mod status;
pub mod theme;
mod transcript;
mod tuning;
pub mod widgets;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::app::App;
use crate::app::layout::{Layout, Pane, WidthClass};
use crate::app::state::Overlay;
use theme::{Role, Theme};
use widgets::{apply_style, put, put_spans};

pub fn draw(app: &App, theme: &Theme, frame: &mut Frame) {
    let cursor = render(app, theme, frame.buffer_mut());
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

/// Draws the screen into a buffer, whose size takes precedence over the size in the state. Returns the position of the
/// text cursor while a line is edited.
pub fn render(app: &App, theme: &Theme, buf: &mut Buffer) -> Option<Position> {
    let area = buf.area;
    apply_style(buf, area, theme.base());
    let layout = app.layout();
    let fits = area.width >= app.size.0 && area.height >= app.size.1;
    let cursor = if layout.width_class == WidthClass::TooSmall || !fits {
        empty_states::draw_too_small(theme, area, buf);
        None
    } else {
        draw_screen(app, theme, &layout, buf)
    };
    theme.even_selection(buf);
    if theme.is_ascii() {
        session_columns::to_ascii(buf);
    }
    cursor
}

fn draw_screen(app: &App, theme: &Theme, layout: &Layout, buf: &mut Buffer) -> Option<Position> {
    header::draw(app, theme, layout.header, buf);
    let below = layout.above_status(app.size);
    let body = Rect { y: layout.header.bottom(), height: below.bottom() - layout.header.bottom(), ..below };
    let mut cursor = None;
    if !empty_states::draw_store_state(app, theme, body, buf) {
        cursor = draw_main(app, theme, layout, buf);
    }
    let typing = status::draw(app, theme, layout.status, buf);
    let (page, windows) = app.views.visible(Overlay::is_dialog);
    for view in page.into_iter().chain(windows) {
        cursor = screens::draw(app, theme, view, body, buf).or(cursor);
    }
    cursor.or(typing)
}

fn draw_main(app: &App, theme: &Theme, layout: &Layout, buf: &mut Buffer) -> Option<Position> {
    if !layout.session_line.is_empty() {
        header::session_line(app, theme, layout.session_line, buf);
    }
    if !layout.bars.is_empty() {
        budget::draw(app, theme, layout, buf);
    }
    if !layout.tabs.is_empty() {
        draw_tabs(app, theme, layout.tabs, buf);
    }
    let mut cursor = None;
    for pane in [Pane::Sessions, Pane::Transcript, Pane::Message, Pane::Tuning] {
        let area = layout.pane(pane);
        if area.is_empty() {
            continue;
        }
        match pane {
            Pane::Sessions => cursor = sessions::draw(app, theme, area, buf),
            Pane::Transcript => transcript::draw(app, theme, area, buf),
            Pane::Message => message::draw(app, theme, area, buf),
            Pane::Tuning => tuning::draw(app, theme, area, buf),
        }
    }
    sessions::draw_scrollbar(app, theme, layout.sessions, buf);
    transcript::draw_scrollbar(app, theme, layout.transcript, buf);
    tuning::note(app, theme, layout.note, buf);
    cursor
}

/// Draws the tabs of the narrowest layout, each in a quarter of the line.
fn draw_tabs(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), session_columns::LIGHT, theme.style(Role::Faint));
    }
    for (at, pane) in (0..).zip(Pane::ALL) {
        let x = area.x + 1 + area.width * at / 4;
        let style = if app.focus == pane { theme.bold(Role::Focus) } else { theme.style(Role::Muted) };
        // A list that a filter shortens says so while it is hidden.
        let filter = if pane == Pane::Sessions && !app.sessions.filter.is_empty() { "/ " } else { "" };
        let words = format!(" {} {} {filter}", at + 1, pane.title());
        put_spans(buf, (x, area.y), area.right(), &[ratatui::text::Span::styled(words, style)]);
    }
}
