//! The state of the screen: the commits, the two branches that are compared, and a cursor in each. It does not depend on
//! the program that holds it.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::hint::{CLOSE, GO_TO_ENTRY, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::ids::EntryIx;
use crate::report::compare::{BranchComparison, ComparedBranch, ComparedMessage, MessageChange};
use crate::session::LoadedSession;
use crate::write::commit_list::CommitRecord;

/// Rows above the list of commits: title, a blank, column names.
pub const COMMITS_HEADER_ROWS: u16 = 3;
/// Rows above the compared messages: title, names, one row per fact, a blank, the changes, column names.
pub const COMPARE_HEADER_ROWS: u16 = 5 + ComparedBranch::FACTS.len() as u16;
/// Header and status line of the program.
const CHROME_ROWS: u16 = 2;

fn rows_below(header: u16, height: u16) -> usize {
    usize::from(height.saturating_sub(CHROME_ROWS + header)).max(1)
}

#[derive(Debug, Clone, Default)]
pub struct BranchesScreen {
    /// Commits and undos, newest first, or why reading them failed; `None` while they are being read.
    pub commits: Option<Result<Arc<Vec<CommitRecord>>, EffectError>>,
    pub scroll: Scroll,
    /// The comparison over the list.
    pub comparison: Option<Comparison>,
}

/// Two branches side by side.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// The compared leaf, and the leaf to use instead of the active one; `None` selects the default.
    pub leaves: [Option<EntryIx>; 2],
    /// The comparison, or why it failed; `None` while it is being made.
    pub result: Option<Result<Arc<BranchComparison>, EffectError>>,
    /// Whether identical messages are listed too.
    pub show_all: bool,
    pub scroll: Scroll,
}

impl BranchesScreen {
    /// Lists the commits. With the cursor on a message of another branch, compares that branch with the active one.
    pub(in crate::app) fn open(context: &ScreenContext) -> Self {
        let Some(session) = &context.active_session else { return Self::default() };
        let off_path = |entry: &EntryIx| {
            !session.context.path.contains(entry) && session.index.entry(*entry).message.is_some()
        };
        let comparison =
            context.selected_entry.filter(off_path).map(|entry| Comparison::of([Some(entry), None]));
        Self { comparison, ..Self::default() }
    }

    pub(in crate::app) fn is_waiting(&self) -> bool {
        self.commits.is_none()
            || self.comparison.as_ref().is_some_and(|comparison| comparison.result.is_none())
    }

    pub(in crate::app) fn requests(&self, session: &Arc<LoadedSession>) -> Vec<Effect> {
        let list = Effect::ReadCommits { session: Arc::clone(session) };
        let compare = self.comparison.as_ref().map(|comparison| Effect::CompareBranches {
            session: Arc::clone(session),
            leaves: comparison.leaves,
        });
        std::iter::once(list).chain(compare).collect()
    }

    pub(in crate::app) fn on_compared(
        &mut self,
        result: Result<Arc<BranchComparison>, EffectError>,
        height: u16,
    ) {
        if let Some(comparison) = &mut self.comparison {
            comparison.result = Some(result);
            self.move_by(0, height);
        }
    }

    /// Empty while there is nothing to show.
    pub fn rows(&self) -> &[CommitRecord] {
        match &self.commits {
            Some(Ok(view)) => view,
            _ => &[],
        }
    }

    /// The commit under the cursor of the list, while it is visible.
    pub fn selected(&self) -> Option<&CommitRecord> {
        self.rows().get(self.scroll.cursor).filter(|_| self.comparison.is_none())
    }

    /// Rows of the list on a screen of this height.
    pub(in crate::app) fn list_rows(&self, height: u16) -> usize {
        rows_below(if self.comparison.is_some() { COMPARE_HEADER_ROWS } else { COMMITS_HEADER_ROWS }, height)
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, height: u16) {
        let (page, commits) = (self.list_rows(height), self.rows().len());
        match &mut self.comparison {
            Some(comparison) => comparison.scroll.move_by(by, comparison.rows().len(), page),
            None => self.scroll.move_by(by, commits, page),
        }
    }

    pub(in crate::app) fn hints(&self) -> Vec<Hint> {
        if self.comparison.is_some() {
            return vec![MOVE, (&[Action::Fold], "show identical"), GO_TO_ENTRY, (&[Action::Back], "back")];
        }
        vec![MOVE, (&[Action::Open], "compare before and after"), (&[Action::Undo], "undo"), CLOSE]
    }

    pub(in crate::app) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        match (action, &mut self.comparison) {
            (Action::Open, None) => return self.compare_selected(context),
            (Action::Open, Some(comparison)) => return comparison.go_to_entry(),
            (Action::Back, comparison @ Some(_))
                if comparison.as_ref().is_some_and(Comparison::is_of_commit) =>
            {
                *comparison = None;
            }
            (Action::Fold, Some(comparison)) => {
                comparison.show_all = !comparison.show_all;
                self.move_by(0, context.size.1);
            }
            _ => return Outcome::Ignored,
        }
        Outcome::Done
    }

    /// Selects the row of a click; a click on the selected one opens it.
    pub(in crate::app) fn on_click(&mut self, row: u16, context: &ScreenContext) -> Outcome {
        let head = if self.comparison.is_some() { COMPARE_HEADER_ROWS } else { COMMITS_HEADER_ROWS };
        let Some(line) = row.checked_sub(context.body().y + head) else { return Outcome::Done };
        let commits = self.rows().len();
        let (scroll, count) = match &mut self.comparison {
            Some(comparison) => {
                let count = comparison.rows().len();
                (&mut comparison.scroll, count)
            }
            None => (&mut self.scroll, commits),
        };
        let at = scroll.top + usize::from(line);
        if at < count && std::mem::replace(&mut scroll.cursor, at) == at {
            return self.on_action(Action::Open, context);
        }
        Outcome::Done
    }

    /// Compares the branches before and after the selected commit; without commits, the two newest branches.
    fn compare_selected(&mut self, context: &ScreenContext) -> Outcome {
        let Some(session) = context.active_session.as_ref().filter(|_| self.commits.is_some()) else {
            return Outcome::Done;
        };
        let leaves = self.selected().map(|committed| {
            let before = session.tree.find_by_text(&session.index, &committed.receipt.from_leaf);
            [before, Some(committed.receipt.entry)]
        });
        self.comparison = Some(Comparison::of(leaves.unwrap_or_default()));
        Outcome::Request(self.requests(session))
    }
}

impl Comparison {
    fn of(leaves: [Option<EntryIx>; 2]) -> Self {
        Self { leaves, ..Self::default() }
    }

    /// Whether it was opened from the list, to which going back leads.
    fn is_of_commit(&self) -> bool {
        self.leaves[0].is_none() || self.leaves[1].is_some()
    }

    /// Moves to the entry of the selected message; one on both branches leads to the second.
    fn go_to_entry(&self) -> Outcome {
        let row = self.rows().get(self.scroll.cursor).copied();
        Outcome::go_to(row.and_then(|row| row.entries[1].or(row.entries[0])))
    }

    /// The listed messages.
    pub fn rows(&self) -> Vec<ComparedMessage> {
        let Some(Ok(view)) = &self.result else { return Vec::new() };
        let shown = view.rows.iter().filter(|row| self.show_all || row.change != MessageChange::Identical);
        shown.copied().collect()
    }
}
