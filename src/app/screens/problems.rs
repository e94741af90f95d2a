//! The list of problems found while reading the store and the session.

use crate::app::action::Action;
use crate::app::screens::context::ScreenContext;
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProblemsScreen {
    pub scroll: Scroll,
}

impl ProblemsScreen {
    pub(super) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        self.scroll.move_by(by, context.problem_count, usize::from(context.size.1).saturating_sub(4));
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![MOVE, (&[Action::Copy], "copy"), CLOSE]
    }
}
