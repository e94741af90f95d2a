//! Documents and pictures written beside the screen: always a new file, always without secrets.

use std::sync::Arc;

use crate::app::event::Event;
use crate::export::{Format, Wanted, export, file_name};
use crate::inspect::Inspection;
use crate::inspect::making::Made;
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runtime::jobs::Kind;
use crate::runtime::r#loop::Shell;
use crate::runtime::picture::{cells, drawn};
use crate::runtime::save::save;

/// The name of a picture's file.
const PICTURE: &str = "clawscope-screen.svg";

impl Shell {
    pub(super) fn export(
        &mut self,
        format: Format,
        inspection: Arc<Inspection>,
        plan: Option<Arc<Plan>>,
        made: Option<Arc<Made>>,
    ) {
        let (folder, now_ms) = (self.env.cwd.clone(), self.clock.now_ms());
        self.jobs.add(Kind::Outside, move |ticket| {
            let made = made.as_ref().map(|made| &made.summary);
            let plan = plan.as_deref().map(|plan| (plan, made));
            let wanted = Wanted { inspection: &inspection, plan, now_ms, redact: true, shape_only: false };
            let name = file_name(&inspection.session, format.extension());
            let saved = export(&wanted, format).map_err(|error| error.to_string()).and_then(|exported| {
                let path = save(&folder, &name, &exported.text)?;
                Ok((path, exported.words().unwrap_or_default()))
            });
            ticket.send(match saved {
                Ok((path, words)) => Event::Said(format!("Saved as {}: {words}.", path.display())),
                Err(error) => Event::Failed(error),
            });
        });
    }

    /// The cells are taken at once; looking for secrets may take a while.
    pub(super) fn save_screen(&mut self, inspection: Option<Arc<Inspection>>) {
        let theme = self.themes.get(&self.app.options).clone();
        let buffer = cells(&self.app, &theme);
        let (folder, now_ms) = (self.env.cwd.clone(), self.clock.now_ms());
        self.jobs.add(Kind::Outside, move |ticket| {
            let redactor = inspection.as_ref().map_or_else(
                || Ok(Redactor::default()),
                |inspection| {
                    Wanted { inspection, plan: None, now_ms, redact: true, shape_only: false }.redactor()
                },
            );
            let saved = redactor
                .map_err(|error| error.to_string())
                .and_then(|redactor| save(&folder, PICTURE, &drawn(buffer, &theme, &redactor)));
            ticket.send(match saved {
                Ok(path) => Event::Said(format!("Saved as {}.", path.display())),
                Err(error) => Event::Failed(error),
            });
        });
    }
}
