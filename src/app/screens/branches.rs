//! The branches of a session: its commits, and the messages of two branches compared.

mod screen;

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::{Effect, PendingWrite};
use crate::app::effect_error::EffectError;
use crate::app::state::{App, Overlay};
use crate::commit::UndoTarget;
use crate::doc::Doc;
use crate::report::commits::{CommitList, CommitStatus};
use crate::report::compare::BranchComparison;
pub use screen::{BranchesScreen, Comparison};

impl App {
    fn branches_mut(&mut self) -> Option<&mut BranchesScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Branches(screen) => Some(screen),
            _ => None,
        })
    }

    pub(in crate::app) fn on_commits(&mut self, commits: Result<Arc<CommitList>, EffectError>) {
        let size = BranchesScreen::page_size(&self.screen_context());
        if let Some(screen) = self.branches_mut() {
            let doc = commits.as_ref().map_or_else(|_| Doc::default(), |list| list.doc());
            screen.page.set_doc(doc, size);
            screen.commits = Some(commits);
        }
    }

    pub(in crate::app) fn on_branches_compared(
        &mut self,
        result: Result<Arc<BranchComparison>, EffectError>,
    ) {
        let size = BranchesScreen::page_size(&self.screen_context());
        if let Some(comparison) = self.branches_mut().and_then(|screen| screen.comparison.as_mut()) {
            comparison.result = Some(result);
            comparison.show(size);
        }
    }

    /// Returns the commit to undo: the one under the cursor of the list, otherwise the last one. `None` with a toast
    /// when it is not in force.
    pub(in crate::app) fn undo_target(&mut self) -> Option<UndoTarget> {
        let list = match self.overlay() {
            Some(Overlay::Branches(screen)) => screen.selected(),
            _ => None,
        };
        let Some(record) = list else { return Some(UndoTarget::LastCommit) };
        if record.in_force {
            return Some(UndoTarget::Entry(record.id.clone()));
        }
        let (id, status) = (&record.id, record.status);
        let how = if status == CommitStatus::Undone { "; undo its undo, in the row above" } else { "" };
        let words = format!("nothing to undo: {id} is {}{how}", status.as_str());
        self.show_note(words);
        None
    }

    /// Settles the interrupted commit of the open session.
    pub(in crate::app) fn repair(&mut self) -> Vec<Effect> {
        let Some(session) = self.active_session() else { return Vec::new() };
        if session.unfinished_commit.is_none() {
            self.show_note("no interrupted commit in this session".into());
            return Vec::new();
        }
        let path = session.source.path().to_path_buf();
        self.views.clear();
        vec![Effect::RepairCommit { path }]
    }

    /// Shows the outcome and reads the session again.
    pub(in crate::app) fn on_repaired(&mut self, reported: Result<String, EffectError>) -> Vec<Effect> {
        let failed = reported.is_err();
        self.show_toast(reported.unwrap_or_else(|error| error.to_string()), failed);
        self.request_refresh(|_| true, |_| true)
    }

    /// Warns that a commit to the session was interrupted.
    pub(in crate::app) fn notify_unfinished(&mut self) {
        let Some(found) = self.active_session().and_then(|session| session.unfinished_commit.as_ref()) else {
            return;
        };
        let words = format!("{}; type {} to repair it", found.description(), Action::Repair.typed_name());
        self.show_alert(words);
    }

    pub(in crate::app) fn open_undo_dialog(&mut self, target: UndoTarget) -> Vec<Effect> {
        let Some(session) = self.active_session().cloned() else { return Vec::new() };
        self.open_write_dialog(PendingWrite::Undo { session, target })
    }
}
