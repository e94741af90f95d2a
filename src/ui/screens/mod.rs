//! The drawing of every screen, window and dialog over the main screen; `app/screens` has their state and keys.

mod branches;
mod breakdown;
mod compare;
mod doc_page;
mod explain;
mod help;
mod letters;
mod palette;
mod problems;
mod record;
mod search;
mod timeline;
mod welcome;
mod write;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::app::App;
use crate::app::screens::Overlay;
use crate::ui::theme::Theme;

/// Draws a view over the main screen, whose panes leave `body` to it. Returns the position of its text cursor.
pub(super) fn draw(
    app: &App,
    theme: &Theme,
    view: &Overlay,
    body: Rect,
    buf: &mut Buffer,
) -> Option<Position> {
    match view {
        Overlay::Help(screen) => return help::draw(app, theme, screen, buf),
        Overlay::Palette(screen) => return Some(palette::draw(app, theme, screen, buf)),
        Overlay::Letters(window) => letters::draw(app, theme, window, buf),
        Overlay::Problems(screen) => problems::draw(app, theme, screen.scroll, body, buf),
        Overlay::Breakdown(screen) => breakdown::draw(app, theme, screen, buf),
        Overlay::Explain(screen) => explain::draw(app, theme, screen, body, buf),
        Overlay::Branches(screen) => branches::draw(theme, screen, body, buf),
        Overlay::Record(screen) => record::draw(app, theme, screen, body, buf),
        Overlay::Welcome => welcome::draw(app, theme, buf),
        Overlay::Search => return search::draw(app, theme, body, buf),
        Overlay::Timeline => timeline::draw(app, theme, body, buf),
        Overlay::Compare if app.compare_screen.sides.is_some() => compare::sides::draw(app, theme, body, buf),
        Overlay::Compare => compare::draw(app, theme, body, buf),
        Overlay::Write(dialog) => write::draw(app, theme, dialog, buf),
    }
    None
}
