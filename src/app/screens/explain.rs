//! The full-screen explanation: a page of blocks with one cursor over every selectable row.

mod folded;
pub mod page;
mod screen;
pub mod wording;

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::app::state::{App, Overlay};
use crate::doc::Doc;
use crate::report::explain::Explanation;
use crate::units::Bytes;
pub use folded::FoldedReport;
pub use screen::{ExplainBlock, ExplainRow, ExplainScreen};

impl App {
    /// The explanation, perhaps below another screen.
    pub fn explain_screen(&self) -> Option<&ExplainScreen> {
        self.views.find(|view| match view {
            Overlay::Explain(screen) => Some(screen),
            _ => None,
        })
    }

    /// Changes the open explanation, and lists its rows again.
    fn change_explanation(&mut self, change: impl FnOnce(&mut ExplainScreen)) {
        let size = self.size;
        let screen = self.views.find_mut(|view| match view {
            Overlay::Explain(screen) => Some(screen),
            _ => None,
        });
        let Some(screen) = screen else { return };
        let selected = screen.selected();
        change(screen);
        screen.list_rows(selected, size);
    }

    pub(in crate::app) fn on_explanation(&mut self, view: Result<Arc<Explanation>, EffectError>) {
        let session = self.displayed_session().cloned();
        self.change_explanation(|screen| screen.set_result(view, session.as_deref()));
    }

    pub(in crate::app) fn on_folded_report(
        &mut self,
        report: FoldedReport,
        answer: Result<Arc<Doc>, EffectError>,
    ) {
        self.change_explanation(|screen| screen.folded_mut(report).set_answer(answer));
    }

    pub(in crate::app) fn on_estimate_progress(&mut self, done: Bytes, total: Bytes) {
        self.change_explanation(|screen| {
            if screen.estimators.is_awaited() {
                screen.estimators.set_progress(done, total);
            }
        });
    }

    /// Whether the block of the estimators is open, so that its messages are to be read.
    pub(in crate::app) fn shows_estimates(&self) -> bool {
        self.explain_screen().is_some_and(|screen| screen.estimators.is_open)
    }
}
