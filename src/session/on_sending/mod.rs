//! How the gateway changes messages when it sends them; the transcript keeps them as they were (releases R74).

mod added_texts;
mod failed_answers;
mod retries;
mod run_line;
mod withheld_thinking;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::bodies;
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, Role, StopReason};
use crate::store::measure::{content_sizes, role_of};
use crate::units::{Chars, Tokens};

/// Chars per token of the estimate.
const CHARS_PER_TOKEN: f64 = 4.0;

/// Joins the texts of blocks.
fn joined_texts(blocks: &[Value]) -> String {
    blocks.iter().filter_map(|block| block.get("text")?.as_str()).map(JsString::to_string_lossy).collect()
}

/// Texts that the gateway adds to a message when it sends it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AddedText {
    /// Position of the message in the list, from 0; the list's length, or more, for a message of its own.
    pub message: usize,
    /// The text before its first text, or the message of its own.
    pub before: String,
    /// The text after its last text.
    pub after: String,
    /// Estimated tokens of both.
    pub tokens: Tokens,
}

impl AddedText {
    fn before(message: usize, before: impl Into<String>) -> Self {
        Self { message, before: before.into(), ..Self::default() }
    }

    fn estimated(self) -> Self {
        let units = self.before.encode_utf16().count() + self.after.encode_utf16().count();
        Self { tokens: Chars::from_len(units).to_tokens(CHARS_PER_TOKEN), ..self }
    }
}

/// Thinking of an answer that the gateway leaves out when it sends it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithheldThinking {
    /// Position of the message in the list, from 0.
    pub message: usize,
    /// Estimated tokens of the thinking.
    pub tokens: Tokens,
}

/// How the gateway changes a list of messages when it sends them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct SendingChanges {
    /// Added texts, in the order of the messages.
    pub added: Vec<AddedText>,
    /// Thinking of earlier answers that is left out.
    pub withheld: Vec<WithheldThinking>,
}

/// As much of a message as decides how it is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    role: Role,
    /// [`StopReason::Other`] for all but answers.
    stop: StopReason,
    thinking: Chars,
}

impl Shape {
    fn of_size(size: &MessageSize) -> Self {
        Self { role: size.role, stop: size.stop_reason, thinking: size.thinking_chars.get() }
    }

    fn of_message(message: &Value) -> Self {
        let stop = message.get("stopReason").and_then(Value::as_str);
        let stop = stop.map_or(StopReason::Other, |stop| StopReason::from_text(&stop.to_string_lossy()));
        Self { role: role_of(message), stop, thinking: content_sizes(message).thinking_chars.get() }
    }

    fn is_failed(&self) -> bool {
        self.role == Role::Assistant && matches!(self.stop, StopReason::Error | StopReason::Aborted)
    }

    /// Whether it is sent as a message of the user.
    fn is_sent_by_user(&self) -> bool {
        !matches!(self.role, Role::Assistant | Role::ToolResult | Role::System | Role::Other)
    }
}

/// A list of messages whose texts are read where they decide.
struct Messages<'a> {
    shapes: &'a [Shape],
    read: &'a dyn Fn(usize) -> Result<Value, BodyError>,
}

impl LoadedSession {
    /// Reads the messages of the context that sending changes, and returns the changes.
    ///
    /// # Errors
    /// When a message cannot be read again.
    pub fn sending_changes(&self) -> Result<SendingChanges, BodyError> {
        let messages = &self.context.messages;
        let shapes: Vec<Shape> = messages.iter().map(|message| Shape::of_size(&message.size)).collect();
        let read = |at: usize| bodies::read_message(&self.source, &self.index, &messages[at]);
        self.changes_of(&Messages { shapes: &shapes, read: &read })
    }

    /// Returns the changes of a list of messages, such as that of a plan.
    ///
    /// # Errors
    /// Never: the messages are read already.
    pub fn sending_changes_of(&self, messages: &[Value]) -> Result<SendingChanges, BodyError> {
        let shapes: Vec<Shape> = messages.iter().map(Shape::of_message).collect();
        let read = |at: usize| Ok(messages[at].clone());
        self.changes_of(&Messages { shapes: &shapes, read: &read })
    }

    fn changes_of(&self, messages: &Messages<'_>) -> Result<SendingChanges, BodyError> {
        let mut added = self.stamped(messages)?;
        added.extend(self.joined_failures(messages)?);
        self.mark_retry(messages, &mut added)?;
        self.add_run_line(messages, &mut added)?;
        added.sort_by_key(|text| text.message);
        let added = added.into_iter().map(AddedText::estimated).collect();
        Ok(SendingChanges { added, withheld: self.withheld_thinking(messages.shapes) })
    }

    /// Returns the last entry of the path that is no note of the gateway.
    fn last_record(&self) -> Option<EntryIx> {
        let is_record = |ix: &&EntryIx| self.index.entry(**ix).kind != EntryKind::Custom;
        self.context.path.iter().rev().find(is_record).copied()
    }
}

/// Adds to the text of a message, or a new one.
fn text_of(added: &mut Vec<AddedText>, message: usize) -> &mut AddedText {
    let at = added.iter().position(|text| text.message == message).unwrap_or(added.len());
    if at == added.len() {
        added.push(AddedText { message, ..AddedText::default() });
    }
    &mut added[at]
}
