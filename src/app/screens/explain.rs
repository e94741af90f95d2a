//! The full-screen explanation: a page of blocks with one cursor over every selectable row.

mod block;
mod dimensions;
pub mod page;
mod rows;
mod screen;
pub mod wording;

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::app::state::{App, Overlay};
use crate::report::explain::Explanation;
pub use block::ExplainRow;
pub use screen::{ExplainScreen, advice_letter};

impl App {
    fn explain_mut(&mut self) -> Option<&mut ExplainScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Explain(screen) => Some(screen),
            _ => None,
        })
    }

    pub(in crate::app) fn on_explanation(&mut self, view: Result<Arc<Explanation>, EffectError>) {
        let size = self.size;
        let Some(screen) = self.explain_mut() else { return };
        screen.rows = view.as_ref().map(|explanation| rows::all_rows(explanation)).unwrap_or_default();
        screen.result = Some(view);
        screen.move_by(0, size);
    }
}
