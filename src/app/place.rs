//! A place that a person can return to: a session, a row of its transcript, and the screens over it.

use crate::app::layout::Pane;
use crate::app::screens::Overlay;
use crate::app::screens::timeline::TimelineScreen;
use crate::app::scroll::Scroll;
use crate::app::target::Target;
use crate::app::transcript::TranscriptPane;
use crate::app::view_stack::ViewStack;
use crate::context::rows::{Filter, Folds, RowKind, TranscriptRow};
use crate::ids::{EntryIx, Epoch, SessionKey};

#[derive(Debug, Clone)]
pub(super) struct JumpTarget {
    pub(super) session: SessionKey,
    /// The reading of the session that the screens show.
    pub(super) epoch: Epoch,
    pub(super) row: Option<JumpRow>,
    pub(super) folds: Folds,
    pub(super) filter: Filter,
    pub(super) target: Target,
    pub(super) focus: Pane,
    pub(super) zoom: bool,
    pub(super) views: ViewStack<Overlay>,
    pub(super) timeline: TimelineScreen,
    /// The words of the search over all sessions, and the hit under its cursor.
    pub(super) search: (String, Scroll),
}

/// A place of a session that is still loading.
#[derive(Debug, Clone)]
pub(super) struct PendingJump {
    pub(super) place: JumpTarget,
    pub(super) is_forward: bool,
}

/// The row under the cursor. A file that was written again may have the same entry elsewhere, so its id counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JumpRow {
    entry: EntryIx,
    id: String,
    is_branch: bool,
    /// Rows between the top of the pane and the cursor.
    line: usize,
}

impl JumpTarget {
    /// The topmost screen that covers the main one.
    pub(super) fn screen(&self) -> Option<&Overlay> {
        self.views.visible(Overlay::is_dialog).0
    }

    /// Whether a person would see no difference. Of most screens only the kind is known, and they count as different.
    pub(super) fn looks_like(&self, other: &Self) -> bool {
        let same_row = self.row.as_ref().map(|row| &row.id) == other.row.as_ref().map(|row| &row.id);
        same_row
            && self.has_same_screens(other)
            && (&self.session, self.target, self.focus, self.zoom)
                == (&other.session, other.target, other.focus, other.zoom)
    }

    fn has_same_screens(&self, other: &Self) -> bool {
        let kinds = |place: &Self| place.views.iter().map(Overlay::kind).collect::<Vec<_>>();
        let same_top = match (self.views.top(), other.views.top()) {
            (None, None) => true,
            (Some(Overlay::Explain(one)), Some(Overlay::Explain(another))) => one.scroll == another.scroll,
            (Some(Overlay::Timeline), Some(Overlay::Timeline)) => {
                self.timeline.cursor == other.timeline.cursor
            }
            (Some(Overlay::Search), Some(Overlay::Search)) => self.search == other.search,
            _ => false,
        };
        same_top && kinds(self) == kinds(other)
    }

    /// Whether the transcript still contains the row.
    pub(super) fn is_in(&self, pane: &TranscriptPane) -> bool {
        self.row.as_ref().is_none_or(|row| row.find(pane).is_some())
    }
}

impl JumpRow {
    pub(super) fn of(pane: &TranscriptPane) -> Option<Self> {
        let row = pane.selected()?;
        Some(Self {
            entry: row.entry,
            id: pane.session.index.display_id(row.entry),
            is_branch: is_branch(row),
            line: pane.scroll.cursor.saturating_sub(pane.scroll.top),
        })
    }

    pub(super) fn find(&self, pane: &TranscriptPane) -> Option<EntryIx> {
        let index = &pane.session.index;
        let same = |entry: EntryIx| index.display_id(entry) == self.id;
        let known = Some(self.entry).filter(|at| at.index() < index.entries.len() && same(*at));
        known.or_else(|| pane.session.tree.find_by_text(index, &self.id))
    }

    /// Moves the cursor to the row, on the line of the screen where it was.
    pub(super) fn restore(&self, pane: &mut TranscriptPane, height: usize) {
        let Some(entry) = self.find(pane) else { return };
        let same = |row: &TranscriptRow| row.entry == entry && is_branch(row) == self.is_branch;
        if let Some(at) = pane.rows.iter().position(same) {
            pane.scroll.top = at.saturating_sub(self.line);
            pane.scroll.move_to(at, pane.rows.len(), height);
            pane.follow = at + 1 == pane.rows.len();
        } else {
            pane.reveal(entry, height);
        }
    }
}

fn is_branch(row: &TranscriptRow) -> bool {
    matches!(row.kind, RowKind::Branch { .. } | RowKind::Cut)
}
