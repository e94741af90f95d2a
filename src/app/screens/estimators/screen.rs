//! The state of the estimators panel: the estimates or their progress, and the cursor.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::format::format_signed_percent;
use crate::report::estimators::{Estimates, Estimator, MeasuredCall};
use crate::units::Bytes;

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

#[derive(Debug, Clone, Default)]
pub struct EstimatorsScreen {
    /// Cursor in the table of calls.
    pub scroll: Scroll,
    pub state: EstimatesState,
}

/// Progress of the panel.
#[derive(Debug, Clone)]
pub enum EstimatesState {
    /// Messages are being read: bytes read, and bytes in total (0 while unknown).
    Reading(Bytes, Bytes),
    Done(Arc<Estimates>),
    /// The reason that the estimates failed, and the remedy.
    Failed(String),
}

impl Default for EstimatesState {
    fn default() -> Self {
        Self::Reading(Bytes::ZERO, Bytes::ZERO)
    }
}

impl EstimatorsScreen {
    /// The calls, once known.
    pub fn calls(&self) -> &[MeasuredCall] {
        match &self.state {
            EstimatesState::Done(estimates) => &estimates.calls,
            _ => &[],
        }
    }

    pub fn selected(&self) -> Option<&MeasuredCall> {
        self.calls().get(self.scroll.cursor)
    }

    /// Rows of the table.
    pub(in crate::app) fn list_rows(context: &ScreenContext) -> usize {
        let body = context.body_rows();
        usize::from(body.saturating_sub(header_rows(body)))
    }

    pub(in crate::app) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        let len = self.calls().len();
        match by {
            0 => self.scroll.keep_visible(len, Self::list_rows(context)),
            // `Scroll` clamps the jumps to the first and the last call.
            _ => self.scroll.move_by(by, len, Self::list_rows(context)),
        }
    }

    pub(in crate::app) fn hints() -> Vec<Hint> {
        vec![MOVE, (&[Action::Open], "go to the entry"), (&[Action::Copy], "copy"), CLOSE]
    }

    pub(in crate::app) fn on_action(&self, action: Action, context: &ScreenContext) -> Outcome {
        match action {
            Action::Open => Outcome::go_to(self.selected().map(|call| call.entry)),
            Action::Copy => Outcome::copy(self.call_text(context), "call"),
            _ => Outcome::Ignored,
        }
    }

    /// The selected call as one line of text.
    fn call_text(&self, context: &ScreenContext) -> Option<String> {
        let call = self.selected()?;
        let name = context.session.as_ref()?.index.display_id(call.entry);
        let numbers = Estimator::ALL.into_iter().filter_map(|estimator| {
            let (number, error) = (call.estimates.get(estimator)?, call.error(estimator)?);
            Some(format!("{} ~{number} ({})", estimator.name(), format_signed_percent(error)))
        });
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        Some(format!("{name}: counted {}; {numbers}", call.measured))
    }
}
