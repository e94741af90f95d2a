//! Reads a message as a person reads it: its parts as text, both recorded and under the plan.

pub mod excerpt;
pub mod facts;
mod fate_explanation;
pub mod parts;
mod policy_explanation;

use std::borrow::Cow;

use crate::context::bodies::entry_message;
use crate::context::projection::replace_content;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::plan::{self, Plan};
use crate::policy::MessageFate;
use crate::session::LoadedSession;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Replacement, Role, ToolCall};
use crate::store::index::Index;

pub use crate::session::message::fate_explanation::explain_fate;
pub use crate::session::message::parts::{
    PartKind, TextPart, entry_parts as parts_of_entry, message_parts as parts_of_message,
};

/// A message that was read back from its file.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageText {
    pub entry: EntryIx,
    /// Facts for its head: (name, value), as `exit`, `1`.
    pub facts: Vec<(&'static str, String)>,
    /// Tool and arguments of a result; role of any other message.
    pub title: (Option<String>, String),
    pub parts: Vec<TextPart>,
    /// The text under the plan, if the plan changes it.
    pub planned_text: Option<String>,
    /// `None` without a plan, or for an entry that is not in the context.
    pub fate: Option<MessageFate>,
    /// The entry's line in the file, without changes.
    pub raw_line: String,
}

impl MessageText {
    /// Joins the text parts with one line feed each, as the pruner joins those of a result (pruning 5.7).
    pub fn joined_text(&self) -> Cow<'_, str> {
        join_texts(&self.parts)
    }

    /// Indents the entry's line. Not cached: it is rarely shown, and a result can be megabytes.
    pub fn indented_json(&self) -> String {
        parts::indent_line(&self.raw_line)
    }

    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads any entry back from its file, with its fate and planned text if it is a message of the context.
///
/// # Errors
/// When the file is missing or has changed.
pub fn read_message(
    session: &LoadedSession,
    entry: EntryIx,
    plan: Option<&Plan>,
) -> Result<MessageText, BodyError> {
    let (source, index) = (&session.source, &*session.index);
    let known = index.entry(entry);
    let line = body::line_text(source, index, entry)?;
    let value = body::read_entry(source, index, entry)?;
    let own = entry_message(&value, known.kind);
    let sent = apply_edit(session, entry, &own);
    let message = sent.as_ref().unwrap_or(&own);
    let call = find_call(session, entry)?;
    let position = session.context.position(entry);
    let fate = plan.zip(position).and_then(|(plan, position)| plan.fates().get(position).copied());
    let edited = plan.zip(position).filter(|(plan, position)| !plan.edits_at(*position).is_empty());
    let after = edited.map(|(plan, position)| {
        let after = plan::message_after(message, position, plan);
        join_texts(&parts::message_parts(&after, known.role())).into_owned()
    });
    let answered = call.as_ref().map(|call| call.entry);
    Ok(MessageText {
        entry,
        facts: facts::entry_facts(index, entry, &value, message, answered)
            .into_iter()
            .chain(edit_fact(session, entry))
            .collect(),
        title: message_title(index, entry, message, call),
        parts: match &sent {
            Some(sent) => parts::message_parts(sent, known.role()),
            None => parts::entry_parts(&value, known.kind, known.role()),
        },
        planned_text: after,
        fate,
        raw_line: line,
    })
}

/// Returns the message with the content that an edit gave it, or `None` without such an edit.
fn apply_edit(session: &LoadedSession, entry: EntryIx, message: &Value) -> Option<Value> {
    match session.index.replacement(*session.context.edits.get(&entry)?)? {
        Replacement::Content(new) => Some(replace_content(message, new)),
        Replacement::Omitted | Replacement::Missing => None,
    }
}

/// Names the edit of an entry and its effect. The unedited text is in the raw line.
fn edit_fact(session: &LoadedSession, entry: EntryIx) -> Option<(&'static str, String)> {
    let index = &session.index;
    let edit = *session.context.edits.get(&entry)?;
    let what = match index.replacement(edit)? {
        Replacement::Content(_) => "content replaced by",
        Replacement::Omitted | Replacement::Missing => "dropped by",
    };
    Some(("edited", format!("{what} {}", index.display_id(edit))))
}

fn join_texts(parts: &[TextPart]) -> Cow<'_, str> {
    let mut texts = parts.iter().filter(|part| part.kind == PartKind::Text).map(|part| part.text.as_str());
    match (texts.next(), texts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(only), None) => Cow::Borrowed(only),
        (Some(first), Some(second)) => {
            Cow::Owned([first, second].into_iter().chain(texts).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// The tool call that a result answers.
pub(crate) struct AnsweredCall {
    pub(crate) entry: EntryIx,
    /// Arguments on one line.
    pub(crate) arguments: Option<String>,
}

/// Finds the call in the nearest earlier assistant entry on the path to the root that holds its id, else in the nearest
/// earlier one of the file.
pub(crate) fn find_call(session: &LoadedSession, entry: EntryIx) -> Result<Option<AnsweredCall>, BodyError> {
    let index = &*session.index;
    let known = index.entry(entry).message.filter(|message| message.role == Role::ToolResult);
    let Some(id) = known.and_then(|message| message.call_id) else { return Ok(None) };
    let holders = || index.tool_calls_before(entry).filter(|call| call.id == Some(id));
    let is_above = |call: &&ToolCall| session.tree.leads_to(index, call.entry, entry);
    let holder = holders().find(is_above).or_else(|| holders().next());
    let Some(holder) = holder.map(|call| call.entry) else { return Ok(None) };
    let message = body::read_message(&session.source, index, holder)?;
    let wanted = index.ids.value(id);
    let blocks = message.as_ref().and_then(|message| message.get("content")).and_then(Value::as_array);
    let block = blocks.unwrap_or_default().iter().find(|block| block.get("id") == Some(&wanted));
    let arguments = block.and_then(|block| block.get("arguments")).map(parts::arguments_line);
    Ok(Some(AnsweredCall { entry: holder, arguments }))
}

fn message_title(
    index: &Index,
    entry: EntryIx,
    message: &Value,
    call: Option<AnsweredCall>,
) -> (Option<String>, String) {
    let known = index.entry(entry);
    let text = |key: &str| message.get(key).map(parts::value_text);
    match (known.kind, known.role()) {
        (EntryKind::Message, Some(Role::ToolResult)) => {
            let tool = text("toolName").unwrap_or_else(|| "tool".into());
            (Some(tool), call.and_then(|call| call.arguments).unwrap_or_default())
        }
        (EntryKind::Message, Some(Role::BashExecution)) => {
            (Some("!".into()), text("command").unwrap_or_default())
        }
        (EntryKind::Message, Some(Role::Other)) => (None, text("role").unwrap_or_else(|| "message".into())),
        (EntryKind::Message, Some(role)) => (None, role.as_str().into()),
        (EntryKind::Custom | EntryKind::CustomMessage, _) => {
            let word = index.values.text(known.payload).unwrap_or_default();
            (Some(known.kind.as_str().replace('_', " ")), word)
        }
        (kind, _) => (None, kind.as_str().replace('_', " ")),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
