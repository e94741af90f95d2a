//! Moves through the transcript, folds and unfolds.

use crate::app::action::Action;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::app::transcript::{TranscriptPane, fates_of};
use crate::context::rows::{RowKind, TranscriptRow};
use crate::plan::Plan;
use crate::store::entry::Role;

impl App {
    pub(super) fn dispatch_transcript(&mut self, action: Action) {
        let height = self.pane_height(Pane::Transcript);
        let plan = self.preview.plan.clone();
        let Some(pane) = &mut self.transcript else { return };
        let changed = |row: &TranscriptRow| plan.as_deref().is_some_and(|plan| is_changed_row(row, plan));
        let index = std::sync::Arc::clone(&pane.session.index);
        let is_turn = |row: &TranscriptRow| {
            row.kind != RowKind::Cut && index.entry(row.entry).role() == Some(Role::User)
        };
        let is_message =
            |row: &TranscriptRow| row.kind != RowKind::Cut && index.entry(row.entry).message.is_some();
        let to = match action {
            Action::NextMessage => pane.find_row(true, is_message),
            Action::PreviousMessage => pane.find_row(false, is_message),
            Action::Next => pane.find_row(true, is_turn),
            Action::Previous => pane.find_row(false, is_turn),
            Action::NextChange => pane.find_row(true, changed),
            Action::PreviousChange => pane.find_row(false, changed),
            other => return pane.dispatch_fold(other, height),
        };
        if let Some(row) = to {
            pane.scroll.move_to(row, pane.rows.len(), height);
            pane.follow = row + 1 == pane.rows.len();
        }
    }

    /// Whether the plan changes a message of the row under the cursor.
    pub(super) fn is_change_selected(&self) -> bool {
        let row = self.transcript.as_ref().and_then(|pane| pane.selected());
        row.zip(self.preview.plan.as_deref()).is_some_and(|(row, plan)| is_changed_row(row, plan))
    }
}

/// Whether the plan changes a message of a row.
fn is_changed_row(row: &TranscriptRow, plan: &Plan) -> bool {
    fates_of(row, plan).iter().any(|fate| fate.fate.is_change())
}

impl TranscriptPane {
    /// Returns the number of rows below the screen that arrived since the end was last visible.
    pub fn unseen_rows(&self, height: usize) -> usize {
        let Some(from) = self.unseen_from else { return 0 };
        let below = self.rows.iter().skip(self.scroll.top + height.max(1));
        below.filter(|row| row.entry >= from && row.kind != RowKind::Cut).count()
    }

    /// Forgets the arrived entries once the last row is visible.
    pub(super) fn clear_seen(&mut self, height: usize) {
        if self.unseen_rows(height) == 0 {
            self.unseen_from = None;
        }
    }

    fn dispatch_fold(&mut self, action: Action, height: usize) {
        match action {
            Action::Fold => self.toggle_fold(height),
            Action::Left => self.collapse(height),
            Action::Right => self.expand(height),
            Action::Less => self.fold_all(height),
            Action::More => self.unfold_all(height),
            Action::CycleFilter => self.filter = self.filter.cycle(1),
            Action::CycleFilterBack => self.filter = self.filter.cycle(-1),
            Action::ToggleHistory => self.folds.history = !self.folds.history,
            _ => return,
        }
        if matches!(action, Action::CycleFilter | Action::CycleFilterBack | Action::ToggleHistory) {
            self.rebuild_rows(height);
        }
    }

    fn collapse(&mut self, height: usize) {
        let inside = self.selected().is_some_and(|row| row.kind == RowKind::Entry && row.depth > 0);
        if inside {
            self.collapse_branch(height);
            return;
        }
        let open = self.selected().is_some_and(|row| match row.kind {
            RowKind::Branch { open, .. } | RowKind::Compacted { open, .. } => open,
            RowKind::Entry => row.depth == 0,
            RowKind::Turn { .. } | RowKind::Cut => false,
        });
        if open {
            self.toggle_fold(height);
        }
    }

    /// Folds the branch of the cursor, and moves the cursor to its row.
    fn collapse_branch(&mut self, height: usize) {
        let depth = self.selected().map_or(0, |row| row.depth);
        let fork = self.find_row(false, |row| {
            row.depth + 1 == depth && matches!(row.kind, RowKind::Branch { open: true, .. })
        });
        if let Some(at) = fork {
            self.scroll.move_to(at, self.rows.len(), height);
            self.toggle_fold(height);
        }
    }

    fn expand(&mut self, height: usize) {
        let closed = self.selected().is_some_and(|row| match row.kind {
            RowKind::Branch { open, .. } | RowKind::Compacted { open, .. } => !open,
            RowKind::Turn { .. } => true,
            RowKind::Entry | RowKind::Cut => false,
        });
        if closed {
            self.toggle_fold(height);
        } else {
            self.scroll.move_by(1, self.rows.len(), height);
        }
    }
}
