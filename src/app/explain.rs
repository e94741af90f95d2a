//! The full-screen explanation: a page of blocks with one cursor over every selectable row.

mod block;
mod dimensions;
pub mod page;
mod rows;
mod screen;
pub mod wording;

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::{App, Overlay};
use crate::js::Value;
use crate::report::explain::Explanation;
pub use block::ExplainRow;
pub use screen::{ExplainScreen, advice_letter};

impl App {
    pub(super) fn open_explain(&mut self) -> Vec<Effect> {
        if self.active_session().is_none() {
            self.show_toast("no session is open".into(), false);
            return Vec::new();
        }
        self.views.push(Overlay::Explain(ExplainScreen::default()));
        self.request_explanation()
    }

    /// Requests the explanation if its screen is open.
    pub(super) fn request_explanation(&self) -> Vec<Effect> {
        let open = self.views.iter().any(|view| matches!(view, Overlay::Explain(_)));
        let loaded = self.active_session().filter(|_| open).map(Arc::clone);
        loaded.map(|inspection| Effect::Explain { session: inspection }).into_iter().collect()
    }

    pub(super) fn explain_mut(&mut self) -> Option<&mut ExplainScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Explain(screen) => Some(screen),
            _ => None,
        })
    }

    pub(super) fn on_explanation(&mut self, view: Result<Arc<Explanation>, String>) {
        let size = self.size;
        let Some(screen) = self.explain_mut() else { return };
        let first = screen.result.is_none();
        screen.rows = view.as_ref().map(|explanation| rows::all_rows(explanation)).unwrap_or_default();
        screen.result = Some(view);
        if first { screen.select_first(size) } else { screen.move_by(0, size) }
    }

    /// Moves to the entry of the selected row, or applies its change to the tuning pane.
    pub(super) fn open_explain_row(&mut self) -> Vec<Effect> {
        let Some(Overlay::Explain(screen)) = self.overlay() else { return Vec::new() };
        if let Some(advice) = screen.selected().and_then(|row| screen.advice(row)).cloned() {
            let settings: Vec<(&str, &Value)> =
                advice.changes.iter().map(|change| (change.key.as_str(), &change.setting_value)).collect();
            return self.apply_settings(&settings);
        }
        let Some(entry) = screen.selected().and_then(|row| screen.entry(row)) else {
            self.show_toast("no entry is behind this line".into(), false);
            return Vec::new();
        };
        self.views.clear();
        self.zoom = false;
        self.focus_pane(Pane::Transcript);
        let height = self.pane_height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.follow = false;
            pane.reveal(entry, height);
        }
        Vec::new()
    }
}
