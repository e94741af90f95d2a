//! The summary of a compaction before it is committed: offered where the conversation would leave the program, made call by
//! call, and kept until the cut changes.

use std::sync::Arc;

use crate::app::effect::{Effect, Write};
use crate::app::event::SummarySaid;
use crate::app::state::{App, Overlay, WriteDialog, WriteStage};
use crate::ids::Epoch;
use crate::inspect::Inspection;
use crate::inspect::making::Made;
use crate::inspect::writer::Offer;
use crate::plan::Plan;
use crate::summarize::Progress;
use crate::text;

/// Columns of the box that a write is asked in, and of its sides.
pub const DIALOG_COLUMNS: u16 = 80;
const SIDES: u16 = 8;
/// Lines of a summary that a page goes on by.
pub(super) const SUMMARY_PAGE: usize = 8;

/// How far a summary is.
#[derive(Debug, Clone, PartialEq)]
pub enum Summarising {
    /// What is to be summarised is being read.
    Reading,
    /// Waiting for y or n: it takes this, and leaves the program.
    Offered(Offer),
    /// A call is being answered.
    Calling(Progress),
}

/// Columns of a line in the dialog on a screen this wide.
pub fn dialog_line(columns: u16) -> usize {
    usize::from(DIALOG_COLUMNS.min(columns.saturating_sub(2)).saturating_sub(SIDES))
}

/// The lines of a summary as the dialog shows them.
pub fn summary_lines(made: &Made, columns: u16) -> Vec<String> {
    text::wrap(&made.summary.text.to_string_lossy(), dialog_line(columns).max(1))
}

impl App {
    /// The plan with the length of the summary that was made for it, where one was.
    pub(super) fn with_made_summary(&self, inspection: &Inspection, plan: Plan) -> Plan {
        let made = self.made.as_ref().filter(|made| made.is_for(inspection, &plan));
        made.and_then(|made| made.plan(inspection, &plan).ok()).unwrap_or(plan)
    }

    /// The summary that was made for a plan.
    pub(super) fn made_for(&self, inspection: &Inspection, plan: &Plan) -> Option<Arc<Made>> {
        self.made.clone().filter(|made| made.is_for(inspection, plan))
    }

    /// Whether a summary is being made, or offered.
    pub(super) fn is_summarising(&self) -> bool {
        matches!(&self.overlay, Some(Overlay::Write(WriteDialog { stage: WriteStage::Summarising(_), .. })))
    }

    /// What is said of a summary that is being made; of an older reading, or when nobody waits for it, it is dropped.
    pub(super) fn summary_said(&mut self, epoch: Epoch, said: SummarySaid) -> Vec<Effect> {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return Vec::new() };
        let asked = matches!(&dialog.write, Write::Commit { inspection, .. } if inspection.epoch == epoch);
        if !asked || !matches!(dialog.stage, WriteStage::Summarising(_)) {
            return Vec::new();
        }
        dialog.stage = match said {
            SummarySaid::Offered(offer) => WriteStage::Summarising(Summarising::Offered(offer)),
            SummarySaid::Calling(progress) => WriteStage::Summarising(Summarising::Calling(progress)),
            SummarySaid::Failed(why) => WriteStage::NoSummary(why),
            SummarySaid::Made(made) => return self.summary_made(made),
        };
        Vec::new()
    }

    /// Goes on to the question, about the plan as it stands now.
    fn summary_made(&mut self, made: Arc<Made>) -> Vec<Effect> {
        self.made = Some(made);
        self.overlay = None;
        self.replan(false);
        self.ask_commit()
    }

    /// A yes to what was offered.
    pub(super) fn agree_to_summary(&mut self) -> Vec<Effect> {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return Vec::new() };
        let (WriteStage::Summarising(Summarising::Offered(_)), Write::Commit { inspection, plan, .. }) =
            (&dialog.stage, &dialog.write)
        else {
            return Vec::new();
        };
        let effect =
            Effect::Summarise { inspection: Arc::clone(inspection), plan: Arc::clone(plan), agreed: true };
        dialog.stage = WriteStage::Summarising(Summarising::Reading);
        vec![effect]
    }

    /// A no: what was offered is closed, and what is being made is cancelled and told so. Whether it was one of them.
    pub(super) fn refuse_summary(&mut self) -> bool {
        let Some(Overlay::Write(dialog)) = &mut self.overlay else { return false };
        match &dialog.stage {
            WriteStage::Summarising(Summarising::Reading | Summarising::Calling(_)) => {
                dialog.stage = WriteStage::NoSummary("The summary was cancelled.".to_owned());
                true
            }
            _ => false,
        }
    }
}

impl WriteDialog {
    /// Moves what is seen of the summary.
    pub(super) fn scroll(&mut self, by: isize, columns: u16) {
        let Write::Commit { made: Some(made), .. } = &self.write else { return };
        let last = summary_lines(made, columns).len().saturating_sub(1);
        self.top = self.top.saturating_add_signed(by).min(last);
    }
}
