//! The dialog of a commit or an undo: its stages, and the summary that it shows.

use crate::app::action::Action;
use crate::app::effect::PendingWrite;
use crate::app::event::WritePreview;
use crate::app::screens::hint::Hint;
use crate::app::target::Target;
use crate::summarize::SummaryProgress;
use crate::text;
use crate::write::summary::job::{SummaryEstimate, SummaryResult};

/// Columns of the write dialog, and of its padding.
pub const DIALOG_COLUMNS: u16 = 80;
const DIALOG_PADDING: u16 = 8;
/// Lines of a page of the summary.
pub(in crate::app) const SUMMARY_PAGE: usize = 8;

/// Columns of a line in the dialog on a screen of `columns`.
pub fn dialog_line_columns(columns: u16) -> usize {
    usize::from(DIALOG_COLUMNS.min(columns.saturating_sub(2)).saturating_sub(DIALOG_PADDING))
}

/// Wraps a summary for the dialog.
pub fn summary_lines(made: &SummaryResult, columns: u16) -> Vec<String> {
    text::wrap(&made.summary.text.to_string_lossy(), dialog_line_columns(columns).max(1))
}

/// The dialog of a commit or an undo.
#[derive(Debug, Clone)]
pub struct WriteDialog {
    pub write: PendingWrite,
    pub stage: WriteStage,
    /// The prompt on display when the commit was requested. A commit is for the next call.
    pub requested_from: Target,
    /// First visible line of its summary.
    pub top: usize,
}

/// The progress of a write.
#[derive(Debug, Clone)]
pub enum WriteStage {
    /// Waiting until the session is read again, so that the dialog describes the current file.
    Waiting,
    /// The summary is offered or in progress.
    Summarising(SummaryStage),
    /// The reason that there is no summary; nothing is written.
    SummaryFailed(String),
    Checking,
    /// Waiting for y or n.
    Confirming(Box<WritePreview>),
    Writing,
    /// The reason that the write was refused or failed, and that nothing changed.
    Refused(String),
}

impl WriteDialog {
    pub(super) fn hints(&self) -> Vec<Hint> {
        match self.stage {
            WriteStage::Confirming(_) => {
                let mut hints: Vec<Hint> = vec![(&[Action::Yes], "write"), (&[Action::No], "cancel")];
                // Only a plan can be compared and saved.
                if matches!(self.write, PendingWrite::Commit { .. }) {
                    hints.extend([(&[Action::Diff][..], "diff"), (&[Action::SavePlan], "save plan")]);
                }
                hints
            }
            WriteStage::Summarising(SummaryStage::Offered(_)) => {
                vec![(&[Action::Yes], "summarise"), (&[Action::No], "cancel")]
            }
            WriteStage::Summarising(_) => vec![(&[Action::No], "cancel")],
            _ => vec![(&[Action::No], "close")],
        }
    }

    pub(super) fn scroll_by(&mut self, by: isize, columns: u16) {
        let PendingWrite::Commit { summary: Some(made), .. } = &self.write else { return };
        let last = summary_lines(made, columns).len().saturating_sub(1);
        self.top = self.top.saturating_add_signed(by).min(last);
    }
}

/// The progress of a summary.
#[derive(Debug, Clone, PartialEq)]
pub enum SummaryStage {
    /// The messages to summarise are being read.
    Reading,
    /// Waiting for y or n: the calls send the conversation out of the program.
    Offered(SummaryEstimate),
    /// A call is running.
    Calling(SummaryProgress),
}
