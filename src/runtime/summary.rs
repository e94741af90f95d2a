//! Writes a summary in the background: one at a time, cancelled by the person, by a newer request or at the end of
//! the program.

use std::sync::Arc;

use crate::app::event::{Event, SummaryUpdate};
use crate::plan::Plan;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::JobKind;
use crate::session::LoadedSession;
use crate::summarize::{CancelToken, SummaryProgress};
use crate::write::request::{WriteAction, WriteRequest};
use crate::write::summary::job::{SummaryJob, SummaryJobError};

impl EventLoop {
    /// Writes the summary of a plan's compaction, or only estimates it while the person has not agreed to send the
    /// conversation out of the program.
    pub(super) fn summarise(&mut self, loaded: Arc<LoadedSession>, plan: Arc<Plan>, agreed: bool) {
        self.stop_summary();
        let Some(store) = self.store_loader.store.clone() else { return };
        let (config, env, now_ms) = (self.summarizer.clone(), self.env.clone(), self.clock.now_ms());
        let cancel = self.summary_cancel.clone();
        self.jobs.start(JobKind::Summary, move |ticket| {
            let say = |message| ticket.send_event(Event::Summary { epoch: loaded.epoch, update: message });
            let ask = WriteAction::Commit { plan: &plan, summary: None };
            let request = WriteRequest { session: &loaded, action: ask, allow_orphan: false, now_ms };
            let making = SummaryJob::for_commit(&request, &store.config.js_root, &config, &env);
            let message = making.and_then(|making| {
                let mut progress = |progress| say(SummaryUpdate::Calling(progress));
                generate_or_offer(&making, agreed, &cancel, &mut progress)
            });
            say(message.unwrap_or_else(|error| SummaryUpdate::Failed(error.to_string())));
        });
    }

    /// Cancels the running summary.
    pub(super) fn stop_summary(&mut self) {
        std::mem::take(&mut self.summary_cancel).cancel();
        self.jobs.cancel(JobKind::Summary);
    }
}

fn generate_or_offer(
    making: &SummaryJob,
    agreed: bool,
    cancel: &CancelToken,
    progress: &mut dyn FnMut(SummaryProgress),
) -> Result<SummaryUpdate, SummaryJobError> {
    if making.writer.is_external() && !agreed {
        return making.estimate().map(SummaryUpdate::Offered);
    }
    making.run(cancel, progress).map(|made| SummaryUpdate::Finished(Arc::new(made)))
}
