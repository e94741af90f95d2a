//! The rows of the explain screen, shared between headline, page and footer.

use crate::app::screens::explain::page::{ExplainPage, MAX_CALL_LINES, TALL, WIDE};
use crate::app::screens::explain::wording::{Headline, patch_lines};
use crate::app::screens::explain::{ExplainRow, ExplainScreen};
use crate::text;

/// Header and status line of the program.
const CHROME_ROWS: u16 = 2;
/// Visible lines of the patch.
const MAX_PATCH_LINES: usize = 3;
/// Rows from which a blank line is below the headline.
const ROOMY_MIN_ROWS: u16 = 30;

impl ExplainScreen {
    pub fn headline(&self, (width, _): (u16, u16)) -> Headline {
        let Some(explanation) = self.explanation() else { return Headline::default() };
        let class =
            explanation.verdict().map_or(0, |it| it.class.as_str().len() + it.confidence.as_str().len() + 3);
        Headline::new(explanation, width, if width >= WIDE { class } else { 0 })
    }

    /// Rows of the footer: a title, and the patch or the text of the selected row.
    pub fn footer_rows(&self, (width, height): (u16, u16)) -> u16 {
        let Some(explanation) = self.explanation() else { return 0 };
        let ways = explanation.ways_out();
        let has_fix = !explanation.advice.is_empty() || !ways.is_empty();
        if !has_fix && (explanation.failure.is_none() || height < TALL) {
            return 0;
        }
        let width = usize::from(width.saturating_sub(5));
        let patches = explanation.advice.iter().map(|advice| patch_lines(&advice.patch, width).len());
        let commands = ways.iter().map(|way| text::wrap(&way.command, width.max(1)).len());
        1 + patches.chain(commands).max().unwrap_or(0).clamp(1, MAX_PATCH_LINES) as u16
    }

    /// Rows of the headline, with the blank below it if there is room.
    pub fn headline_rows(&self, size: (u16, u16)) -> u16 {
        self.headline(size).rows() + u16::from(size.1 >= ROOMY_MIN_ROWS)
    }

    /// Lines of the page that a screen of this size shows.
    pub fn page_rows(&self, size: (u16, u16)) -> usize {
        usize::from(size.1.saturating_sub(CHROME_ROWS + self.headline_rows(size) + self.footer_rows(size)))
    }

    pub fn page(&self, size: (u16, u16)) -> ExplainPage {
        let shown = self.page_rows(size) as u16;
        self.explanation().map(|it| ExplainPage::new(self, it, size, shown)).unwrap_or_default()
    }

    /// Whether a row shows only the start of its text, as a long error does.
    pub fn is_truncated(&self, row: ExplainRow, size: (u16, u16)) -> bool {
        let page = self.page(size);
        row == ExplainRow::Call
            && (size.1 < TALL || page.row(row).is_some_and(|placed| placed.lines.len() > MAX_CALL_LINES))
    }
}
