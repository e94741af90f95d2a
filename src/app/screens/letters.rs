//! A window that waits for one letter and lists the action of each.

use crate::app::action::Action;

/// The use of the letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMenuKind {
    Copy,
    View,
}

impl KeyMenuKind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Copy => "Copy",
            Self::View => "View",
        }
    }
}

/// A letter and the text behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMenuRow {
    pub letter: char,
    /// A noun for the text.
    pub name: &'static str,
    /// The text to copy.
    pub text: String,
    /// The action to run instead of copying the text.
    pub action: Option<Action>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMenu {
    pub kind: KeyMenuKind,
    pub rows: Vec<KeyMenuRow>,
}
