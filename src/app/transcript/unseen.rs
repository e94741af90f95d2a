//! Entries that arrived below the visible rows while a person reads further up.

use super::TranscriptPane;
use crate::context::rows::RowKind;

impl TranscriptPane {
    /// Returns the number of rows below the screen that arrived since the end was last visible.
    pub fn unseen_rows(&self, height: usize) -> usize {
        let Some(from) = self.unseen_from else { return 0 };
        let below = self.rows.iter().skip(self.scroll.top + height.max(1));
        below.filter(|row| row.entry >= from && row.kind != RowKind::Cut).count()
    }

    /// Forgets the arrived entries once the last row is visible.
    pub(in crate::app) fn clear_seen(&mut self, height: usize) {
        if self.unseen_rows(height) == 0 {
            self.unseen_from = None;
        }
    }
}
