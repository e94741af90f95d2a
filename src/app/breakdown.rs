//! The window contents screen: foldable sections, a cursor, and a way from a line to its message.

mod screen;

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::report::breakdown::HeavyBlocks;
use crate::session::LoadedSession;
pub use screen::BreakdownScreen;

/// Rows below the list: a hairline, and two for a sentence about the selected row.
pub const FOOTER_ROWS: u16 = 3;

impl App {
    pub fn breakdown_area(&self) -> Rect {
        self.layout().below_bars(self.size)
    }

    pub fn breakdown_rows(&self) -> usize {
        usize::from(self.breakdown_area().height.saturating_sub(1 + FOOTER_ROWS))
    }

    pub(super) fn open_breakdown(&mut self) -> Vec<Effect> {
        let Some(session) = self.displayed_session().cloned() else {
            self.show_toast("no session is open".into(), false);
            return Vec::new();
        };
        let screen = BreakdownScreen::new(&session, self.plan.as_deref());
        let effects = request_blocks(&screen, session);
        self.views.push(Overlay::Breakdown(Box::new(screen)));
        effects
    }

    pub(super) fn close_breakdown_without_session(&mut self) {
        if self.transcript.is_none() {
            self.views.retain(|view| !matches!(view, Overlay::Breakdown(_)));
        }
    }

    fn breakdown_mut(&mut self) -> Option<&mut BreakdownScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Breakdown(screen) => Some(&mut **screen),
            _ => None,
        })
    }

    /// Refreshes the screen after the session was read again or another one was opened.
    pub(super) fn refresh_breakdown(&mut self) -> Vec<Effect> {
        let height = self.breakdown_rows();
        let (Some(session), plan) = (self.displayed_session().cloned(), self.plan.clone()) else {
            return Vec::new();
        };
        let Some(screen) = self.breakdown_mut() else { return Vec::new() };
        screen.refresh(&session, plan.as_deref(), height);
        request_blocks(screen, session)
    }

    pub(super) fn on_blocks(&mut self, blocks: HeavyBlocks) {
        let height = self.breakdown_rows();
        let Some(session) = self.displayed_session().cloned() else { return };
        if let Some(screen) = self.breakdown_mut() {
            screen.add_blocks(blocks, &session, height);
        }
    }

    pub(super) fn fold_breakdown(&mut self, action: Action) {
        let height = self.breakdown_rows();
        let Some(Overlay::Breakdown(screen)) = self.views.top_mut() else { return };
        match action {
            Action::FoldAll => screen.fold_all(false, height),
            Action::UnfoldAll => screen.fold_all(true, height),
            Action::Collapse => screen.fold(Some(false), height),
            Action::Expand => screen.fold(Some(true), height),
            _ => screen.fold(None, height),
        }
    }

    /// Moves to the message of the selected line; toggles the fold of any other row.
    pub(super) fn open_breakdown_row(&mut self) {
        let Some(Overlay::Breakdown(screen)) = self.overlay() else { return };
        let Some(entry) = screen.selected().and_then(|(_, line)| line?.entry) else {
            self.fold_breakdown(Action::Fold);
            return;
        };
        self.go_to_entry(entry);
    }

    /// Handles a click: selects a row; a click on the selected row opens it.
    pub(super) fn click_breakdown(&mut self, row: u16) -> Vec<Effect> {
        let (area, height) = (self.breakdown_area(), self.breakdown_rows());
        let Some(Overlay::Breakdown(screen)) = self.views.top_mut() else { return Vec::new() };
        let line = usize::from(row).checked_sub(usize::from(area.y) + 1).filter(|line| *line < height);
        let Some(at) = line.map(|line| screen.scroll.top + line).filter(|at| *at < screen.rows.len()) else {
            return Vec::new();
        };
        if at == screen.scroll.cursor {
            self.open_breakdown_row();
        } else {
            screen.scroll.move_to(at, screen.rows.len(), height);
        }
        Vec::new()
    }
}

fn request_blocks(screen: &BreakdownScreen, loaded: Arc<LoadedSession>) -> Vec<Effect> {
    let entries = screen.contents.heaviest_entries();
    if entries.is_empty() { Vec::new() } else { vec![Effect::ReadBlocks { session: loaded, entries }] }
}
