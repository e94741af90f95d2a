//! Reads the messages of a context back from the file, with their texts. Everything else works on sizes.

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

/// Reads one message in the shape that the runtime gives it (compaction 3.10a, 4.4a).
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

/// Builds the message of an unedited entry as the index's runtime does.
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

/// Builds the message of an entry as pi does since 0.80.4: adds missing content and applies an edit (store-pi-1.5 C7,
/// D4).
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

pub fn read_messages(source: &Source, index: &Index, context: &Context) -> Result<Vec<Value>, BodyError> {
    context.messages.iter().map(|item| read_message(source, index, item)).collect()
}

/// Returns the message that an entry holds or becomes; null for an entry without one.
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

/// Returns the message that an entry holds or becomes, without cloning it.
pub fn into_message(entry: Value, kind: EntryKind) -> Value {
    match (entry, kind) {
        (entry, EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage) => {
            entry_message(&entry, kind)
        }
        (Value::Object(mut object), _) => object.remove("message").unwrap_or(Value::Null),
        (entry, _) => entry_message(&entry, kind),
    }
}

/// Copies the fields that exist, unchanged; the timestamp is the entry's in ms (compaction 3.10a, 3.10b).
fn build_message(entry: &Value, role: &str, fields: &[&str]) -> Value {
    let mut object = Object::default();
    object.set("role", Value::from(role));
    for field in fields {
        if let Some(value) = entry.get(field) {
            object.set(field, value.clone());
        }
    }
    object.set("timestamp", Value::Number(date_value(entry.get("timestamp")).get()));
    Value::Object(object)
}
