//! A window that waits for one letter and lists the action of each.

use crate::app::action::Action;

/// The use of the letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMenuKind {
    Copy,
    View,
    Mark,
    GoToMark,
}

impl KeyMenuKind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Copy => "Copy",
            Self::View => "View",
            Self::Mark => "Mark the row with a letter",
            Self::GoToMark => "Go to a mark",
        }
    }
}

/// A letter and the text or row behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMenuRow {
    pub letter: char,
    /// A noun for the text; empty for a mark.
    pub name: &'static str,
    /// The text to copy, or the row behind a mark.
    pub text: String,
    /// The action to run instead of copying the text.
    pub action: Option<Action>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMenu {
    pub kind: KeyMenuKind,
    pub rows: Vec<KeyMenuRow>,
}
