//! The message pane: the text of the entry under the transcript's cursor, and how it is looked at.

use std::sync::Arc;

use crate::ids::EntryIx;
use crate::inspect::message::MessageText;

/// How a message is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageView {
    /// Its parts.
    #[default]
    Text,
    /// Before and after the plan, side by side where there is room.
    Diff,
    /// The entry as it stands in the file.
    Raw,
}

/// The message pane.
#[derive(Debug, Clone, Default)]
pub struct MessagePane {
    /// The entry that is wanted.
    pub wanted: Option<EntryIx>,
    /// The message, once it was read.
    pub text: Option<Arc<MessageText>>,
    /// Why it could not be read.
    pub error: Option<String>,
    /// How it is shown.
    pub view: MessageView,
    /// First visible line.
    pub top: usize,
    /// Long lines wrap.
    pub wrap: bool,
    /// Thinking is hidden.
    pub hide_thinking: bool,
    /// The long cut of a diff is unfolded.
    pub unfold: bool,
    /// Words searched for in it.
    pub query: String,
}
