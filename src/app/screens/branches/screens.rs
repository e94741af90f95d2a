//! The state of the two lists: rows, cursor and the branches to compare. It does not depend on the
//! program that holds it.

use std::sync::Arc;

use crate::app::action::{Action, ScreenKind};
use crate::app::effect_error::EffectError;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::hint::{CLOSE, GO_TO_ENTRY, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::ids::EntryIx;
use crate::report::compare::{BranchComparison, ComparedBranch, ComparedMessage, MessageChange};
use crate::write::commit_list::CommitRecord;

/// Rows above the list of commits: title, a blank, column names.
pub const COMMITS_HEADER_ROWS: u16 = 3;
/// Rows above the compared messages: title, names, one row per fact, a blank, the changes, a blank.
pub const COMPARE_HEADER_ROWS: u16 = 5 + ComparedBranch::FACTS.len() as u16;
/// Header and status line of the program.
const CHROME_ROWS: u16 = 2;

fn rows_below(header: u16, height: u16) -> usize {
    usize::from(height.saturating_sub(CHROME_ROWS + header)).max(1)
}

#[derive(Debug, Clone, Default)]
pub struct CommitsScreen {
    /// Commits and undos, newest first, or why reading them failed; `None` while they are being read.
    pub commits: Option<Result<Arc<Vec<CommitRecord>>, EffectError>>,
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

    /// Rows of the list on a screen of this height.
    pub(in crate::app) fn list_rows(height: u16) -> usize {
        rows_below(COMMITS_HEADER_ROWS, height)
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, height: u16) {
        let len = self.rows().len();
        self.scroll.move_by(by, len, Self::list_rows(height));
    }

    pub(in crate::app) fn hints() -> Vec<Hint> {
        let compare = &[Action::Show(ScreenKind::Branches)];
        vec![MOVE, (&[Action::Undo], "undo"), (compare, "compare"), GO_TO_ENTRY, CLOSE]
    }

    pub(in crate::app) fn on_action(&self, action: Action) -> Outcome {
        match action {
            Action::Open => Outcome::go_to(self.selected().map(|committed| committed.receipt.entry)),
            _ => Outcome::Ignored,
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
    pub comparison: Option<Result<Arc<BranchComparison>, EffectError>>,
    /// Whether identical messages are listed too.
    pub show_all: bool,
    pub scroll: Scroll,
}

impl BranchesScreen {
    /// Compares two branches. From the list of commits: the branches before and after the selected commit. From the
    /// transcript: the branch of the selected entry, if it is not the active one, and the active branch.
    pub(in crate::app) fn open(context: &ScreenContext, commits: Option<&CommitsScreen>) -> Self {
        let Some(session) = &context.active_session else { return Self::default() };
        let leaves = if let Some(screen) = commits {
            let pair = |committed: &CommitRecord| {
                let before = session.tree.find_by_text(&session.index, &committed.receipt.from_leaf);
                [before, Some(committed.receipt.entry)]
            };
            screen.selected().map(pair).unwrap_or_default()
        } else {
            let off_path = |entry: &EntryIx| !session.context.path.contains(entry);
            [context.selected_entry.filter(off_path), None]
        };
        Self { leaves, ..Self::default() }
    }

    pub(in crate::app) fn hints() -> Vec<Hint> {
        vec![MOVE, (&[Action::Fold], "show identical"), GO_TO_ENTRY, CLOSE]
    }

    pub(in crate::app) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        match action {
            Action::Fold => {
                self.show_all = !self.show_all;
                self.move_by(0, context.size.1);
                Outcome::Done
            }
            Action::Open => {
                let row = self.rows().get(self.scroll.cursor).copied();
                // A message on both branches leads to the entry of the second.
                Outcome::go_to(row.and_then(|row| row.entries[1].or(row.entries[0])))
            }
            _ => Outcome::Ignored,
        }
    }

    /// Rows of the list on a screen of this height.
    pub(in crate::app) fn list_rows(height: u16) -> usize {
        rows_below(COMPARE_HEADER_ROWS, height)
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, height: u16) {
        let len = self.rows().len();
        self.scroll.move_by(by, len, Self::list_rows(height));
    }

    /// The listed messages.
    pub fn rows(&self) -> Vec<ComparedMessage> {
        let Some(Ok(view)) = &self.comparison else { return Vec::new() };
        let shown = view.rows.iter().filter(|row| self.show_all || row.change != MessageChange::Identical);
        shown.copied().collect()
    }
}
