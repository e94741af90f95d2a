//! The summary of a compaction before the commit. The dialog asks for consent when the conversation would leave the
//! program, shows the progress call by call, and keeps the summary until the cut changes.

use std::sync::Arc;

use crate::app::effect::{Effect, PendingWrite};
use crate::app::event::SummaryUpdate;
use crate::app::screens::write::SummaryStage;
use crate::app::state::{App, Overlay, WriteDialog, WriteStage};
use crate::plan::Plan;
use crate::session::LoadedSession;
use crate::write::summary::job::SummaryResult;

impl App {
    /// Applies the length of the finished summary to its plan, if there is one.
    pub(super) fn with_summary_length(&self, session: &LoadedSession, plan: Plan) -> Plan {
        let made = self.preview.summary.as_ref().filter(|made| made.matches_plan(session, &plan));
        made.and_then(|made| made.apply_to(session, &plan).ok()).unwrap_or(plan)
    }

    /// Returns the finished summary of a plan.
    pub(super) fn summary_for(&self, session: &LoadedSession, plan: &Plan) -> Option<Arc<SummaryResult>> {
        self.preview.summary.clone().filter(|made| made.matches_plan(session, plan))
    }

    /// Whether a summary is offered or in progress.
    pub(super) fn is_summarising(&self) -> bool {
        self.views
            .iter()
            .any(|view| matches!(view, Overlay::Write(WriteDialog { stage: WriteStage::Summarising(_), .. })))
    }

    /// Shows the progress of a summary.
    pub(super) fn on_summary_update(&mut self, message: SummaryUpdate) -> Vec<Effect> {
        let Some(dialog) = self.write_dialog_mut() else { return Vec::new() };
        dialog.stage = match message {
            SummaryUpdate::Offered(offer) => WriteStage::Summarising(SummaryStage::Offered(offer)),
            SummaryUpdate::Calling(progress) => WriteStage::Summarising(SummaryStage::Calling(progress)),
            SummaryUpdate::Failed(why) => WriteStage::SummaryFailed(why),
            SummaryUpdate::Finished(made) => return self.on_summary_finished(made),
        };
        Vec::new()
    }

    /// Opens the commit dialog again, for the plan with the finished summary.
    fn on_summary_finished(&mut self, made: Arc<SummaryResult>) -> Vec<Effect> {
        self.preview.summary = Some(made);
        let requested_from = self.write_dialog_mut().map(|dialog| dialog.requested_from).unwrap_or_default();
        self.close_write_dialog();
        self.replan(false);
        self.open_commit_dialog(requested_from)
    }

    /// Starts the offered summary.
    pub(super) fn confirm_summary(&mut self) -> Vec<Effect> {
        let Some(dialog) = self.write_dialog_mut() else { return Vec::new() };
        let (WriteStage::Summarising(SummaryStage::Offered(_)), PendingWrite::Commit { session, plan, .. }) =
            (&dialog.stage, &dialog.write)
        else {
            return Vec::new();
        };
        let effect =
            Effect::Summarise { session: Arc::clone(session), plan: Arc::clone(plan), consented: true };
        dialog.stage = WriteStage::Summarising(SummaryStage::Reading);
        vec![effect]
    }

    /// Cancels a summary in progress and says so; returns whether one was in progress. An offer is left for the
    /// caller to close.
    pub(super) fn cancel_summary(&mut self) -> bool {
        let Some(dialog) = self.write_dialog_mut() else { return false };
        match &dialog.stage {
            WriteStage::Summarising(SummaryStage::Reading | SummaryStage::Calling(_)) => {
                dialog.stage = WriteStage::SummaryFailed("The summary was cancelled.".to_owned());
                true
            }
            _ => false,
        }
    }
}
