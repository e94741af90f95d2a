//! The state of the two lists: rows, cursor and the branches to compare. It does not depend on the
//! program that holds it.

use std::sync::Arc;

use crate::app::scroll::Scroll;
use crate::ids::EntryIx;
use crate::report::compare::{BranchComparison, ComparedMessage, MessageChange};
use crate::write::commit_list::CommitRecord;

#[derive(Debug, Clone, Default)]
pub struct CommitsScreen {
    /// Commits and undos, newest first, or why reading them failed; `None` while they are being read.
    pub commits: Option<Result<Arc<Vec<CommitRecord>>, String>>,
    pub scroll: Scroll,
}

impl CommitsScreen {
    /// Empty while there is nothing to show.
    pub fn rows(&self) -> &[CommitRecord] {
        match &self.commits {
            Some(Ok(view)) => view,
            _ => &[],
        }
    }

    pub fn selected(&self) -> Option<&CommitRecord> {
        self.rows().get(self.scroll.cursor)
    }
}

#[derive(Debug, Clone, Default)]
pub struct BranchesScreen {
    /// The compared leaf, and the leaf to use instead of the active one; `None` selects the default.
    pub leaves: [Option<EntryIx>; 2],
    /// The comparison, or why it failed; `None` while it is being made.
    pub comparison: Option<Result<Arc<BranchComparison>, String>>,
    /// Whether identical messages are listed too.
    pub show_all: bool,
    pub scroll: Scroll,
}

impl BranchesScreen {
    /// The listed messages.
    pub fn rows(&self) -> Vec<ComparedMessage> {
        let Some(Ok(view)) = &self.comparison else { return Vec::new() };
        let shown = view.rows.iter().filter(|row| self.show_all || row.change != MessageChange::Identical);
        shown.copied().collect()
    }
}
