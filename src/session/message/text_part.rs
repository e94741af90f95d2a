//! One part of a message as text: what it is and what it says.

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
