//! The summary of a compaction before it is committed: offered where the conversation would leave the program, made call by
//! call, and kept until the cut changes.

use std::sync::Arc;

use crate::app::effect::{Effect, PendingWrite};
use crate::app::event::SummaryUpdate;
use crate::app::state::{App, Overlay, WriteDialog, WriteStage};
use crate::ids::Epoch;
use crate::inspect::LoadedSession;
use crate::inspect::summary_job::SummaryResult;
use crate::inspect::summary_writer::SummaryEstimate;
use crate::plan::Plan;
use crate::summarize::SummaryProgress;
use crate::text;

/// Columns of the box that a write is asked in, and of its sides.
pub const DIALOG_COLUMNS: u16 = 80;
const DIALOG_PADDING: u16 = 8;
/// Lines of a summary that a page goes on by.
pub(super) const SUMMARY_PAGE: usize = 8;

/// How far a summary is.
#[derive(Debug, Clone, PartialEq)]
pub enum SummaryStage {
    /// What is to be summarised is being read.
    Reading,
    /// Waiting for y or n: it takes this, and leaves the program.
    Offered(SummaryEstimate),
    /// A call is being answered.
    Calling(SummaryProgress),
}

/// Columns of a line in the dialog on a screen this wide.
pub fn dialog_line_columns(columns: u16) -> usize {
    usize::from(DIALOG_COLUMNS.min(columns.saturating_sub(2)).saturating_sub(DIALOG_PADDING))
}

/// The lines of a summary as the dialog shows them.
pub fn summary_lines(made: &SummaryResult, columns: u16) -> Vec<String> {
    text::wrap(&made.summary.text.to_string_lossy(), dialog_line_columns(columns).max(1))
}

impl App {
    /// The plan with the length of the summary that was made for it, where one was.
    pub(super) fn with_summary_length(&self, inspection: &LoadedSession, plan: Plan) -> Plan {
        let made = self.summary.as_ref().filter(|made| made.matches_plan(inspection, &plan));
        made.and_then(|made| made.apply_to(inspection, &plan).ok()).unwrap_or(plan)
    }

    /// The summary that was made for a plan.
    pub(super) fn summary_for(&self, inspection: &LoadedSession, plan: &Plan) -> Option<Arc<SummaryResult>> {
        self.summary.clone().filter(|made| made.matches_plan(inspection, plan))
    }

    /// Whether a summary is being made, or offered.
    pub(super) fn is_summarising(&self) -> bool {
        matches!(&self.overlay, Some(Overlay::Write(WriteDialog { stage: WriteStage::Summarising(_), .. })))
    }

    /// What is said of a summary that is being made; of an older reading, or when nobody waits for it, it is dropped.
    pub(super) fn on_summary_update(&mut self, epoch: Epoch, said: SummaryUpdate) -> Vec<Effect> {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return Vec::new() };
        let asked = matches!(&dialog.write, PendingWrite::Commit { session, .. } if session.epoch == epoch);
        if !asked || !matches!(dialog.stage, WriteStage::Summarising(_)) {
            return Vec::new();
        }
        dialog.stage = match said {
            SummaryUpdate::Offered(offer) => WriteStage::Summarising(SummaryStage::Offered(offer)),
            SummaryUpdate::Calling(progress) => WriteStage::Summarising(SummaryStage::Calling(progress)),
            SummaryUpdate::Failed(why) => WriteStage::SummaryFailed(why),
            SummaryUpdate::Finished(made) => return self.on_summary_finished(made),
        };
        Vec::new()
    }

    /// Goes on to the question, about the plan as it stands now.
    fn on_summary_finished(&mut self, made: Arc<SummaryResult>) -> Vec<Effect> {
        self.summary = Some(made);
        self.overlay = None;
        self.replan(false);
        self.open_commit_dialog()
    }

    /// A yes to what was offered.
    pub(super) fn confirm_summary(&mut self) -> Vec<Effect> {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return Vec::new() };
        let (
            WriteStage::Summarising(SummaryStage::Offered(_)),
            PendingWrite::Commit { session: inspection, plan, .. },
        ) = (&dialog.stage, &dialog.write)
        else {
            return Vec::new();
        };
        let effect =
            Effect::Summarise { session: Arc::clone(inspection), plan: Arc::clone(plan), consented: true };
        dialog.stage = WriteStage::Summarising(SummaryStage::Reading);
        vec![effect]
    }

    /// A no: what was offered is closed, and what is being made is cancelled and told so. Whether it was one of them.
    pub(super) fn cancel_summary(&mut self) -> bool {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return false };
        match &dialog.stage {
            WriteStage::Summarising(SummaryStage::Reading | SummaryStage::Calling(_)) => {
                dialog.stage = WriteStage::SummaryFailed("The summary was cancelled.".to_owned());
                true
            }
            _ => false,
        }
    }
}

impl WriteDialog {
    /// Moves what is seen of the summary.
    pub(super) fn scroll_by(&mut self, by: isize, columns: u16) {
        let PendingWrite::Commit { summary: Some(made), .. } = &self.write else { return };
        let last = summary_lines(made, columns).len().saturating_sub(1);
        self.top = self.top.saturating_add_signed(by).min(last);
    }
}
