//! The state of the estimators panel: the estimates or their progress, and the cursor.

use std::sync::Arc;

use crate::app::scroll::Scroll;
use crate::report::estimators::{Estimates, MeasuredCall};

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
    Reading(u64, u64),
    Done(Arc<Estimates>),
    /// Why the estimates failed, and the remedy.
    Failed(String),
}

impl Default for EstimatesState {
    fn default() -> Self {
        Self::Reading(0, 0)
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
}
