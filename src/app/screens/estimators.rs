//! The estimators panel. Estimates read every message, so they start when the panel opens or the session grows, and
//! stop when it closes.

mod screen;

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::app::state::{App, Overlay};
use crate::report::estimators::Estimates;
use crate::units::Bytes;
pub use screen::{EstimatesState, EstimatorsScreen, header_rows};

impl App {
    /// The open panel, perhaps below another screen.
    pub fn estimators(&self) -> Option<&EstimatorsScreen> {
        self.views.find(|view| match view {
            Overlay::Estimators(screen) => Some(screen),
            _ => None,
        })
    }

    fn estimators_mut(&mut self) -> Option<&mut EstimatorsScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Estimators(screen) => Some(screen),
            _ => None,
        })
    }

    pub(in crate::app) fn on_estimate_progress(&mut self, done: Bytes, total: Bytes) {
        if let Some(EstimatorsScreen { state: EstimatesState::Reading(known, all), .. }) =
            self.estimators_mut()
        {
            (*known, *all) = (done, total);
        }
    }

    /// Shows estimates; the cursor stays on the last call if it was there.
    pub(in crate::app) fn on_estimates(&mut self, estimates: Result<Arc<Estimates>, EffectError>) {
        let height = EstimatorsScreen::list_rows(&self.screen_context());
        let Some(view) = self.estimators_mut() else { return };
        let known = view.calls().len();
        let follows = view.scroll.cursor + 1 >= known;
        view.state = match estimates {
            Ok(estimates) => EstimatesState::Done(estimates),
            Err(error) => EstimatesState::Failed(error.to_string()),
        };
        let len = view.calls().len();
        let row = if follows { len.saturating_sub(1) } else { view.scroll.cursor };
        view.scroll.move_to(row, len, height);
    }
}
