//! Exports documents and pictures in the background: always to a new file, always without secrets.

use std::path::Path;
use std::sync::Arc;

use crate::app::event::Event;
use crate::export::{ExportRequest, Format, export, file_name};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::JobKind;
use crate::runtime::picture::{render_cells, render_svg};
use crate::runtime::save::save_unique;
use crate::session::LoadedSession;
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
