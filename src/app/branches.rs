//! What was committed to the session, and two of its branches beside each other: lists over the whole screen, the keys in
//! them, and the way to the entry a row tells of.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::{Effect, Write};
use crate::app::scroll::Scroll;
use crate::app::state::{App, Overlay};
use crate::commit::UndoTarget;
use crate::ids::EntryIx;
use crate::inspect::commits::{Committed, Force};
use crate::inspect::compare::{Branch, Change, Comparison, Row};

/// Rows above the list of commits: title, a blank, names of columns.
pub const COMMITS_HEAD: u16 = 3;
/// Rows above the messages of a comparison: title, names, a fact each, a blank, the changes, a blank.
pub const COMPARE_HEAD: u16 = 5 + Branch::FACTS.len() as u16;
/// Header and status line of the program.
const AROUND: u16 = 2;

/// What was committed.
#[derive(Debug, Clone, Default)]
pub struct CommitsScreen {
    /// Commits and undos, newest first, or why they cannot be told; none while they are read.
    pub view: Option<Result<Arc<Vec<Committed>>, String>>,
    /// Cursor.
    pub scroll: Scroll,
}

impl CommitsScreen {
    /// The commits; none while there is nothing to show.
    pub fn rows(&self) -> &[Committed] {
        match &self.view {
            Some(Ok(view)) => view,
            _ => &[],
        }
    }

    /// The one under the cursor.
    pub fn selected(&self) -> Option<&Committed> {
        self.rows().get(self.scroll.cursor)
    }
}

/// Two branches.
#[derive(Debug, Clone, Default)]
pub struct BranchesScreen {
    /// What is compared with the active branch, and what stands for the active branch; none leaves the choice open.
    pub asked: [Option<EntryIx>; 2],
    /// The comparison, or why there is none; none while it is made.
    pub view: Option<Result<Arc<Comparison>, String>>,
    /// Every message, not only those that are not the same.
    pub all: bool,
    /// Cursor.
    pub scroll: Scroll,
}

impl BranchesScreen {
    /// The messages that are listed.
    pub fn rows(&self) -> Vec<Row> {
        let Some(Ok(view)) = &self.view else { return Vec::new() };
        let shown = view.rows.iter().filter(|row| self.all || row.change != Change::Same);
        shown.copied().collect()
    }
}

impl App {
    /// Opens the list of commits and asks for it.
    pub(super) fn open_commits(&mut self) -> Vec<Effect> {
        if self.own_session().is_none() {
            self.toast("no session is open".into(), false);
            return Vec::new();
        }
        self.overlay = Some(Overlay::Commits(CommitsScreen::default()));
        self.ask_branches()
    }

    /// Compares with the active branch: in the list of commits the branch that the commit left, with that it made; in the
    /// transcript the branch of the entry under the cursor, where that is another one.
    pub(super) fn open_branches(&mut self) -> Vec<Effect> {
        let Some(inspection) = self.own_session() else {
            self.toast("no session is open".into(), false);
            return Vec::new();
        };
        let find = |name: &str| inspection.tree.find_text(&inspection.index, name);
        let asked = if let Some(Overlay::Commits(screen)) = &self.overlay {
            let pair =
                |committed: &Committed| [find(&committed.receipt.from_leaf), Some(committed.receipt.entry)];
            screen.selected().map(pair).unwrap_or_default()
        } else {
            let off_path = |entry: &EntryIx| !inspection.context.path.contains(entry);
            [self.selected_entry().filter(off_path), None]
        };
        self.overlay = Some(Overlay::Branches(BranchesScreen { asked, ..BranchesScreen::default() }));
        self.ask_branches()
    }

    /// Asks for what is open of the two, anew when the session was read again.
    pub(super) fn ask_branches(&self) -> Vec<Effect> {
        let Some(inspection) = self.own_session().map(Arc::clone) else { return Vec::new() };
        match &self.overlay {
            Some(Overlay::Commits(_)) => vec![Effect::ReadCommits { inspection }],
            Some(Overlay::Branches(screen)) => {
                vec![Effect::CompareBranches { inspection, leaves: screen.asked }]
            }
            _ => Vec::new(),
        }
    }

