//! Exports documents and pictures in the background: always to a new file, always without secrets.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::app::effect::Effect;
use crate::app::event::Event;
use crate::app::state::Options;
use crate::export::{ExportRequest, Format, ScreenImage, export, file_name, svg};
use crate::plan::Plan;
use crate::redact::{Redactor, SecretDisplay, redact_screen};
use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::JobKind;
use crate::runtime::save::save_unique;
use crate::runtime::store_loader::to_listing;
use crate::session::list::SessionListing;
use crate::session::message::excerpt::read_excerpt;
use crate::session::{LoadedSession, message};
use crate::ui;
use crate::ui::highlight;
use crate::ui::theme::{ColourDepth, Theme, ThemeError};
use crate::units::Moment;
use crate::write::summary::job::SummaryResult;

const PICTURE_FILE_NAME: &str = "clawscope-screen.svg";

impl EventLoop {
    pub(super) fn export(
        &mut self,
        format: Format,
        loaded: Arc<LoadedSession>,
        plan: Option<Arc<Plan>>,
        made: Option<Arc<SummaryResult>>,
    ) {
        let (folder, now_ms) = (self.env.cwd.clone(), self.clock.now_ms());
        self.jobs.enqueue(JobKind::External, move |ticket| {
            let made = made.as_ref().map(|made| &made.summary);
            let plan = plan.as_deref().map(|plan| (plan, made));
            let wanted = ExportRequest {
                session: &loaded,
                plan,
                now_ms,
                redact: true,
                personal: false,
                shape_only: false,
            };
            let name = file_name(&loaded.item, format.extension());
            let exported = export(&wanted, format).map_err(|error| error.to_string());
            let saved = exported.map(|exported| {
                let words = exported.removal_text().unwrap_or_default();
                save_in(&folder, &name, &exported.text, &format!(": {words}"))
            });
            ticket.send_event(saved.unwrap_or_else(Event::Failure));
        });
    }

    /// Takes the cells at once, as the screen changes while the job searches for secrets.
    pub(super) fn save_screen(&mut self, loaded: Option<Arc<LoadedSession>>) {
        let theme = self.themes.current(&self.app.options).clone();
        let buffer = render_cells(&self.app, &theme);
        let (folder, now_ms) = (self.env.cwd.clone(), self.clock.now_ms());
        self.jobs.enqueue(JobKind::External, move |ticket| {
            let redactor = loaded.as_ref().map_or_else(
                || Ok(Redactor::default()),
                |session| {
                    ExportRequest {
                        session,
                        plan: None,
                        now_ms,
                        redact: true,
                        personal: false,
                        shape_only: false,
                    }
                    .redactor()
                },
            );
            ticket.send_event(match redactor {
                Ok(redactor) => {
                    save_in(&folder, PICTURE_FILE_NAME, &render_svg(buffer, &theme, &redactor), "")
                }
                Err(error) => Event::Failure(error.to_string()),
            });
        });
    }
}

/// Saves a text under a free name in a folder. Returns the outcome; `remark` follows the path in it.
pub(super) fn save_in(folder: &Path, name: &str, text: &str, remark: &str) -> Event {
    match save_unique(folder, name, text) {
        Ok(path) => Event::Notice(format!("Saved as {}{remark}.", path.display())),
        Err(error) => Event::Failure(error.to_string()),
    }
}

// Renders the screen as a picture without secrets.

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
