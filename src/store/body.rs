//! Bodies on demand: reads a line again at its position, in the form that the runtime holds (migrated in memory, store
//! L). Indexes keep sizes only, so this runs when a person opens an entry, compares texts or applies a plan. Each read
//! checks the entry's id, because the file may have changed since.

use std::io;

use crate::ids::EntryIx;
use crate::js::{self, Json, Outline, OutlinedValue, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::load::{Trim, parse_line};
use crate::store::scan::rename_hook;
use crate::store::source::{AlignedBuffer, Source};

#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The file cannot be read at this position.
    #[error("{path} line {line}: cannot read the line again: {source}. Reload the session.")]
    Read {
        path: String,
        /// Line number, counted from 1.
        line: u64,
        source: io::Error,
    },
    /// Another line is at this position now.
    #[error("{path} line {line}: the line changed after clawscope read it. Reload the session.")]
    Changed {
        path: String,
        /// Line number, counted from 1.
        line: u64,
    },
}

/// Returns the text of an entry's line, without the line end; invalid UTF-8 becomes U+FFFD.
pub fn line_text(source: &Source, index: &Index, ix: EntryIx) -> Result<String, BodyError> {
    let mut bytes = AlignedBuffer::default();
    read_line_bytes(source, index, ix, &mut bytes)?;
    Ok(js::utf8_lossy(&bytes).trim_matches(js::is_trimmed).to_owned())
}

fn read_line_bytes(
    source: &Source,
    index: &Index,
    ix: EntryIx,
    room: &mut AlignedBuffer,
) -> Result<(), BodyError> {
    let entry = index.entry(ix);
    let read = room.read_exact(source, entry.offset, entry.bytes as usize);
    read.map_err(|error| BodyError::Read {
        path: source.path().display().to_string(),
        line: entry.line,
        source: error,
    })
}

/// Returns an entry as the runtime holds it after opening the file.
pub fn read_entry(source: &Source, index: &Index, ix: EntryIx) -> Result<Value, BodyError> {
    let mut bytes = AlignedBuffer::default();
    read_line_bytes(source, index, ix, &mut bytes)?;
    let known = index.entry(ix);
    let changed = || BodyError::Changed { path: source.path().display().to_string(), line: known.line };
    let value = parse_line(&bytes, Trim::Both).map_err(|_| changed())?;
    let (to_v2, _) = index.migration_steps();
    if !to_v2 && value.get("id").filter(|id| id.as_str().is_some()).cloned() != string_id(index, ix) {
        return Err(changed());
    }
    Ok(migrate(value, index, ix))
}

/// Reusable buffers for reading many lines.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: AlignedBuffer,
    outline: Outline,
}

/// Returns the outlined message of a `message` entry, for callers that only measure. `None` when the line must be read
/// as a value: migrated entries, other kinds, invalid UTF-8, white space that JSON does not allow.
pub fn outline_message<'r>(
    source: &Source,
    index: &Index,
    ix: EntryIx,
    room: &'r mut LineBuffer,
) -> Result<Option<OutlinedValue<'r>>, BodyError> {
    let known = index.entry(ix);
    if known.kind != EntryKind::Message || index.migration_steps() != (false, false) {
        return Ok(None);
    }
    read_line_bytes(source, index, ix, &mut room.bytes)?;
    let Ok(text) = std::str::from_utf8(&room.bytes) else { return Ok(None) };
    let Ok(line) = room.outline.read(text) else { return Ok(None) };
    if !matches_known_id(index, ix, line.get("id")) {
        return Err(BodyError::Changed { path: source.path().display().to_string(), line: known.line });
    }
    Ok(line.get("message"))
}

/// Whether the id of a line equals the indexed one.
fn matches_known_id(index: &Index, ix: EntryIx, id: Option<OutlinedValue<'_>>) -> bool {
    let known = index.entry(ix).id.filter(|id| index.ids.is_string(*id));
    match (known, id.and_then(OutlinedValue::as_plain_text)) {
        (Some(known), Some(plain)) if index.ids.text(known) == plain => true,
        _ => id.and_then(Json::to_js_string).map(Value::String) == string_id(index, ix),
    }
}

/// Returns the message of a `message` entry as the runtime holds it; `None` when absent or null.
pub fn read_message(source: &Source, index: &Index, ix: EntryIx) -> Result<Option<Value>, BodyError> {
    let value = read_entry(source, index, ix)?;
    Ok(value.get("message").filter(|message| !message.is_null()).cloned())
}

fn string_id(index: &Index, ix: EntryIx) -> Option<Value> {
    index.entry(ix).id.filter(|id| index.ids.is_string(*id)).map(|id| index.ids.value(id))
}

/// Applies the migrations of store L2 and L3 to one entry. New keys are added at the end of the object (L4).
fn migrate(mut value: Value, index: &Index, ix: EntryIx) -> Value {
    let (to_v2, to_v3) = index.migration_steps();
    let Value::Object(object) = &mut value else { return value };
    let entry = index.entry(ix);
    if to_v2 {
        let id_value = |id: Option<_>| id.map_or(Value::Null, |id| index.ids.value(id));
        object.set("id", id_value(entry.id));
        object.set("parentId", id_value(entry.parent));
        let indexed = object.get("firstKeptEntryIndex").and_then(Value::as_f64).is_some();
        if entry.kind == EntryKind::Compaction && indexed {
            if let Some(kept) = entry.reference {
                object.set("firstKeptEntryId", index.ids.value(kept));
            }
            object.remove("firstKeptEntryIndex");
        }
    }
    if to_v3
        && entry.kind == EntryKind::Message
        && let Some(renamed) = object.get("message").and_then(rename_hook)
    {
        object.set("message", renamed);
    }
    value
}
