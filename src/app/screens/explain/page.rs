//! The page below the headline of the explain screen: its blocks, their areas and the lines of their rows. The page
//! may be longer than the screen and scrolls as one.

use ratatui::layout::Rect;

use crate::app::screens::explain::{ExplainRow, ExplainScreen, FoldedReport};
use crate::context::budget::BudgetPart;
use crate::report::explain::{Explanation, Failure, Question};
use crate::{doc, text};

pub use crate::app::screens::explain::screen::ExplainBlock;

/// Columns from which two blocks are side by side.
pub const WIDE: u16 = 110;
/// Rows from which the page has a chart and the footer shows the whole text of a row.
pub(super) const TALL: u16 = 24;
/// Rows of the chart with its title and times; the page takes the first height that fits.
const CHART_HEIGHTS: [u16; 4] = [9, 8, 7, 6];
/// Columns of one part in the legend of the refused call.
pub const LEGEND_COLUMNS: u16 = 18;
/// Lines of the error text in the block of the refused call.
pub const MAX_CALL_LINES: usize = 2;
/// Chars of a row: an error may contain a whole document.
const MAX_ROW_CHARS: usize = 600;
/// Columns before the lines of a report that opens in place.
pub const DOC_INDENT: u16 = 2;
/// Columns of the block of parts next to the guards.
const PARTS_COLUMNS: u16 = 46;

/// A row with its place on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRow {
    pub row: ExplainRow,
    pub area: Rect,
    /// The text, wrapped for its column.
    pub lines: Vec<String>,
}

/// A block with its place on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedBlock {
    pub block: ExplainBlock,
    /// The first line is the title.
    pub area: Rect,
    /// The selectable rows.
    pub rows: Vec<PlacedRow>,
    /// The lines of its document, at the end of the block.
    pub doc: Vec<doc::Line>,
}

/// The blocks with their places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainPage {
    /// From top to bottom.
    pub blocks: Vec<PlacedBlock>,
    /// Lines of the whole page.
    pub height: u16,
}

/// Returns the first and the end column of a block's content.
pub fn content_columns(area: Rect) -> (u16, u16) {
    (if area.x > 0 { area.x + 3 } else { 2 }, area.right().saturating_sub(1))
}

impl ExplainPage {
    /// Lays out the page for a screen, of which `shown` lines are free for it. Gives up gaps and chart rows first so
    /// that the page fits without scrolling.
    pub fn new(
        screen: &ExplainScreen,
        explanation: &Explanation,
        (width, height): (u16, u16),
        shown: u16,
    ) -> Self {
        let legend_parts = count_parts(explanation);
        let tall = height >= TALL;
        let draft = |gap, chart_rows, is_open| {
            PageDraft { screen, explanation, legend_parts, width, tall, gap, chart_rows, is_open }.page()
        };
        let tries =
            CHART_HEIGHTS.into_iter().map(|chart| (1, chart)).chain(CHART_HEIGHTS.map(|chart| (0, chart)));
        // Opening a block must not move those above it.
        let fits = |(gap, chart): &(u16, u16)| draft(*gap, *chart, false).height <= shown;
        let tight = (0, if height >= 34 { CHART_HEIGHTS[2] } else { CHART_HEIGHTS[3] });
        let (gap, chart) = tries.into_iter().find(fits).unwrap_or(tight);
        draft(gap, chart, true)
    }

    pub fn row(&self, row: ExplainRow) -> Option<&PlacedRow> {
        self.blocks.iter().flat_map(|block| &block.rows).find(|placed| placed.row == row)
    }
}

/// A page layout with one choice of gap and chart height.
struct PageDraft<'a> {
    screen: &'a ExplainScreen,
    explanation: &'a Explanation,
    /// Parts in the legend of the refused call.
    legend_parts: u16,
    width: u16,
    tall: bool,
    gap: u16,
    chart_rows: u16,
    /// Whether the blocks that a person opened are open.
    is_open: bool,
}

