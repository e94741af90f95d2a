//! The selectable rows of each block of the explain screen.

use crate::app::screens::explain::page::ExplainBlock;
use crate::app::screens::explain::{ExplainRow, ExplainScreen};
use crate::context::budget::BudgetPart;
use crate::report::estimators::Estimator;
use crate::report::explain::{Explanation, Failure, Finding};

/// The most listed other calls: the newest ones.
const MAX_OTHER_CALLS: usize = 6;

/// The rows of a block, from top to bottom. `is_open`: with those of the blocks that a person opened.
pub(super) fn block_rows(
    screen: &ExplainScreen,
    explanation: &Explanation,
    block: ExplainBlock,
    is_open: bool,
) -> Vec<ExplainRow> {
    let own = explanation.failure.as_ref().map(|failure| failure.overflow.entry);
    match block {
        ExplainBlock::Chart | ExplainBlock::NextPrompt => Vec::new(),
        ExplainBlock::Call => vec![ExplainRow::Call],
        ExplainBlock::Parts => explanation.mechanism.iter().map(|_| ExplainRow::Mechanism).collect(),
        ExplainBlock::Guards => (0..explanation.guards.len()).map(ExplainRow::Guard).collect(),
        ExplainBlock::Counts => (0..explanation.counts.len()).map(ExplainRow::Count).collect(),
        ExplainBlock::WaysOut => (0..explanation.ways_out().len()).map(ExplainRow::WayOut).collect(),
        ExplainBlock::Advice => (0..explanation.advice.len()).map(ExplainRow::Advice).collect(),
        ExplainBlock::OtherCalls => {
            let others = explanation.overflows.iter().enumerate().filter(|(_, it)| Some(it.entry) != own);
            let mut newest: Vec<ExplainRow> =
                others.rev().take(MAX_OTHER_CALLS).map(|(at, _)| ExplainRow::OtherCall(at)).collect();
            newest.reverse();
            newest
        }
        ExplainBlock::Findings => {
            let lines = |(at, finding): (usize, &Finding)| {
                let head = (at > 0).then_some(ExplainRow::Finding(at));
                let lines = 0..finding.evidence().len();
                head.into_iter().chain(lines.map(move |line| ExplainRow::Evidence(at, line)))
            };
            explanation.findings.iter().enumerate().flat_map(lines).collect()
        }
        ExplainBlock::Recovery => {
            let steps = screen.recovery.rows().len() * usize::from(is_open);
            [ExplainRow::Recovery].into_iter().chain((0..steps).map(ExplainRow::RecoveryStep)).collect()
        }
        ExplainBlock::Estimators => {
            let shown = screen.estimators.shown().filter(|_| is_open);
            let estimators = shown.map_or(0, |_| Estimator::ALL.len());
            let calls = shown.map_or(0, |_| screen.estimators.calls().len());
            let rows = (0..estimators).map(ExplainRow::Estimator);
            let rows = rows.chain((0..calls).map(ExplainRow::CountedCall));
            [ExplainRow::Estimators].into_iter().chain(rows).collect()
        }
    }
}

impl ExplainScreen {
    /// Lists the selectable rows again, with the cursor on the same row.
    pub(super) fn list_rows(&mut self, selected: Option<ExplainRow>, size: (u16, u16)) {
        let rows = self.explanation().map(|explanation| all_rows(self, explanation)).unwrap_or_default();
        self.rows = rows;
        if let Some(at) = self.rows.iter().position(|row| Some(*row) == selected) {
            self.scroll.cursor = at;
        }
        self.move_by(0, size);
    }
}

/// Every selectable row, in the order of the page.
fn all_rows(screen: &ExplainScreen, explanation: &Explanation) -> Vec<ExplainRow> {
    let (failed, several) = (explanation.failure.is_some(), explanation.overflows.len() > 1);
    let blocks = [
        ExplainBlock::WaysOut,
        ExplainBlock::Advice,
        ExplainBlock::Call,
        ExplainBlock::Parts,
        ExplainBlock::Guards,
        ExplainBlock::Counts,
        ExplainBlock::OtherCalls,
    ];
    let shown = |block: &ExplainBlock| {
        (*block != ExplainBlock::Call || failed) && (*block != ExplainBlock::OtherCalls || several)
    };
    let last = [ExplainBlock::Findings, ExplainBlock::Recovery, ExplainBlock::Estimators];
    let blocks = blocks.into_iter().filter(shown).chain(last);
    blocks.flat_map(|block| block_rows(screen, explanation, block, true)).collect()
}

/// Counts the parts of the refused prompt that have tokens.
pub(super) fn count_parts(explanation: &Explanation) -> u16 {
    let budget = explanation.failure.as_ref().map(Failure::budget);
    budget.map_or(0, |budget| BudgetPart::ALL.iter().filter(|part| budget.tokens(**part) > 0).count() as u16)
}
