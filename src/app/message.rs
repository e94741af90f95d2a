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

impl MessagePane {
    /// Waits for another entry's text.
    pub fn want(&mut self, entry: EntryIx) {
        if self.wanted != Some(entry) {
            self.wanted = Some(entry);
            self.top = 0;
            self.unfold = false;
        }
    }

    /// Takes the text that was waited for, or why it cannot be read.
    pub fn take(&mut self, text: Result<Arc<MessageText>, String>) {
        match text {
            Ok(text) => (self.text, self.error) = (Some(text), None),
            Err(error) => (self.text, self.error) = (None, Some(error)),
        }
    }

    /// An empty pane that looks at messages in the same way.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        Self { wrap: self.wrap, hide_thinking: self.hide_thinking, ..Self::default() }
    }

    /// Scrolls by lines.
    pub fn step(&mut self, by: isize, _height: usize, _width: usize) {
        self.top = self.top.saturating_add_signed(by);
    }

    /// Searches in the message.
    pub fn find(&mut self, query: String) {
        self.query = query;
    }

    /// Goes to the next or previous match.
    pub fn next_match(&mut self, _forward: bool, _height: usize, _width: usize) {}
}
