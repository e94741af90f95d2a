//! Inserts the marker row of a planned compaction into the rows of the transcript.

use crate::app::compaction_marker::CompactionMarker;
use crate::app::transcript::TranscriptPane;
use crate::context::rows::{Rail, RowKind, TranscriptRow};

impl TranscriptPane {
    /// Inserts or removes the marker above the first kept row; the cursor keeps its row and its line of the screen.
    pub(super) fn place_compaction_marker(&mut self, cut: Option<CompactionMarker>, height: usize) {
        self.compaction_marker = cut;
        let old = self.rows.iter().position(|row| row.kind == RowKind::Cut);
        if let Some(at) = old {
            self.rows.remove(at);
            self.shift_cursor(at, -1, height);
        }
        let Some(cut) = cut else { return };
        let kept = |row: &TranscriptRow| {
            row.depth == 0 && row.message.is_some_and(|first| first >= cut.first_kept_message)
        };
        let at = self.rows.iter().position(kept).unwrap_or(self.rows.len());
        let (kind, rail) = (RowKind::Cut, Rail::None);
        self.rows.insert(
            at,
            TranscriptRow { entry: cut.first_kept_entry, kind, depth: 0, rail, message: None, messages: 0 },
        );
        self.shift_cursor(at, 1, height);
    }

    /// Adjusts the cursor after a row above it was inserted or removed.
    fn shift_cursor(&mut self, at: usize, by: isize, height: usize) {
        let behind = if by > 0 { self.scroll.cursor >= at } else { self.scroll.cursor > at };
        if behind {
            self.scroll.cursor = self.scroll.cursor.saturating_add_signed(by);
            self.scroll.top = self.scroll.top.saturating_add_signed(by);
        }
        self.scroll.move_to(self.scroll.cursor, self.rows.len(), height);
    }
}
