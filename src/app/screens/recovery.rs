//! The full-screen recovery from an overflow: a cursor over its rows, and a way from a row to its entry.

mod screen;

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::app::state::{App, Overlay};
use crate::report::recovery::{RecoveryView, RowKind};
pub use screen::{FOOTER_ROWS, HEADER_ROWS, RecoveryScreen, list_rows};

impl App {
    /// Shows the recovery, with the cursor on its first step.
    pub(in crate::app) fn on_recovery(&mut self, view: Result<Arc<RecoveryView>, EffectError>) {
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
}
