//! Bodies on demand: a line read again at its position when someone looks at it, a diff is drawn or a
//! plan is applied, in the form the runtime holds it (migrated in memory, store L).

use std::io;

use crate::ids::EntryIx;
use crate::js::{self, Json, Outline, OutlinedValue, Value};
use crate::store::aligned_buffer::AlignedBuffer;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::load::{Trim, parse_line};
use crate::store::scan::rename_hook;
use crate::store::source::Source;

/// Why a body could not be read again.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The file cannot be read there any more.
    #[error("{path} line {line}: cannot be read again: {source}. Reload the session.")]
    Read {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// What the system says.
        source: io::Error,
    },
    /// Another line stands there by now.
    #[error("{path} line {line}: changed since it was read. Reload the session.")]
    Changed {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
    },
}

/// The text of an entry's line, without its end; invalid UTF-8 as U+FFFD.
pub fn line_text(source: &Source, index: &Index, ix: EntryIx) -> Result<String, BodyError> {
    let mut bytes = AlignedBuffer::default();
    read_line_bytes(source, index, ix, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_matches(js::is_trimmed).to_owned())
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

/// An entry as the runtime holds it after opening the file.
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

/// Room for a line and its outline, used again by those who read many.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: AlignedBuffer,
    outline: Outline,
}

/// The message of a `message` entry outlined: for those who measure, and keep nothing. None where the line has to be read
/// as a value: migrated entries, other kinds, lines with more than JSON in them.
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

/// Whether an id of a line is the one that was read there before.
fn matches_known_id(index: &Index, ix: EntryIx, id: Option<OutlinedValue<'_>>) -> bool {
    let known = index.entry(ix).id.filter(|id| index.ids.is_string(*id));
    match (known, id.and_then(OutlinedValue::as_plain_text)) {
        (Some(known), Some(plain)) if index.ids.text(known) == plain => true,
        _ => id.and_then(Json::to_js_string).map(Value::String) == string_id(index, ix),
    }
}

/// The message of a `message` entry, as the runtime holds it; absent or null ones are none.
pub fn read_message(source: &Source, index: &Index, ix: EntryIx) -> Result<Option<Value>, BodyError> {
    let value = read_entry(source, index, ix)?;
    Ok(value.get("message").filter(|message| !message.is_null()).cloned())
}

fn string_id(index: &Index, ix: EntryIx) -> Option<Value> {
    index.entry(ix).id.filter(|id| index.ids.is_string(*id)).map(|id| index.ids.value(id))
}

/// The steps of store L2 and L3 on one entry. New keys go to the end of the object (L4).
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
