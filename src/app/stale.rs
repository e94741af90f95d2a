//! Decides in one place whether an answer is still wanted. Every answer names the epoch, the request or the session
//! that it belongs to.

use crate::app::effect::PendingWrite;
use crate::app::event::Event;
use crate::app::screens::explain::FoldedReport;
use crate::app::screens::write::WriteStage;
use crate::app::state::{App, Overlay};
use crate::ids::{Epoch, SessionKey};

impl App {
    /// Whether an event answers a request that the state has moved on from.
    pub(super) fn is_stale(&self, event: &Event) -> bool {
        match event {
            Event::Opened(session) => {
                !self.awaits_session(&session.item.key) || self.shows_newer(&session.item.key, session.epoch)
            }
            Event::OpenProgress { key, .. } | Event::OpenFailed { key, .. } => !self.is_loading(key),
            Event::Message { epoch, entry, .. } => {
                !self.is_displayed(*epoch) || self.message.requested != Some(*entry)
            }
            Event::Details { subject, .. } => {
                self.displayed_session().is_none_or(|session| session.view_key() != *subject)
            }
            Event::SessionAtCall { epoch, .. } => {
                self.active_session().is_none_or(|session| session.epoch != *epoch)
            }
            // An explanation of the branch that a write left would be shown as that of the new one.
            Event::Explanation { epoch, .. } => self.opening.awaits_write || !self.is_displayed(*epoch),
            Event::Excerpts { epoch, .. }
            | Event::Blocks { epoch, .. }
            | Event::FoldedReport { epoch, report: FoldedReport::Recovery, .. }
            | Event::Commits { epoch, .. }
            | Event::BranchesCompared { epoch, .. } => !self.is_displayed(*epoch),
            Event::SearchMatches { epoch, query, .. } => {
                !self.is_current(*epoch) || self.transcript.as_ref().is_some_and(|pane| pane.query != *query)
            }
            Event::StoreSearch { request_id, .. } => {
                !self.search_screen.is_running || self.search_screen.request_id != *request_id
            }
            Event::Problems { request_id, .. } => {
                !self.problems.is_running || self.problems.request_id != *request_id
            }
            // Estimates take long, and hold for the calls that were there.
            Event::FoldedReport { epoch, report: FoldedReport::Estimators, .. }
            | Event::EstimateProgress { epoch, .. }
            | Event::Recording { epoch, .. } => !self.is_current(*epoch),
            Event::SummaryCalls { request, .. } => self.requested_summary_calls() != Some(*request),
            Event::Summary { epoch, .. } => !self.awaits_summary(*epoch),
            Event::Replayed { request_id, timeline } => {
                !self.is_current(timeline.session().epoch) || self.replay_state.is_answered(*request_id)
            }
            Event::Regret { epoch, request_id, .. } => {
                !self.is_current(*epoch) || self.regret.is_answered(*request_id)
            }
            Event::Sweep { request_id, .. } => !self.compare_screen.awaits(*request_id),
            // The person, the clock and the disk; a write and its repair are reported in any case.
            Event::Key(_)
            | Event::Mouse(_)
            | Event::Paste(_)
            | Event::Resize { .. }
            | Event::Timer
            | Event::Listed(_)
            | Event::ListFailed(_)
            | Event::ItemsChanged(_)
            | Event::ItemsCounted(_)
            | Event::Record { .. }
            | Event::RefreshFailed(_)
            | Event::Repaired(_)
            | Event::WritePreviewed(_)
            | Event::Written(_)
            | Event::Presets(_)
            | Event::Notice(_)
            | Event::Failure(_)
            | Event::FilesChanged(_)
            | Event::PollingChanged(_) => false,
        }
    }

    fn is_loading(&self, key: &SessionKey) -> bool {
        self.opening.loading.as_ref().is_some_and(|loading| loading.key == *key)
    }

    /// Whether a session is loading, or is displayed and read again.
    fn awaits_session(&self, key: &SessionKey) -> bool {
        match &self.opening.loading {
            Some(loading) => loading.key == *key,
            None => self.displayed_session().is_none_or(|shown| shown.item.key == *key),
        }
    }

    /// Whether a later reading of the session is on display: readings are answered in any order.
    fn shows_newer(&self, key: &SessionKey, epoch: Epoch) -> bool {
        self.active_session().is_some_and(|shown| shown.item.key == *key && shown.epoch > epoch)
    }

    fn is_displayed(&self, epoch: Epoch) -> bool {
        self.displayed_session().is_some_and(|session| session.epoch == epoch)
    }

    /// Whether an epoch belongs to the open session, which may have grown since.
    fn is_current(&self, epoch: Epoch) -> bool {
        self.transcript.as_ref().is_some_and(|pane| epoch >= pane.appended_since)
    }

    /// Whether the dialog waits for the summary of a session at this epoch.
    fn awaits_summary(&self, epoch: Epoch) -> bool {
        self.views.iter().any(|view| match view {
            Overlay::Write(dialog) => {
                matches!(dialog.stage, WriteStage::Summarising(_))
                    && matches!(&dialog.write, PendingWrite::Commit { session, .. } if session.epoch == epoch)
            }
            _ => false,
        })
    }
}
