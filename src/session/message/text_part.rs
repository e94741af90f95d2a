//! One part of a message as text.

use crate::units::Chars;

#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Text of any role.
    Text,
    Thinking,
    Call {
        /// Name of the tool.
        name: String,
        /// Id that the tool's result repeats.
        id: String,
    },
    Image {
        /// Media type, as `image/png`.
        mime: String,
        /// Chars of its base64 data.
        chars: Chars,
    },
    /// An error that the provider or the runtime reports.
    Error,
    /// Any other block, as JSON.
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextPart {
    pub kind: PartKind,
    /// The text, not yet escaped for the screen.
    pub text: String,
}
