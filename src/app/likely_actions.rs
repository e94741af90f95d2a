//! The actions that the state of the session suggests: the status line shows the first one, the palette lists all
//! before the others.

use crate::app::action::{Action, ScreenKind};
use crate::app::screens::hint::Hint;
use crate::app::state::App;

impl App {
    /// Returns actions with a few words for each, the most likely first.
    pub fn likely_actions(&self) -> Vec<Hint> {
        let mut likely: Vec<Hint> = Vec::new();
        let Some(session) = self.active_session() else {
            return vec![(&[Action::Demo], "demo store"), (&[Action::Reload], "reload")];
        };
        if session.unfinished_commit.is_some() {
            likely.push((&[Action::Repair], "repair"));
        }
        if self.changes_something() {
            likely.push((&[Action::Commit], "commit…"));
        }
        if self.failed_overflow().is_some() {
            likely.push((&[Action::Show(ScreenKind::Explain)], "why"));
        }
        if self.tuning.has_changes() {
            likely.push((&[Action::CopyPatch], "copy patch"));
        }
        if self.failed_overflow().is_some() {
            likely.push((&[Action::NextTarget], "failed call"));
        } else {
            likely.push((&[Action::Show(ScreenKind::Breakdown)], "what fills it"));
        }
        if !self.tuning.preview {
            likely.push((&[Action::TogglePrune], "preview"));
        }
        likely.push((&[Action::Show(ScreenKind::Timeline)], "timeline"));
        likely.push((&[Action::Show(ScreenKind::Compare)], "compare"));
        likely
    }

    /// Whether the plan on the screen changes a message.
    pub fn changes_something(&self) -> bool {
        self.preview.plan.as_ref().is_some_and(|plan| plan.fates().iter().any(|fate| fate.fate.is_change()))
    }
}
