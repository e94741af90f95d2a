//! The actions since the start, each as the command line that does it without the screen.

use crate::app::action::Action;
use crate::app::logged_command::LoggedCommand;
use crate::app::screens::context::{Outcome, ScreenContext};
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;

/// Rows below the list: a hairline, and the selected command in full.
pub const DETAIL_ROWS: u16 = 4;
/// Rows above the list and below the screen: the header, the title and the status line.
const OTHER_ROWS: u16 = 3;

#[derive(Debug, Clone, PartialEq)]
pub struct CommandLogScreen {
    /// Newest first.
    pub commands: Vec<LoggedCommand>,
    pub scroll: Scroll,
}

impl CommandLogScreen {
    pub(super) fn open(context: &ScreenContext) -> Self {
        Self { commands: context.commands.iter().rev().cloned().collect(), scroll: Scroll::default() }
    }

    /// Rows of the list on a screen with `rows`.
    pub fn list_rows(rows: u16) -> usize {
        usize::from(rows.saturating_sub(OTHER_ROWS + DETAIL_ROWS)).max(1)
    }

    pub(super) fn move_by(&mut self, by: isize, rows: u16) {
        self.scroll.move_by(by, self.commands.len(), Self::list_rows(rows));
    }

    pub(super) fn hints() -> Vec<Hint> {
        vec![MOVE, (&[Action::Copy], "copy"), CLOSE]
    }

    pub(super) fn on_action(&self, action: Action) -> Outcome {
        let selected = self.commands.get(self.scroll.cursor).map(|command| command.line.clone());
        match action {
            Action::Copy => Outcome::copy(selected, "command"),
            _ => Outcome::Ignored,
        }
    }
}
