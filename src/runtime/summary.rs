//! Making a summary beside the screen: one at a time, ended by the person, by another request, or with the program.

use std::sync::Arc;

use crate::app::event::{Event, SummarySaid};
use crate::inspect::Inspection;
use crate::inspect::making::{Making, MakingError};
use crate::inspect::write::{Ask, WriteRequest};
use crate::plan::Plan;
use crate::runtime::jobs::Kind;
use crate::runtime::r#loop::Shell;
use crate::summarize::{Cancel, Progress};

impl Shell {
    /// Makes the summary of a plan's compaction, or tells what it takes where the person did not agree yet that the
    /// conversation leaves the program.
    pub(super) fn summarise(&mut self, inspection: Arc<Inspection>, plan: Arc<Plan>, agreed: bool) {
        self.stop_summary();
        let Some(store) = self.library.store.clone() else { return };
        let (config, env, now_ms) = (self.summarizer.clone(), self.env.clone(), self.clock.now_ms());
        let cancel = self.summary.clone();
        self.jobs.start(Kind::Summary, move |ticket| {
            let say = |said| ticket.send(Event::Summary { epoch: inspection.epoch, said });
            let ask = Ask::Commit { plan: &plan, summary: None };
            let request = WriteRequest { inspection: &inspection, ask, allow_orphan: false, now_ms };
            let making = Making::for_commit(&request, &store.config.js, &config, &env);
            let said = making.and_then(|making| {
                let mut progress = |progress| say(SummarySaid::Calling(progress));
                answer(&making, agreed, &cancel, &mut progress)
            });
            say(said.unwrap_or_else(|error| SummarySaid::Failed(error.to_string())));
        });
    }

    /// Nobody waits for the summary any more.
    pub(super) fn stop_summary(&mut self) {
        std::mem::take(&mut self.summary).cancel();
        self.jobs.cancel(Kind::Summary);
    }
}

fn answer(
    making: &Making,
    agreed: bool,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<SummarySaid, MakingError> {
    if making.writer.is_outside() && !agreed {
        return making.offer().map(SummarySaid::Offered);
    }
    making.make(cancel, progress).map(|made| SummarySaid::Made(Arc::new(made)))
}
