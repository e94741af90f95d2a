//! Keys that the status line offers.

use crate::app::action::Action;

/// Related actions whose keys the status line shows before a word.
pub type Hint = (&'static [Action], &'static str);

pub(super) const MOVE: Hint = (&[Action::Down, Action::Up], "move");
pub(super) const CLOSE: Hint = (&[Action::Back], "close");
pub(super) const GO_TO_ENTRY: Hint = (&[Action::Open], "go to the entry");
