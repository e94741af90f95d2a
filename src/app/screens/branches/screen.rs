//! The state of the screen: the document of the commits, and over it the document of two branches that are compared. It does
//! not depend on the program that holds it.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::doc_page::{DocPage, PageSize};
use crate::app::screens::hint::{CLOSE, GO_TO_ENTRY, Hint, MOVE};
use crate::doc::Row;
use crate::ids::EntryIx;
use crate::report::commits::{CommitList, CommitRecord};
use crate::report::compare::BranchComparison;
use crate::session::LoadedSession;

const COPY: Hint = (&[Action::Copy], "copy");

#[derive(Debug, Clone, Default)]
pub struct BranchesScreen {
    /// Commits and undos, or why reading them failed; `None` while they are being read.
    pub commits: Option<Result<Arc<CommitList>, EffectError>>,
    pub(super) page: DocPage,
    /// The comparison over the list.
    pub comparison: Option<Comparison>,
}

/// Two branches side by side.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// The compared leaf, and the leaf to use instead of the active one; `None` selects the default.
    leaves: [Option<EntryIx>; 2],
    /// The comparison, or why it failed; `None` while it is being made.
    pub result: Option<Result<Arc<BranchComparison>, EffectError>>,
    /// Whether identical messages are listed too.
    show_all: bool,
    pub page: DocPage,
}

impl BranchesScreen {
    /// Lists the commits. With the cursor on a message of another branch than the shown one, compares that branch with the
    /// active one.
    pub(in crate::app) fn open(context: &ScreenContext) -> Self {
        let Some(session) = &context.active_session else { return Self::default() };
        let shown = context.session.as_ref().unwrap_or(session);
        let off_path = |entry: &EntryIx| {
            !shown.context.path.contains(entry) && session.index.entry(*entry).message.is_some()
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

    /// Returns the document on top, or the error of reading it; `None` until one of them is there.
    pub fn page(&self) -> Option<Result<&DocPage, &EffectError>> {
        match &self.comparison {
            Some(comparison) => Some(comparison.result.as_ref()?.as_ref().map(|_| &comparison.page)),
            None => Some(self.commits.as_ref()?.as_ref().map(|_| &self.page)),
        }
    }

    fn page_mut(&mut self) -> &mut DocPage {
        self.comparison.as_mut().map_or(&mut self.page, |comparison| &mut comparison.page)
    }

    /// The listed commits, newest first.
    pub fn rows(&self) -> Vec<&CommitRecord> {
        let list = self.commits.as_ref().and_then(|commits| commits.as_ref().ok());
        list.map(|list| list.newest_first().collect()).unwrap_or_default()
    }

    /// The commit under the cursor of the list, while it is visible.
    pub(super) fn selected(&self) -> Option<&CommitRecord> {
        self.rows().get(self.page.selected).copied().filter(|_| self.comparison.is_none())
    }

    pub(in crate::app) fn page_size(context: &ScreenContext) -> PageSize {
        PageSize::new(context.body())
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        self.page_mut().move_by(by, Self::page_size(context));
    }

    pub(in crate::app) fn hints(&self) -> Vec<Hint> {
        if self.comparison.is_some() {
            return vec![
                MOVE,
                (&[Action::Fold], "show identical"),
                GO_TO_ENTRY,
                COPY,
                (&[Action::Back], "back"),
            ];
        }
        vec![MOVE, (&[Action::Open], "compare before and after"), (&[Action::Undo], "undo"), COPY, CLOSE]
    }

    pub(in crate::app) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        match (action, &mut self.comparison) {
            (Action::Open, None) => return self.compare_selected(context),
            (Action::Open, Some(comparison)) => {
                return comparison.page.on_action(action, Self::page_size(context));
            }
            (Action::Back, comparison @ Some(_))
                if comparison.as_ref().is_some_and(Comparison::is_of_commit) =>
            {
                *comparison = None;
            }
            (Action::Fold, Some(comparison)) => {
                comparison.show_all = !comparison.show_all;
                comparison.show(Self::page_size(context));
            }
            (Action::Copy, _) => return Outcome::copy(self.page_mut().row().map(Row::text), "line"),
            _ => return Outcome::Ignored,
        }
        Outcome::Done
    }

    /// Selects the row of a click; a click on the selected one opens it.
    pub(in crate::app) fn on_click(&mut self, row: u16, context: &ScreenContext) -> Outcome {
        let line = usize::from(row).checked_sub(usize::from(context.body().y) + 1);
        let page = self.page_mut();
        if line.is_some_and(|line| page.select_line(line, Self::page_size(context))) {
            return self.on_action(Action::Open, context);
        }
        Outcome::Done
    }

    /// Compares the branches before and after the selected commit; without commits, the two newest branches.
    fn compare_selected(&mut self, context: &ScreenContext) -> Outcome {
        let Some(session) = context.active_session.as_ref().filter(|_| self.commits.is_some()) else {
            return Outcome::Done;
        };
        let leaves = self.selected().map(|record| {
            let before = session.tree.find_by_text(&session.index, &record.from_leaf);
            [before, Some(record.entry)]
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

    /// Shows the comparison with the cursor on the same message, at first on the first one.
    pub(super) fn show(&mut self, size: PageSize) {
        let Some(Ok(view)) = &self.result else { return };
        let entry = self.page.row().and_then(|row| row.entry);
        self.page.doc = view.doc(self.show_all);
        let row_of = |is_wanted: &dyn Fn(EntryIx) -> bool| {
            self.page.doc.rows().position(|row| row.entry.is_some_and(is_wanted))
        };
        let at = row_of(&|own| Some(own) == entry).or_else(|| row_of(&|_| true));
        self.page.selected = at.unwrap_or(0);
        self.page.move_by(0, size);
    }
}
