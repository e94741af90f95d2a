//! The full-screen recovery from an overflow: a cursor over its rows, and a way from a row to its entry.

mod screen;

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::report::recovery::{RecoveryView, RowKind};
pub use screen::{FOOTER_ROWS, HEADER_ROWS, RecoveryScreen, list_rows};

impl App {
    pub(super) fn open_recovery(&mut self) -> Vec<Effect> {
        if self.active_session().is_none() {
            self.show_toast("no session is open".into(), false);
            return Vec::new();
        }
        self.views.push(Overlay::Recovery(RecoveryScreen::default()));
        self.request_recovery()
    }

    /// Requests the recovery if its screen is open.
    pub(super) fn request_recovery(&self) -> Vec<Effect> {
        let open = self.views.iter().any(|view| matches!(view, Overlay::Recovery(_)));
        let loaded = self.active_session().filter(|_| open).map(Arc::clone);
        loaded.map(|inspection| Effect::ReadRecovery { session: inspection }).into_iter().collect()
    }

    /// Shows the recovery, with the cursor on its first step.
    pub(super) fn on_recovery(&mut self, view: Result<Arc<RecoveryView>, String>) {
        let height = self.size.1;
        let open = self.views.find_mut(|view| match view {
            Overlay::Recovery(screen) => Some(screen),
            _ => None,
        });
        let Some(screen) = open else { return };
        let first = screen.result.is_none();
        screen.result = Some(view);
        let is_head = screen.rows().first().is_some_and(|row| matches!(row.kind, RowKind::Attempt(_)));
        screen.move_by(isize::from(first && is_head), height);
    }

    pub(super) fn go_to_recovery_entry(&mut self) {
        let Some(Overlay::Recovery(screen)) = self.overlay() else { return };
        let Some(entry) = screen.selected().and_then(|row| row.entry) else {
            self.show_toast("the transcript shows nothing of this".into(), false);
            return;
        };
        self.go_to_entry(entry);
    }
}
