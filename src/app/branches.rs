//! Two full-screen lists: the commits of the session, and the messages of two branches compared. Every row leads to
//! its entry.

mod screens;

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::{Effect, PendingWrite};
use crate::app::state::{App, Overlay};
use crate::commit::UndoTarget;
use crate::ids::EntryIx;
use crate::report::compare::BranchComparison;
use crate::write::commit_list::{CommitRecord, CommitStatus};
pub use screens::{BranchesScreen, COMMITS_HEADER_ROWS, COMPARE_HEADER_ROWS, CommitsScreen};

impl App {
    pub(super) fn open_commits(&mut self) -> Vec<Effect> {
        if self.active_session().is_none() {
            self.show_toast("no session is open".into(), false);
            return Vec::new();
        }
        self.views.push(Overlay::Commits(CommitsScreen::default()));
        self.request_branches()
    }

    /// Compares two branches. From the list of commits: the branches before and after the selected commit. From the
    /// transcript: the branch of the selected entry, if it is not the active one, and the active branch.
    pub(super) fn open_branches(&mut self) -> Vec<Effect> {
        let Some(session) = self.active_session() else {
            self.show_toast("no session is open".into(), false);
            return Vec::new();
        };
        let find = |name: &str| session.tree.find_by_text(&session.index, name);
        let requested = if let Some(Overlay::Commits(screen)) = self.overlay() {
            let pair = |committed: &CommitRecord| {
                [find(&committed.receipt.from_leaf), Some(committed.receipt.entry)]
            };
            screen.selected().map(pair).unwrap_or_default()
        } else {
            let off_path = |entry: &EntryIx| !session.context.path.contains(entry);
            [self.selected_entry().filter(off_path), None]
        };
        self.views.push(Overlay::Branches(BranchesScreen { leaves: requested, ..BranchesScreen::default() }));
        self.request_branches()
    }

    /// Requests the data of the open lists; called again when the session was read again.
    pub(super) fn request_branches(&self) -> Vec<Effect> {
        let Some(loaded) = self.active_session().map(Arc::clone) else { return Vec::new() };
        let request = |view: &Overlay| match view {
            Overlay::Commits(_) => Some(Effect::ReadCommits { session: Arc::clone(&loaded) }),
            Overlay::Branches(screen) => {
                Some(Effect::CompareBranches { session: Arc::clone(&loaded), leaves: screen.leaves })
            }
            _ => None,
        };
        self.views.iter().filter_map(request).collect()
    }

    pub(super) fn on_commits(&mut self, commits: Result<Arc<Vec<CommitRecord>>, String>) {
        let rows = self.size.1;
        let list = self.views.find_mut(|view| match view {
            Overlay::Commits(screen) => Some(screen),
            _ => None,
        });
        if let Some(screen) = list {
            screen.commits = Some(commits);
            screen.move_by(0, rows);
        }
    }

    pub(super) fn on_branches_compared(&mut self, comparison: Result<Arc<BranchComparison>, String>) {
        let rows = self.size.1;
        let list = self.views.find_mut(|view| match view {
            Overlay::Branches(screen) => Some(screen),
            _ => None,
        });
        if let Some(screen) = list {
            screen.comparison = Some(comparison);
            screen.move_by(0, rows);
        }
    }

    /// Rows of the list on top.
    pub(super) fn branch_list_rows(&self) -> Option<usize> {
        match self.overlay() {
            Some(Overlay::Commits(_)) => Some(CommitsScreen::list_rows(self.size.1)),
            Some(Overlay::Branches(_)) => Some(BranchesScreen::list_rows(self.size.1)),
            _ => None,
        }
    }

    /// Moves the cursor of the list on top; returns whether there is one.
    pub(super) fn move_branches_cursor(&mut self, by: isize) -> bool {
        let rows = self.size.1;
        match self.views.top_mut() {
            Some(Overlay::Commits(screen)) => screen.move_by(by, rows),
            Some(Overlay::Branches(screen)) => screen.move_by(by, rows),
            _ => return false,
        }
        true
    }

    pub(super) fn toggle_identical(&mut self) {
        if let Some(Overlay::Branches(screen)) = self.views.top_mut() {
            screen.show_all = !screen.show_all;
        }
        self.move_branches_cursor(0);
    }

    /// Moves to the entry under the cursor; for a message on both branches, to the entry of the second.
    pub(super) fn go_to_branch_entry(&mut self) {
        let entry = match self.overlay() {
            Some(Overlay::Commits(screen)) => screen.selected().map(|committed| committed.receipt.entry),
            Some(Overlay::Branches(screen)) => {
                let row = screen.rows().get(screen.scroll.cursor).copied();
                row.and_then(|row| row.entries[1].or(row.entries[0]))
            }
            _ => None,
        };
        match entry {
            Some(entry) => self.go_to_entry(entry),
            None => drop(self.views.pop()),
        }
    }

    /// Returns the commit to undo: the one under the cursor of the list, otherwise the last one. `None` with a toast
    /// when it is not in force.
    pub(super) fn undo_target(&mut self) -> Option<UndoTarget> {
        let Some(Overlay::Commits(screen)) = self.overlay() else { return Some(UndoTarget::LastCommit) };
        let committed = screen.selected()?;
        if committed.status == CommitStatus::InForce {
            return Some(UndoTarget::Entry(committed.receipt.id.clone()));
        }
        let words =
            format!("nothing to take back: {} is {}", committed.receipt.id, committed.status.as_str());
        self.show_toast(words, false);
        None
    }

    /// Settles the interrupted commit of the open session.
    pub(super) fn repair(&mut self) -> Vec<Effect> {
        let Some(session) = self.active_session() else { return Vec::new() };
        if session.unfinished_commit.is_none() {
            self.show_toast("no commit to this session was broken off".into(), false);
            return Vec::new();
        }
        let path = session.source.path().to_path_buf();
        self.views.clear();
        vec![Effect::RepairCommit { path }]
    }

    /// Shows the outcome and reads the session again.
    pub(super) fn on_repaired(&mut self, reported: Result<String, String>) -> Vec<Effect> {
        let failed = reported.is_err();
        self.show_toast(reported.unwrap_or_else(|error| error), failed);
        self.request_refresh(|_| true, |_| true)
    }

    /// Warns that a commit to the session was interrupted.
    pub(super) fn notify_unfinished(&mut self) {
        let Some(found) = self.active_session().and_then(|session| session.unfinished_commit.as_ref()) else {
            return;
        };
        let key = self.options.keymap.keys_for(crate::app::keymap::KeyContext::Global, Action::Repair);
        let key = key.first().cloned().unwrap_or_default();
        let words = format!("{}; {key} settles it, reading changes nothing", found.description());
        self.show_toast(words, true);
    }

    pub(super) fn open_undo_dialog(&mut self, target: UndoTarget) -> Vec<Effect> {
        let Some(inspection) = self.active_session().cloned() else { return Vec::new() };
        self.open_write_dialog(PendingWrite::Undo { session: inspection, target })
    }
}
