//! The messages of a context with their texts, read back from the file.

use crate::context::build::{Context, ContextMessage};
use crate::js::{Object, Value, date_value};
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::source::Source;

/// One message with its text, in the shape the runtime gives it (compaction 3.10a, 4.4a).
pub fn message(source: &Source, index: &Index, message: &ContextMessage) -> Result<Value, BodyError> {
    let entry = body::entry(source, index, message.entry)?;
    Ok(message_of(&entry, index.entry(message.entry).kind))
}

/// Every message of a context with its text.
pub fn messages(source: &Source, index: &Index, context: &Context) -> Result<Vec<Value>, BodyError> {
    context.messages.iter().map(|item| message(source, index, item)).collect()
}

/// The message an entry is or becomes; null for an entry without one.
pub fn message_of(entry: &Value, kind: EntryKind) -> Value {
    match kind {
        EntryKind::Compaction => built(entry, "compactionSummary", &["summary", "tokensBefore"]),
        EntryKind::BranchSummary => built(entry, "branchSummary", &["summary", "fromId"]),
        EntryKind::CustomMessage => built(entry, "custom", &["customType", "content", "display", "details"]),
        _ => entry.get("message").cloned().unwrap_or(Value::Null),
    }
}

/// The same of an entry that nobody else asks for.
pub fn into_message(entry: Value, kind: EntryKind) -> Value {
    match (entry, kind) {
        (entry, EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage) => {
            message_of(&entry, kind)
        }
        (Value::Object(mut object), _) => object.remove("message").unwrap_or(Value::Null),
        (entry, _) => message_of(&entry, kind),
    }
}

/// Values are taken over unchanged, absent ones stay absent; the timestamp is the entry's as ms
/// (compaction 3.10a, 3.10b).
fn built(entry: &Value, role: &str, fields: &[&str]) -> Value {
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
