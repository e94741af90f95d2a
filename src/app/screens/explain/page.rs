//! The page below the headline of the explain screen: its blocks, their areas and the lines of their rows. The page
//! may be longer than the screen and scrolls as one.

use ratatui::layout::Rect;

pub use crate::app::screens::explain::block::ExplainBlock;
use crate::app::screens::explain::recovery::step_text;
use crate::app::screens::explain::rows::{block_rows, count_parts};
use crate::app::screens::explain::wording::mechanism_part;
use crate::app::screens::explain::{ExplainRow, ExplainScreen};
use crate::report::explain::Explanation;
use crate::text;

/// Columns from which two blocks are side by side.
pub const WIDE: u16 = 110;
/// Columns from which counts and changes have bars.
pub const BARS_MIN_WIDTH: u16 = 126;
/// Rows from which the page has a chart and the footer shows the whole text of a row.
pub(super) const TALL: u16 = 24;
/// Rows of the chart with its title and times; the page takes the first height that fits.
const CHART_HEIGHTS: [u16; 4] = [9, 8, 7, 6];
/// Columns of an entry at the end of a row: `→ 41044ad8`.
pub const ENTRY_COLUMNS: u16 = 10;
/// Columns of one part in the legend of the refused call.
pub const LEGEND_COLUMNS: u16 = 18;
/// Lines of the error text in the block of the refused call.
pub const MAX_CALL_LINES: usize = 2;
/// Chars of a row: an error may contain a whole document.
const MAX_ROW_CHARS: usize = 600;
/// Columns of a guard's sign with its name, and of its state.
pub const GUARD_COLUMNS: (u16, u16) = (16, 18);
/// Columns of a count before its note: source, tokens and difference; then those of its bar.
pub const COUNT_COLUMNS: (u16, u16) = (35, 14);
/// Columns of another refused call before its error: time and kind.
pub const OTHER_CALL_COLUMNS: u16 = 30;
/// Columns before the sentences about a step of the recovery.
pub const STEP_TEXT_INDENT: u16 = 4;
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
        let explanation = self.explanation;
        let has_calls = !explanation.course.calls.is_empty();
        let bar = if explanation.failure.is_some() { ExplainBlock::Call } else { ExplainBlock::NextPrompt };
        let first = [Some(ExplainBlock::Chart).filter(|_| has_calls), Some(bar)];
        let second = [
            (!explanation.parts.is_empty()).then_some(ExplainBlock::Parts),
            (!explanation.guards.is_empty()).then_some(ExplainBlock::Guards),
        ];
        let fixes = [
            (ExplainBlock::WaysOut, !explanation.ways_out().is_empty()),
            (ExplainBlock::Advice, !explanation.advice.is_empty()),
        ];
        // The answer comes before its reasons, so that it is visible at every height.
        let mut layers = self.whole_rows(fixes);
        if self.tall {
            layers.extend(
                self.side_by_side(first, self.width.saturating_sub((self.width * 3 / 8).max(PARTS_COLUMNS))),
            );
        } else if bar == ExplainBlock::Call {
            layers.push(vec![(bar, self.width)]);
        }
        layers.extend(self.side_by_side(second, PARTS_COLUMNS));
        let more = [
            (ExplainBlock::Counts, !explanation.counts.is_empty()),
            (ExplainBlock::OtherCalls, explanation.overflows.len() > 1),
            (ExplainBlock::Findings, true),
            (ExplainBlock::Recovery, true),
            (ExplainBlock::Estimators, true),
        ];
        layers.extend(self.whole_rows(more));
        layers
    }

    /// Puts each shown block into its own layer.
    fn whole_rows<const N: usize>(&self, blocks: [(ExplainBlock, bool); N]) -> Vec<Vec<(ExplainBlock, u16)>> {
        let shown = blocks.into_iter().filter(|(_, is_shown)| *is_shown);
        shown.map(|(block, _)| vec![(block, self.width)]).collect()
    }

    /// Puts two blocks side by side if the width allows, otherwise one below the other.
    fn side_by_side(&self, blocks: [Option<ExplainBlock>; 2], left: u16) -> Vec<Vec<(ExplainBlock, u16)>> {
        match blocks {
            [Some(one), Some(other)] if self.width >= WIDE => {
                vec![vec![(one, left), (other, self.width - left)]]
            }
            blocks => blocks.into_iter().flatten().map(|block| vec![(block, self.width)]).collect(),
        }
    }

    fn place_block(&self, block: ExplainBlock, area: Rect) -> PlacedBlock {
        let mut y = area.y + 1;
        let mut rows = Vec::new();
        for row in block_rows(self.screen, self.explanation, block, self.is_open) {
            let (x, end) = content_columns(area);
            y += self.lines_before(row, end.saturating_sub(x));
            let (lines, height) = self.wrap_row(row, end.saturating_sub(x));
            rows.push(PlacedRow { row, area: Rect { y, height, ..area }, lines });
            y += height;
        }
        let height = match block {
            ExplainBlock::Chart if self.width < WIDE => 5,
            ExplainBlock::Chart => self.chart_rows,
            ExplainBlock::Call if !self.tall => 3,
            ExplainBlock::Call => {
                let words = rows.first().map_or(0, |row: &PlacedRow| row.lines.len().min(MAX_CALL_LINES));
                3 + legend_rows(self.legend_parts, area) + words as u16
            }
            ExplainBlock::NextPrompt => CHART_HEIGHTS[3],
            ExplainBlock::Parts => y - area.y + self.parts_after(),
            _ => y - area.y,
        };
        PlacedBlock { block, area: Rect { height, ..area }, rows }
    }

    /// Lines of the block before a row that cannot be selected.
    fn lines_before(&self, row: ExplainRow, columns: u16) -> u16 {
        match row {
            ExplainRow::Mechanism => self.parts_before(),
            // The settings or a blank line, and the heads of the columns.
            ExplainRow::RecoveryStep(0) | ExplainRow::CountedCall(0) => 2,
            ExplainRow::Estimator(0) => wrapped_notes(self.screen, columns).len() as u16 + 1,
            _ => 0,
        }
    }

    /// Counts the parts above the mechanism's line: up to the mechanism's own part, or all.
    fn parts_before(&self) -> u16 {
        let parts = &self.explanation.parts;
        let own = self.explanation.mechanism.as_ref().and_then(mechanism_part);
        let at = parts.iter().position(|part| Some(part.kind) == own);
        at.map_or(parts.len(), |at| at + 1) as u16
    }

    fn parts_after(&self) -> u16 {
        self.explanation.parts.len() as u16 - self.parts_before()
    }

    /// Wraps the text of a row in a block of `width` columns; returns the lines and the row's height.
    fn wrap_row(&self, row: ExplainRow, width: u16) -> (Vec<String>, u16) {
        let words = self.row_text(row);
        let room = width.saturating_sub(if self.width >= WIDE { ENTRY_COLUMNS + 1 } else { 3 });
        let beneath = self.is_below_columns(row, &words, room);
        let columns = match row {
            ExplainRow::Call => width,
            ExplainRow::Advice(_) => width.saturating_sub(5 + advice_columns(self.width)),
            // The last two are numbers in columns.
            ExplainRow::Finding(_)
            | ExplainRow::WayOut(_)
            | ExplainRow::Estimator(_)
            | ExplainRow::CountedCall(_) => room,
            ExplainRow::Mechanism
            | ExplainRow::Evidence(..)
            | ExplainRow::Recovery
            | ExplainRow::Estimators => room.saturating_sub(2),
            ExplainRow::RecoveryStep(_) => room.saturating_sub(STEP_TEXT_INDENT),
            ExplainRow::OtherCall(_) => room.saturating_sub(OTHER_CALL_COLUMNS),
            ExplainRow::Guard(_) | ExplainRow::Count(_) if beneath => room.saturating_sub(2),
            ExplainRow::Guard(_) => room.saturating_sub(GUARD_COLUMNS.0 + GUARD_COLUMNS.1),
            ExplainRow::Count(_) => room.saturating_sub(
                COUNT_COLUMNS.0 + if self.width >= BARS_MIN_WIDTH { COUNT_COLUMNS.1 } else { 0 },
            ),
        };
        let lines = text::wrap(&words, usize::from(columns.max(8)));
        let height = if row == ExplainRow::Call { 1 } else { lines.len() as u16 + u16::from(beneath) };
        (lines, height)
    }

    /// Returns the text of a row beside or below its columns.
    fn row_text(&self, row: ExplainRow) -> String {
        let mut words = match row {
            ExplainRow::Estimator(_) | ExplainRow::CountedCall(_) => return String::new(),
            ExplainRow::RecoveryStep(at) => self.screen.step(at).map_or_else(String::new, step_text),
            row => self.screen.row_text(row),
        };
        if let Some((end, _)) = words.char_indices().nth(MAX_ROW_CHARS) {
            words.truncate(end);
            words.push('…');
        }
        words
    }

    /// Whether the text of a guard or a count is placed below its columns for lack of width.
    fn is_below_columns(&self, row: ExplainRow, words: &str, room: u16) -> bool {
        match row {
            ExplainRow::Guard(_) => {
                text::width(words) > usize::from(room.saturating_sub(GUARD_COLUMNS.0 + GUARD_COLUMNS.1))
            }
            ExplainRow::Count(_) => self.width < 80,
            ExplainRow::RecoveryStep(_) => !words.is_empty(),
            _ => false,
        }
    }
}

/// Wraps the sentences about the estimators for a block of `columns` columns, of which the first two are blank.
pub fn wrapped_notes(screen: &ExplainScreen, columns: u16) -> Vec<String> {
    let columns = usize::from(columns.max(10)) - 2;
    screen.estimators.notes.iter().flat_map(|note| text::wrap(note, columns)).collect()
}

/// Returns the rows of a legend of `parts` parts in a block.
pub fn legend_rows(parts: u16, area: Rect) -> u16 {
    let (x, end) = content_columns(area);
    parts.div_ceil((end.saturating_sub(x) / LEGEND_COLUMNS).max(1))
}

/// Columns at the end of an advice row: bar, failed call, overflows, peak and cost.
pub fn advice_columns(width: u16) -> u16 {
    match width {
        BARS_MIN_WIDTH.. => 61,
        WIDE.. => 47,
        80.. => 22,
        _ => 6,
    }
}
