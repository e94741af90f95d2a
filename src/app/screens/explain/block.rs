//! The blocks of the explain screen and their selectable rows.

use crate::app::screens::explain::folded::FoldedReport;
use crate::report::explain::Question;

/// A titled block of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainBlock {
    /// The chart of the calls.
    Chart,
    /// The refused call as a bar.
    Call,
    /// The next prompt as a bar, when no call was refused.
    NextPrompt,
    /// A document of the explanation.
    Answer(Question),
    /// A document of another report, which opens in place.
    Folded(FoldedReport),
}

/// A selectable row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainRow {
    /// The explained call.
    Call,
    /// The headline of a report that opens in place.
    Headline(FoldedReport),
    /// A row of a block's document.
    Line(ExplainBlock, usize),
}

impl ExplainRow {
    pub(super) fn block(self) -> ExplainBlock {
        match self {
            Self::Call => ExplainBlock::Call,
            Self::Headline(report) => ExplainBlock::Folded(report),
            Self::Line(block, _) => block,
        }
    }

    /// Returns the row of an answer.
    pub fn of(question: Question, at: usize) -> Self {
        Self::Line(ExplainBlock::Answer(question), at)
    }
}
