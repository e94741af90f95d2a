//! Exports documents and pictures in the background: always to a new file, always without secrets.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::event::Event;
use crate::export::{ExportRequest, Format, export, file_name};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::JobKind;
use crate::runtime::picture::{render_cells, render_svg};
use crate::runtime::remote_screen::RemotePort;
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
        let (target, now_ms) = (self.save_target(), self.clock.now_ms());
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
                target.save(&name, &exported.text, &format!(": {words}"))
            });
            if let Some(event) = saved.unwrap_or_else(|error| Some(Event::Failure(error))) {
                ticket.send_event(event);
            }
        });
    }

    /// Takes the cells at once, as the screen changes while the job searches for secrets.
    pub(super) fn save_screen(&mut self, loaded: Option<Arc<LoadedSession>>) {
        let theme = self.themes.current(&self.app.options).clone();
        let buffer = render_cells(&self.app, &theme);
        let (target, now_ms) = (self.save_target(), self.clock.now_ms());
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
            let answer = match redactor {
                Ok(redactor) => target.save(PICTURE_FILE_NAME, &render_svg(buffer, &theme, &redactor), ""),
                Err(error) => Some(Event::Failure(error.to_string())),
            };
            if let Some(event) = answer {
                ticket.send_event(event);
            }
        });
    }

    pub(super) fn save_target(&self) -> SaveTarget {
        match self.screen.port() {
            Some(port) => SaveTarget::Viewer(port.clone()),
            None => SaveTarget::Folder(self.env.cwd.clone()),
        }
    }
}

/// The place of a new file.
#[derive(Debug)]
pub(super) enum SaveTarget {
    Folder(PathBuf),
    /// The working directory of a viewer on another machine, who reports the outcome.
    Viewer(RemotePort),
}

impl SaveTarget {
    /// Saves a text under a free name. Returns the outcome; `remark` follows the path in it.
    pub(super) fn save(&self, name: &str, text: &str, remark: &str) -> Option<Event> {
        match self {
            Self::Folder(folder) => Some(match save_unique(folder, name, text) {
                Ok(path) => Event::Notice(format!("Saved as {}{remark}.", path.display())),
                Err(error) => Event::Failure(error.to_string()),
            }),
            Self::Viewer(port) => {
                port.save(name, text);
                None
            }
        }
    }
}
