//! Renders the screen as a picture without secrets.

use std::collections::VecDeque;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::app::effect::Effect;
use crate::app::event::Event;
use crate::app::state::Options;
use crate::export::{ScreenImage, svg};
use crate::redact::{Redactor, SecretDisplay, redact_screen};
use crate::runtime::store_loader::to_listing;
use crate::session::list::SessionListing;
use crate::session::message::excerpt::read_excerpt;
use crate::session::{LoadedSession, message};
use crate::ui;
use crate::ui::highlight;
use crate::ui::theme::{ColourDepth, Theme, ThemeError};
use crate::units::Moment;

#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The theme does not exist.
    #[error(transparent)]
    Theme(#[from] ThemeError),
}

/// Draws a state into cells.
pub(super) fn render_cells(app: &App, theme: &Theme) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, app.size.0, app.size.1));
    ui::render(app, theme, &mut buffer);
    buffer
}

/// Renders cells as SVG with the secrets masked.
pub(super) fn render_svg(mut buffer: Buffer, theme: &Theme, redactor: &Redactor) -> String {
    redact_screen(&mut buffer, redactor);
    let (background, foreground) = theme.page_colours();
    svg(&ScreenImage { buffer: &buffer, background, foreground })
}

/// Renders the screen of a freshly opened session as SVG; the list contains only that session.
pub fn session_picture(
    listed: &SessionListing,
    session: LoadedSession,
    size: (u16, u16),
    theme: &str,
    redactor: &Redactor,
    now_ms: Moment,
) -> Result<String, PictureError> {
    let theme = Theme::load(theme, ColourDepth::True)?;
    highlight::load();
    let mut app = App::new(Options { motion: false, ..Options::default() }, size);
    // The redactor masks the cells if it is on, as it knows the secrets of the whole session.
    app.secrets = SecretDisplay::Shown;
    let mut reported = to_listing(&mut listed.clone());
    reported.items.retain(|item| item.key == session.item.key);
    let mut queue: VecDeque<Effect> = app.update(Event::Listed(Box::new(reported)), now_ms).into();
    let mut waiting = Some(session);
    while let Some(effect) = queue.pop_front() {
        if let Some(event) = respond_to(effect, &mut waiting) {
            queue.extend(app.update(event, now_ms));
        }
    }
    Ok(render_svg(render_cells(&app, &theme), &theme, redactor))
}

/// Answers the effects of opening a session without jobs.
fn respond_to(effect: Effect, waiting: &mut Option<LoadedSession>) -> Option<Event> {
    match effect {
        Effect::OpenSession { .. } => waiting.take().map(|session| Event::Opened(Box::new(session))),
        Effect::ReadExcerpts { session, entries } => {
            let text =
                |entry| (entry, read_excerpt(&session.source, &session.index, entry).unwrap_or_default());
            Some(Event::Excerpts { epoch: session.epoch, items: entries.into_iter().map(text).collect() })
        }
        Effect::ReadMessage { session, entry, plan } => {
            let text = message::read_message(&session, entry, plan.as_deref());
            let text = text.map(Arc::new).map_err(Into::into);
            Some(Event::Message { epoch: session.epoch, entry, text })
        }
        _ => None,
    }
}