    /// Takes the commits.
    pub(super) fn commits_read(&mut self, view: Result<Arc<Vec<Committed>>, String>) {
        if let Some(Overlay::Commits(screen)) = &mut self.overlay {
            screen.view = Some(view);
        }
        self.step_branches(0);
    }

    /// Takes the comparison.
    pub(super) fn branches_compared(&mut self, view: Result<Arc<Comparison>, String>) {
        if let Some(Overlay::Branches(screen)) = &mut self.overlay {
            screen.view = Some(view);
        }
        self.step_branches(0);
    }

    /// Rows of the list that is open.
    pub(super) fn branches_page(&self) -> Option<usize> {
        let head = match &self.overlay {
            Some(Overlay::Commits(_)) => COMMITS_HEAD,
            Some(Overlay::Branches(_)) => COMPARE_HEAD,
            _ => return None,
        };
        Some(usize::from(self.size.1.saturating_sub(AROUND + head)).max(1))
    }

    /// Moves the cursor of the list; answers whether one is open.
    pub(super) fn step_branches(&mut self, by: isize) -> bool {
        let Some(height) = self.branches_page() else { return false };
        match &mut self.overlay {
            Some(Overlay::Commits(screen)) => {
                let len = screen.rows().len();
                screen.scroll.step(by, len, height);
            }
            Some(Overlay::Branches(screen)) => {
                let len = screen.rows().len();
                screen.scroll.step(by, len, height);
            }
            _ => {}
        }
        true
    }

    /// Shows every message of a comparison, or only what is not the same.
    pub(super) fn toggle_same(&mut self) {
        if let Some(Overlay::Branches(screen)) = &mut self.overlay {
            screen.all = !screen.all;
        }
        self.step_branches(0);
    }

    /// Goes to the entry under the cursor: of a message on both branches to that of the second.
    pub(super) fn leave_branches(&mut self) {
        let entry = match &self.overlay {
            Some(Overlay::Commits(screen)) => screen.selected().map(|committed| committed.receipt.entry),
            Some(Overlay::Branches(screen)) => {
                let row = screen.rows().get(screen.scroll.cursor).copied();
                row.and_then(|row| row.entries[1].or(row.entries[0]))
            }
            _ => None,
        };
        match entry {
            Some(entry) => self.go_to(entry),
            None => self.overlay = None,
        }
    }

    /// What an undo takes back: the commit under the cursor of the list, else the last one. None where it is not in force.
    pub(super) fn undo_target(&mut self) -> Option<UndoTarget> {
        let Some(Overlay::Commits(screen)) = &self.overlay else { return Some(UndoTarget::LastCommit) };
        let committed = screen.selected()?;
        if committed.force == Force::InForce {
            return Some(UndoTarget::Entry(committed.receipt.id.clone()));
        }
        let words = format!("nothing to take back: {} is {}", committed.receipt.id, committed.force.word());
        self.toast(words, false);
        None
    }

    /// Settles the commit to the open session that was broken off.
    pub(super) fn repair(&mut self) -> Vec<Effect> {
        let Some(inspection) = self.own_session() else { return Vec::new() };
        if inspection.unfinished.is_none() {
            self.toast("no commit to this session was broken off".into(), false);
            return Vec::new();
        }
        let path = inspection.source.path().to_path_buf();
        self.overlay = None;
        vec![Effect::Repair { path }]
    }

    /// What became of it; the session is read again.
    pub(super) fn repaired(&mut self, told: Result<String, String>) -> Vec<Effect> {
        let failed = told.is_err();
        self.toast(told.unwrap_or_else(|error| error), failed);
        self.follow_changes(|_| true, |_| true)
    }

    /// Says that a commit to the session that was just opened was broken off.
    pub(super) fn tell_unfinished(&mut self) {
        let Some(found) = self.own_session().and_then(|inspection| inspection.unfinished.as_ref()) else {
            return;
        };
        let key = self.options.keymap.keys(crate::app::keymap::Context::Global, Action::Repair);
        let key = key.first().cloned().unwrap_or_default();
        let words = format!("{}; {key} settles it, reading changes nothing", found.sentence());
        self.toast(words, true);
    }

    /// The dialog of an undo.
    pub(super) fn ask_undo_of(&mut self, target: UndoTarget) -> Vec<Effect> {
        let Some(inspection) = self.own_session().cloned() else { return Vec::new() };
        self.ask(Write::Undo { inspection, target })
    }
}
