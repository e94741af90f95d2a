//! The help window: every key, scrolled.

use crate::app::action::Action;
use crate::app::screens::hint::{CLOSE, Hint};

/// More rows than the help has; drawing stops at its end.
const MAX_ROWS: usize = 200;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HelpScreen {
    /// First visible row.
    pub top: usize,
}

impl HelpScreen {
    pub(super) fn scroll_by(&mut self, by: isize) {
        self.top = self.top.saturating_add_signed(by).min(MAX_ROWS);
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![(&[Action::Down, Action::Up], "scroll"), CLOSE]
    }
}