impl PageDraft<'_> {
    fn page(&self) -> ExplainPage {
        let mut page = ExplainPage::default();
        for layer in self.layers() {
            let y = if page.blocks.is_empty() { 0 } else { page.height + self.gap };
            let mut x = 0;
            let mut blocks: Vec<PlacedBlock> = Vec::new();
            for (block, width) in layer {
                blocks.push(self.place_block(block, Rect { x, y, width, height: 1 }));
                x += width;
            }
            let height = blocks.iter().map(|placed| placed.area.height).max().unwrap_or(0);
            // The line between two blocks has the height of the longer one.
            for placed in &mut blocks {
                placed.area.height = height;
            }
            page.height = y + height;
            page.blocks.extend(blocks);
        }
        page
    }

    fn layers(&self) -> Vec<Vec<(ExplainBlock, u16)>> {
        let mut layers: Vec<Vec<(ExplainBlock, u16)>> = Vec::new();
        let chart_width = self.width.saturating_sub((self.width * 3 / 8).max(PARTS_COLUMNS));
        for block in self.screen.blocks(self.explanation) {
            let before = layers.last().and_then(|layer| layer.first()).map(|placed| placed.0);
            let left = match (before, block) {
                (Some(ExplainBlock::Chart), ExplainBlock::Call | ExplainBlock::NextPrompt) => {
                    Some(chart_width)
                }
                (Some(ExplainBlock::Answer(Question::Parts)), ExplainBlock::Answer(Question::Guards)) => {
                    Some(PARTS_COLUMNS)
                }
                _ => None,
            };
            let is_drawn = matches!(block, ExplainBlock::Chart | ExplainBlock::NextPrompt);
            match (left.filter(|_| self.width >= WIDE), layers.last_mut()) {
                _ if is_drawn && !self.tall => {}
                (Some(left), Some(layer)) => {
                    layer[0].1 = left;
                    layer.push((block, self.width - left));
                }
                _ => layers.push(vec![(block, self.width)]),
            }
        }
        layers
    }

    fn place_block(&self, block: ExplainBlock, area: Rect) -> PlacedBlock {
        let mut y = area.y + 1;
        let mut rows = Vec::new();
        let head = match block {
            ExplainBlock::Call => Some(ExplainRow::Call),
            ExplainBlock::Folded(report) => Some(ExplainRow::Headline(report)),
            _ => None,
        };
        if let Some(row) = head {
            let (x, end) = content_columns(area);
            let (lines, height) = self.wrap_row(row, end.saturating_sub(x));
            rows.push(PlacedRow { row, area: Rect { y, height, ..area }, lines });
            y += height;
        }
        let doc = self.place_doc(block, area, y, &mut rows);
        y += doc.len() as u16;
        let height = match block {
            ExplainBlock::Chart if self.width < WIDE => 5,
            ExplainBlock::Chart => self.chart_rows,
            ExplainBlock::Call if !self.tall => 3,
            ExplainBlock::Call => {
                let words = rows.first().map_or(0, |row: &PlacedRow| row.lines.len().min(MAX_CALL_LINES));
                3 + legend_rows(self.legend_parts, area) + words as u16
            }
            ExplainBlock::NextPrompt => CHART_HEIGHTS[3],
            _ => y - area.y,
        };
        PlacedBlock { block, area: Rect { height, ..area }, rows, doc }
    }

    /// Places the rows of a block's document from line `y` on; returns its lines.
    fn place_doc(
        &self,
        block: ExplainBlock,
        area: Rect,
        y: u16,
        rows: &mut Vec<PlacedRow>,
    ) -> Vec<doc::Line> {
        let is_folded = matches!(block, ExplainBlock::Folded(_));
        let Some(doc) = self.screen.doc(block).filter(|_| self.is_open || !is_folded) else {
            return Vec::new();
        };
        let (x, end) = content_columns(area);
        let indent = if is_folded { DOC_INDENT } else { 0 };
        let lines = doc.lines(Some(usize::from(end.saturating_sub(x + indent))));
        for (y, line) in (y..).zip(&lines) {
            let Some(row) = line.row.map(|at| ExplainRow::Line(block, at)) else { continue };
            match rows.last_mut() {
                Some(last) if last.row == row => last.area.height += 1,
                _ => rows.push(PlacedRow { row, area: Rect { y, height: 1, ..area }, lines: Vec::new() }),
            }
        }
        lines
    }

    /// Wraps the text of a row in a block of `width` columns; returns the lines and the row's height.
    fn wrap_row(&self, row: ExplainRow, width: u16) -> (Vec<String>, u16) {
        let mut words = self.screen.row_text(row);
        if let Some((end, _)) = words.char_indices().nth(MAX_ROW_CHARS) {
            words.truncate(end);
            words.push('…');
        }
        let columns = if row == ExplainRow::Call { width } else { width.saturating_sub(DOC_INDENT) };
        let lines = text::wrap(&words, usize::from(columns.max(8)));
        let height = if row == ExplainRow::Call { 1 } else { lines.len() as u16 };
        (lines, height)
    }
}

/// Returns the rows of a legend of `parts` parts in a block.
pub fn legend_rows(parts: u16, area: Rect) -> u16 {
    let (x, end) = content_columns(area);
    parts.div_ceil((end.saturating_sub(x) / LEGEND_COLUMNS).max(1))
}

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
            // A single overflow is the explained call, which has its own block.
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
fn count_parts(explanation: &Explanation) -> u16 {
    let budget = explanation.failure.as_ref().map(Failure::budget);
    budget.map_or(0, |budget| BudgetPart::ALL.iter().filter(|part| budget.tokens(**part) > 0).count() as u16)
}
