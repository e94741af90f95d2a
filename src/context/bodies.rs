//! The messages of a context with their texts, read back from the file.

use crate::context::build::{ContentSource, Context, ContextMessage};
use crate::context::projection::replace_content;
use crate::gateway::ruleset::PiChange;
use crate::js::{Object, Value, date_value};
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, ReadMode, Replacement, Role};
use crate::store::index::Index;
use crate::store::measure::role_of;
use crate::store::scan::with_empty_content;
use crate::store::source::Source;

/// One message with its text, in the shape the runtime gives it (compaction 3.10a, 4.4a).
pub fn read_message(source: &Source, index: &Index, message: &ContextMessage) -> Result<Value, BodyError> {
    let entry = body::read_entry(source, index, message.entry)?;
    let kind = index.entry(message.entry).kind;
    if index.reading == ReadMode::Entries && message.content_source != ContentSource::Checkpoint {
        return Ok(own_message(index, &entry, kind));
    }
    let replacement = match message.content_source {
        ContentSource::Edited(edit) => index.replacement(edit),
        _ => None,
    };
    Ok(projected_message(&entry, kind, message.content_source, replacement))
}

/// The message an entry becomes by itself to the runtime of its index.
pub fn own_message(index: &Index, entry: &Value, kind: EntryKind) -> Value {
    let message = entry_message(entry, kind);
    let is_system = role_of(&message) == Role::System;
    let repairs = if is_system { PiChange::KeepsSystemMessages } else { PiChange::CutsByContext };
    if index.pi_release.has(repairs) {
        projected_message(entry, kind, ContentSource::Own, None)
    } else {
        message
    }
}

/// The message an entry becomes to pi since 0.80.4: with a content where it has none, and with that of an
/// edit where it is edited (store-pi-1.5 C7, D4).
pub fn projected_message(
    entry: &Value,
    kind: EntryKind,
    made: ContentSource,
    edit: Option<&Replacement>,
) -> Value {
    if made == ContentSource::Checkpoint {
        return entry.get("systemMessage").cloned().unwrap_or(Value::Null);
    }
    let mut message = entry_message(entry, kind);
    if kind == EntryKind::CustomMessage && message.get("content").is_none_or(Value::is_null) {
        message
            .as_object_mut()
            .into_iter()
            .for_each(|object| object.set("content", Value::Array(Vec::new())));
    }
    let message = with_empty_content(&message).unwrap_or(message);
    let replaced =
        matches!(role_of(&message), Role::User | Role::Assistant | Role::ToolResult | Role::Custom);
    match edit {
        Some(Replacement::Content(new)) if replaced => replace_content(&message, new),
        _ => message,
    }
}

/// Every message of a context with its text.
pub fn read_messages(source: &Source, index: &Index, context: &Context) -> Result<Vec<Value>, BodyError> {
    context.messages.iter().map(|item| read_message(source, index, item)).collect()
}

/// The message an entry is or becomes; null for an entry without one.
pub fn entry_message(entry: &Value, kind: EntryKind) -> Value {
    match kind {
        EntryKind::Compaction => build_message(entry, "compactionSummary", &["summary", "tokensBefore"]),
        EntryKind::BranchSummary => build_message(entry, "branchSummary", &["summary", "fromId"]),
        EntryKind::CustomMessage => {
            build_message(entry, "custom", &["customType", "content", "display", "details"])
        }
        _ => entry.get("message").cloned().unwrap_or(Value::Null),
    }
}

/// The same of an entry that nobody else asks for.
pub fn into_message(entry: Value, kind: EntryKind) -> Value {
    match (entry, kind) {
        (entry, EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage) => {
            entry_message(&entry, kind)
        }
        (Value::Object(mut object), _) => object.remove("message").unwrap_or(Value::Null),
        (entry, _) => entry_message(&entry, kind),
    }
}

/// Values are taken over unchanged, absent ones stay absent; the timestamp is the entry's as ms
/// (compaction 3.10a, 3.10b).
fn build_message(entry: &Value, role: &str, fields: &[&str]) -> Value {
    let mut object = Object::default();
    object.set("role", Value::from(role));
    for field in fields {
        if let Some(value) = entry.get(field) {
            object.set(field, value.clone());
        }
    }
    object.set("timestamp", Value::Number(date_value(entry.get("timestamp"))));
    Value::Object(object)
}
