//! The screen as a picture, without secrets.

use std::collections::VecDeque;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::app::effect::Effect;
use crate::app::event::Event;
use crate::app::state::Options;
use crate::export::{Picture, svg};
use crate::inspect::excerpt::excerpt;
use crate::inspect::list::Listed;
use crate::inspect::{Inspection, message};
use crate::redact::{Redactor, Secrets, redact_screen};
use crate::runtime::library::listing;
use crate::ui;
use crate::ui::highlight;
use crate::ui::theme::{ColourDepth, Theme, ThemeError};

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// There is no such theme.
    #[error(transparent)]
    Theme(#[from] ThemeError),
}

/// What is drawn of a state.
pub(super) fn cells(app: &App, theme: &Theme) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, app.size.0, app.size.1));
    ui::render(app, theme, &mut buffer);
    buffer
}

/// Cells as a picture, those of secrets masked.
pub(super) fn drawn(mut buffer: Buffer, theme: &Theme, redactor: &Redactor) -> String {
    redact_screen(&mut buffer, redactor);
    let (background, foreground) = theme.page();
    svg(&Picture { buffer: &buffer, background, foreground })
}

/// The screen of a session at rest, as a picture: that session alone stands in the list.
pub fn session_picture(
    listed: &Listed,
    inspection: Inspection,
    size: (u16, u16),
    theme: &str,
    redactor: &Redactor,
    now_ms: i64,
) -> Result<String, PictureError> {
    let theme = Theme::load(theme, ColourDepth::True)?;
    highlight::load();
    let mut app = App::new(Options { motion: false, ..Options::default() }, size);
    // The redactor masks the cells, where it is on: it knows the secrets of the whole session.
    app.secrets = Secrets::Shown;
    let mut told = listing(listed);
    told.items.retain(|item| item.key == inspection.session.key);
    let mut queue: VecDeque<Effect> = app.update(Event::Listed(Box::new(told)), now_ms).into();
    let mut waiting = Some(inspection);
    while let Some(effect) = queue.pop_front() {
        if let Some(event) = answer(effect, &mut waiting) {
            queue.extend(app.update(event, now_ms));
        }
    }
    Ok(drawn(cells(&app, &theme), &theme, redactor))
}

/// What the screen asks for while a session is opened.
fn answer(effect: Effect, waiting: &mut Option<Inspection>) -> Option<Event> {
    match effect {
        Effect::Open { .. } => waiting.take().map(|inspection| Event::Opened(Box::new(inspection))),
        Effect::ReadExcerpts { inspection, entries } => {
            let text =
                |entry| (entry, excerpt(&inspection.source, &inspection.index, entry).unwrap_or_default());
            Some(Event::Excerpts { epoch: inspection.epoch, items: entries.into_iter().map(text).collect() })
        }
        Effect::ReadMessage { inspection, entry, plan } => {
            let text = message::read(&inspection, entry, plan.as_deref());
            let text = text.map(Arc::new).map_err(|error| error.to_string());
            Some(Event::Message { epoch: inspection.epoch, entry, text })
        }
        _ => None,
    }
}
