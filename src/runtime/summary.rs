//! Stops a running summary: on request of the person, by a newer request or at the end of the program.

use crate::runtime::event_loop::EventLoop;
use crate::runtime::jobs::JobKind;

impl EventLoop {
    /// Cancels the running summary.
    pub(super) fn stop_summary(&mut self) {
        std::mem::take(&mut self.summary_cancel).cancel();
        self.jobs.cancel(JobKind::Summary);
    }
}
