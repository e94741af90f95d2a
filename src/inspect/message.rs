//! A message as a person reads it: its parts as text, as it is and as the plan makes it.

use crate::ids::EntryIx;
use crate::policy::MessageFate;

/// What a part of a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// Text of anyone.
    Text,
    /// What the model thought.
    Thinking,
    /// A tool call: its tool.
    Call {
        /// The tool.
        name: String,
        /// The call id.
        id: String,
    },
    /// An image.
    Image {
        /// Its type, as `image/png`.
        mime: String,
        /// Chars of its base64 data.
        chars: usize,
    },
    /// An error the provider or the runtime reports.
    Error,
    /// Anything else, as JSON.
    Other,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPart {
    /// What it is.
    pub kind: PartKind,
    /// Its text, not yet made safe for the screen.
    pub text: String,
}

/// A message, read back from the file.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageText {
    /// Its entry.
    pub entry: EntryIx,
    /// Facts for its head: (name, value), as `exit`, `1`.
    pub facts: Vec<(&'static str, String)>,
    /// The title: tool and arguments of a result, else the role.
    pub title: (Option<String>, String),
    /// Its parts.
    pub parts: Vec<TextPart>,
    /// The text under the plan, where the plan changes it.
    pub after: Option<String>,
    /// Its fate under the plan.
    pub fate: Option<MessageFate>,
    /// The entry as it stands in the file, indented.
    pub raw: String,
}
