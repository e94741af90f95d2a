//! The state of the recovery screen: its rows, the cursor, and the height of the list.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect_error::EffectError;
use crate::app::screens::context::Outcome;
use crate::app::screens::hint::{CLOSE, GO_TO_ENTRY, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::report::recovery::{RecoveryRow, RecoveryView};

/// Rows above the list: title, summary, settings, column names.
pub const HEADER_ROWS: u16 = 4;
/// Rows below the list: a hairline and the sentences about the selected row.
pub const FOOTER_ROWS: u16 = 5;
/// Header and status line of the program.
const CHROME_ROWS: u16 = 2;

/// Rows of the list on a screen of this height.
pub fn list_rows(height: u16) -> usize {
    usize::from(height.saturating_sub(CHROME_ROWS + HEADER_ROWS + FOOTER_ROWS))
}

#[derive(Debug, Clone, Default)]
pub struct RecoveryScreen {
    /// The recovery, or why reading it failed; `None` while it is being read.
    pub result: Option<Result<Arc<RecoveryView>, EffectError>>,
    pub scroll: Scroll,
}

impl RecoveryScreen {
    /// Empty while there is nothing to show.
    pub fn rows(&self) -> &[RecoveryRow] {
        match &self.result {
            Some(Ok(view)) => &view.rows,
            _ => &[],
        }
    }

    pub fn selected(&self) -> Option<&RecoveryRow> {
        self.rows().get(self.scroll.cursor)
    }

    /// Moves the cursor on a screen of `height` rows.
    pub(in crate::app) fn move_by(&mut self, by: isize, height: u16) {
        let len = self.rows().len();
        self.scroll.move_by(by, len, list_rows(height));
    }

    pub(in crate::app) fn hints() -> Vec<Hint> {
        vec![MOVE, GO_TO_ENTRY, CLOSE]
    }

    pub(in crate::app) fn on_action(&self, action: Action) -> Outcome {
        match action {
            Action::Open => self
                .selected()
                .and_then(|row| row.entry)
                .map_or(Outcome::Say("no entry for this row"), Outcome::GoTo),
            _ => Outcome::Ignored,
        }
    }
}
