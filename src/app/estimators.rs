//! The estimators panel. Estimates read every message, so they start when the panel opens or the session grows, and
//! stop when it closes.

mod screen;

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::ids::Epoch;
use crate::report::estimators::{Estimates, Estimator, description};
pub use screen::{EstimatesState, EstimatorsScreen};

/// Lines above the table on a tall screen: title, headline, four notes, a blank, the estimators with their header, a
/// blank, the table's header.
const ROOMY_HEADER_ROWS: u16 = 16;
/// Lines above the table on a short screen: only the note about the fit, and no blanks.
const COMPACT_HEADER_ROWS: u16 = 11;
/// Rows of the body from which the header is tall.
const ROOMY_MIN_ROWS: u16 = 26;

/// Returns the lines above the table in a body of this height.
pub fn header_rows(height: u16) -> u16 {
    if height >= ROOMY_MIN_ROWS { ROOMY_HEADER_ROWS } else { COMPACT_HEADER_ROWS }
}

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

    pub(super) fn open_estimators(&mut self) -> Vec<Effect> {
        let Some(loaded) = self.displayed_session().map(Arc::clone) else {
            self.show_toast("no session is open".into(), false);
            return Vec::new();
        };
        self.views.push(Overlay::Estimators(EstimatorsScreen::default()));
        vec![Effect::ComputeEstimates { session: loaded }]
    }

    /// Computes the estimates again after the session was read again. The old ones stay visible if the session only
    /// grew.
    pub(super) fn refresh_estimates(&mut self) -> Vec<Effect> {
        let Some(pane) = &self.transcript else { return Vec::new() };
        let (loaded, grown) = (Arc::clone(&pane.session), pane.appended_since < pane.session.epoch);
        let Some(view) = self.estimators_mut() else { return Vec::new() };
        if !grown {
            *view = EstimatorsScreen::default();
        }
        vec![Effect::ComputeEstimates { session: loaded }]
    }

    pub(super) fn on_estimate_progress(&mut self, epoch: Epoch, done: u64, total: u64) {
        if self.is_current(epoch)
            && let Some(EstimatorsScreen { state: EstimatesState::Reading(known, all), .. }) =
                self.estimators_mut()
        {
            (*known, *all) = (done, total);
        }
    }

    /// Shows estimates; those of an older epoch only if the file merely grew since.
    pub(super) fn on_estimates(&mut self, epoch: Epoch, estimates: Result<Arc<Estimates>, String>) {
        if !self.is_current(epoch) {
            return;
        }
        let height = self.estimators_rows();
        let Some(view) = self.estimators_mut() else { return };
        let known = view.calls().len();
        let follows = view.scroll.cursor + 1 >= known;
        view.state = match estimates {
            Ok(estimates) => EstimatesState::Done(estimates),
            Err(error) => EstimatesState::Failed(error),
        };
        let len = view.calls().len();
        let row = if follows { len.saturating_sub(1) } else { view.scroll.cursor };
        view.scroll.move_to(row, len, height);
    }

    /// Whether an epoch belongs to the open session, which may have grown since.
    pub(super) fn is_current(&self, epoch: Epoch) -> bool {
        self.transcript.as_ref().is_some_and(|pane| epoch >= pane.appended_since)
    }

    fn estimators_rows(&self) -> usize {
        let body = self.body_rows();
        usize::from(body.saturating_sub(header_rows(body)))
    }

    /// Rows between header and status line.
    fn body_rows(&self) -> u16 {
        let layout = self.layout();
        layout.above_status(self.size).bottom().saturating_sub(layout.header.bottom())
    }

    pub(super) fn keep_estimators_cursor_visible(&mut self) {
        let height = self.estimators_rows();
        if let Some(view) = self.estimators_mut() {
            let len = view.calls().len();
            view.scroll.keep_visible(len, height);
        }
    }

    /// Moves the cursor of the table; returns whether the panel is on top.
    pub(super) fn move_estimators_cursor(&mut self, by: isize) -> bool {
        let height = self.estimators_rows();
        let Some(Overlay::Estimators(view)) = self.views.top_mut() else { return false };
        // `Scroll` clamps the jumps to the first and the last call.
        let len = view.calls().len();
        view.scroll.move_by(by, len, height);
        true
    }

    /// Rows of a page, if the panel is on top.
    pub(super) fn estimators_page_rows(&self) -> Option<usize> {
        matches!(self.overlay(), Some(Overlay::Estimators(_))).then(|| self.estimators_rows().max(1))
    }

    /// Closes the panel and moves to the entry of the selected call.
    pub(super) fn go_to_estimated_call(&mut self) {
        let entry = self.estimators().and_then(EstimatorsScreen::selected).map(|call| call.entry);
        match entry {
            Some(entry) => self.go_to_entry(entry),
            None => drop(self.views.pop()),
        }
    }

    /// The selected call as one line of text.
    pub(super) fn call_text(&self) -> Option<String> {
        let call = self.estimators()?.selected()?;
        let name = self.displayed_session()?.index.display_id(call.entry);
        let numbers = Estimator::ALL.into_iter().filter_map(|estimator| {
            let (number, error) = (call.estimates.get(estimator)?, call.error(estimator)?);
            Some(format!("{} ~{number} ({})", estimator.name(), description::format_signed_error(error)))
        });
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        Some(format!("{name}: counted {}; {numbers}", call.measured))
    }
}
