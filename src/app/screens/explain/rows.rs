//! The blocks that the page has, from top to bottom, and their selectable rows.

use crate::app::screens::explain::page::ExplainBlock;
use crate::app::screens::explain::{ExplainRow, ExplainScreen, FoldedReport};
use crate::context::budget::BudgetPart;
use crate::report::explain::{Explanation, Failure, Question};

impl ExplainScreen {
    /// Returns the blocks in the order of the page. The answer comes before its reasons, so that it is visible at every
    /// height.
    pub(super) fn blocks(&self, explanation: &Explanation) -> Vec<ExplainBlock> {
        let has_calls = !explanation.course.calls.is_empty();
        let bar = if explanation.failure.is_some() { ExplainBlock::Call } else { ExplainBlock::NextPrompt };
        let blocks = [
            ExplainBlock::Answer(Question::WaysOut),
            ExplainBlock::Answer(Question::Advice),
            ExplainBlock::Chart,
            bar,
            ExplainBlock::Answer(Question::Parts),
            ExplainBlock::Answer(Question::Guards),
            ExplainBlock::Answer(Question::Counts),
            ExplainBlock::Answer(Question::Overflows),
            ExplainBlock::Answer(Question::GatewayRecord),
            ExplainBlock::Answer(Question::Findings),
            ExplainBlock::Folded(FoldedReport::Recovery),
            ExplainBlock::Folded(FoldedReport::Estimators),
        ];
        let is_shown = |block: &ExplainBlock| match block {
            ExplainBlock::Chart => has_calls,
            // The explained call has a block of its own.
            ExplainBlock::Answer(Question::Overflows) => explanation.overflows.len() > 1,
            ExplainBlock::Answer(_) => self.doc(*block).is_some_and(|doc| doc.rows().next().is_some()),
            ExplainBlock::Call | ExplainBlock::NextPrompt | ExplainBlock::Folded(_) => true,
        };
        blocks.into_iter().filter(is_shown).collect()
    }

    /// Lists the selectable rows again, with the cursor on the same row.
    pub(super) fn list_rows(&mut self, selected: Option<ExplainRow>, size: (u16, u16)) {
        let blocks = self.explanation().map(|explanation| self.blocks(explanation)).unwrap_or_default();
        self.rows = blocks.into_iter().flat_map(|block| self.block_rows(block)).collect();
        if let Some(at) = self.rows.iter().position(|row| Some(*row) == selected) {
            self.scroll.cursor = at;
        }
        self.move_by(0, size);
    }

    fn block_rows(&self, block: ExplainBlock) -> Vec<ExplainRow> {
        let head = match block {
            ExplainBlock::Call => Some(ExplainRow::Call),
            ExplainBlock::Folded(report) => Some(ExplainRow::Headline(report)),
            _ => None,
        };
        let lines = 0..self.doc(block).map_or(0, |doc| doc.rows().count());
        head.into_iter().chain(lines.map(|at| ExplainRow::Line(block, at))).collect()
    }
}

/// Counts the parts of the refused prompt that have tokens.
pub(super) fn count_parts(explanation: &Explanation) -> u16 {
    let budget = explanation.failure.as_ref().map(Failure::budget);
    budget.map_or(0, |budget| BudgetPart::ALL.iter().filter(|part| budget.tokens(**part) > 0).count() as u16)
}
