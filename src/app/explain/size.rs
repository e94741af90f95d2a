//! How the rows of the screen are shared between headline, page and foot.

use crate::app::explain::page::{CALL_WORDS, Page, TALL, WIDE};
use crate::app::explain::words::{Head, patch_lines};
use crate::app::explain::{ExplainRow, ExplainScreen};

/// Header and status line of the program.
const AROUND: u16 = 2;
/// Lines of the patch that are shown.
const PATCH: usize = 3;
/// Height from which a blank is left below the headline.
const ROOMY: u16 = 30;

impl ExplainScreen {
    /// The headline on a screen of this size.
    pub fn head(&self, (width, _): (u16, u16)) -> Head {
        let Some(explanation) = self.explanation() else { return Head::default() };
        let class =
            explanation.verdict().map_or(0, |it| it.class.word().len() + it.confidence.word().len() + 3);
        Head::new(explanation, width, if width >= WIDE { class } else { 0 })
    }

    /// Rows of the foot: a title, and the patch or the words of the row.
    pub fn foot_rows(&self, (width, height): (u16, u16)) -> u16 {
        let Some(explanation) = self.explanation().filter(|_| height >= TALL) else { return 0 };
        if explanation.failure.is_none() && explanation.advice.is_empty() {
            return 0;
        }
        let width = usize::from(width.saturating_sub(5));
        let lines = explanation.advice.iter().map(|advice| patch_lines(&advice.patch, width).len());
        1 + lines.max().unwrap_or(0).clamp(1, PATCH) as u16
    }

    /// Rows above the page: the headline, and a blank where there is room.
    pub fn head_rows(&self, size: (u16, u16)) -> u16 {
        self.head(size).rows() + u16::from(size.1 >= ROOMY)
    }

    /// Lines of the page that a screen of this size shows.
    pub fn list_rows(&self, size: (u16, u16)) -> usize {
        usize::from(size.1.saturating_sub(AROUND + self.head_rows(size) + self.foot_rows(size)))
    }

    /// The page on a screen of this size.
    pub fn page(&self, size: (u16, u16)) -> Page {
        let shown = self.list_rows(size) as u16;
        self.explanation().map(|explanation| Page::new(explanation, size, shown)).unwrap_or_default()
    }

    /// Whether a row shows only the beginning of its words: a long refusal.
    pub fn is_cut(&self, row: ExplainRow, size: (u16, u16)) -> bool {
        let page = self.page(size);
        row == ExplainRow::Call
            && (size.1 < TALL || page.row(row).is_some_and(|placed| placed.lines.len() > CALL_WORDS))
    }
}
