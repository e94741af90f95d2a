//! The rows of each block of the explain screen that can be selected.

use crate::app::explain::ExplainRow;
use crate::app::explain::page::Block;
use crate::context::budget::Part;
use crate::explain::{Explanation, Failure, Finding};

/// Other calls that are listed: the newest.
const EVENTS: usize = 6;

/// The rows of a block, from above.
pub(super) fn rows_of(explanation: &Explanation, block: Block) -> Vec<ExplainRow> {
    let own = explanation.failure.as_ref().map(|failure| failure.overflow.entry);
    match block {
        Block::Course | Block::Fill => Vec::new(),
        Block::Call => vec![ExplainRow::Call],
        Block::Parts => explanation.mechanism.iter().map(|_| ExplainRow::Mechanism).collect(),
        Block::Guards => (0..explanation.guards.len()).map(ExplainRow::Guard).collect(),
        Block::Counts => (0..explanation.counts.len()).map(ExplainRow::Count).collect(),
        Block::Advice => (0..explanation.advice.len()).map(ExplainRow::Advice).collect(),
        Block::Events => {
            let others = explanation.overflows.iter().enumerate().filter(|(_, it)| Some(it.entry) != own);
            let mut newest: Vec<ExplainRow> =
                others.rev().take(EVENTS).map(|(at, _)| ExplainRow::Event(at)).collect();
            newest.reverse();
            newest
        }
        Block::Findings => {
            let lines = |(at, finding): (usize, &Finding)| {
                let head = (at > 0).then_some(ExplainRow::Finding(at));
                let lines = 0..finding.evidence.len();
                head.into_iter().chain(lines.map(move |line| ExplainRow::Evidence(at, line)))
            };
            explanation.findings.iter().enumerate().flat_map(lines).collect()
        }
    }
}

/// Every row that can be selected, in the order of the page.
pub(super) fn rows(explanation: &Explanation) -> Vec<ExplainRow> {
    let (failed, several) = (explanation.failure.is_some(), explanation.overflows.len() > 1);
    let blocks = [Block::Call, Block::Parts, Block::Guards, Block::Counts, Block::Advice, Block::Events];
    let shown = |block: &Block| (*block != Block::Call || failed) && (*block != Block::Events || several);
    let blocks = blocks.into_iter().filter(shown).chain([Block::Findings]);
    blocks.flat_map(|block| rows_of(explanation, block)).collect()
}

/// Parts of the prompt that the refused call carried.
pub(super) fn parts_carried(explanation: &Explanation) -> u16 {
    let budget = explanation.failure.as_ref().map(Failure::budget);
    budget.map_or(0, |budget| Part::ALL.iter().filter(|part| budget.tokens(**part) > 0).count() as u16)
}
