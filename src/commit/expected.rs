//! The context that a branch must give, message by message, for the comparison with the lines read back (store P9).

use std::collections::HashMap;
use std::io;

use crate::context::bodies::{self, own_message, projected_message};
use crate::context::projection::replace_content;
use crate::context::{ContentSource, Context, ContextMessage, build_context};
use crate::ids::{EntryIx, LineIds};
use crate::js::{self, Value};
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, ReadMode};
use crate::store::index::{Index, LinePosition};
use crate::store::load::{LoadError, Trim, parse_line};
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::units::Bytes;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedMessage {
    /// The message stays in its line, with its present edit.
    Shared(EntryIx, ContentSource),
    /// The message comes from an appended line; its canonical JSON.
    Appended(String),
}

impl ExpectedMessage {
    /// Returns the canonical JSON: compact, keys in JavaScript order. `index` and `source` may be those of the file
    /// before or after writing, because shared lines keep their positions.
    pub fn json(&self, source: &Source, index: &Index) -> Result<String, BodyError> {
        match self {
            Self::Appended(json) => Ok(json.clone()),
            Self::Shared(entry, made) => {
                let message = ContextMessage {
                    content_source: *made,
                    ..ContextMessage::from_entry(*entry, MessageSize::EMPTY)
                };
                Ok(js::stringify(&bodies::read_message(source, index, &message)?))
            }
        }
    }
}

/// Whether neither the message nor its edit is in the new lines.
fn is_old(message: &ContextMessage, old_entries: usize) -> bool {
    let edit_is_old = match message.content_source {
        ContentSource::Edited(edit) => edit.index() < old_entries,
        ContentSource::Own | ContentSource::Checkpoint => true,
    };
    message.entry.index() < old_entries && edit_is_old
}

/// The new values of the entries of a context.
#[derive(Debug, Default)]
pub(super) struct ExpectedEntries {
    /// The expected value of each copied entry, and of a new compaction.
    pub copied: HashMap<EntryIx, Value>,
    /// The replacement of each edited entry.
    pub edited: HashMap<EntryIx, Value>,
}

impl ExpectedEntries {
    /// Expects these entries to leave the context.
    pub(super) fn without(omitted: &[EntryIx]) -> Self {
        Self { copied: HashMap::new(), edited: omitted.iter().map(|ix| (*ix, Value::Null)).collect() }
    }
}

/// Returns the planned context from the values of the new entries: the old context, or its part that a compaction
/// keeps, with the expected value of each copied or edited entry.
pub(super) fn expected_messages(
    (source, index): (&Source, &Index),
    context: &Context,
    becoming: &ExpectedEntries,
) -> Result<Vec<ExpectedMessage>, BodyError> {
    let mut planned = Vec::new();
    for message in &context.messages {
        let entry = message.entry;
        let json = |value: &Value| ExpectedMessage::Appended(js::stringify(value));
        match (becoming.edited.get(&entry), becoming.copied.get(&entry)) {
            (Some(new), _) if new.is_null() => {}
            (Some(new), _) => {
                planned.push(json(&replace_content(&bodies::read_message(source, index, message)?, new)));
            }
            (None, Some(value)) => planned.push(json(&read_value(index, message, value))),
            (None, None) => planned.push(match message.content_source {
                // The edit is copied although its target is not.
                ContentSource::Edited(edit) if becoming.copied.contains_key(&edit) => {
                    json(&bodies::read_message(source, index, message)?)
                }
                made => ExpectedMessage::Shared(entry, made),
            }),
        }
    }
    Ok(planned)
}

fn read_value(index: &Index, message: &ContextMessage, value: &Value) -> Value {
    let old = index.entries.get(message.entry.index());
    let kind = old.map_or(EntryKind::Compaction, |entry| entry.kind);
    match (index.reading, message.content_source) {
        (ReadMode::Entries, ContentSource::Checkpoint) => {
            projected_message(value, kind, message.content_source, None)
        }
        (ReadMode::Entries, _) => own_message(index, value, kind),
        (ReadMode::Projected, ContentSource::Edited(edit)) => {
            projected_message(value, kind, message.content_source, index.replacement(edit))
        }
        (ReadMode::Projected, made) => projected_message(value, kind, made, None),
    }
}

/// Returns the index of the file with the new lines, made in memory.
pub fn index_with_lines(index: &Index, lines: &[NewLine]) -> Index {
    let mut grown = index.clone();
    // The first append also ends an unterminated last line.
    grown.end += u64::from(std::mem::take(&mut grown.is_unterminated));
    for line in lines {
        grown.line_count += 1;
        let place = LinePosition {
            offset: grown.end,
            bytes: Bytes::from_len(line.text.len()),
            line: grown.line_count,
        };
        grown.end += line.text.len() as u64 + 1;
        if let Ok(value) = parse_line(line.text.as_bytes(), Trim::None) {
            grown.push_parsed(&value, place, &mut LineIds);
        }
    }
    grown
}

/// Returns the context that the new lines give, read from their texts; `None` if no context can be built.
pub(super) fn messages_from_lines(
    source: &Source,
    grown: &Index,
    old_entries: usize,
    lines: &[NewLine],
) -> Option<(Context, Vec<ExpectedMessage>)> {
    let context = build_context(grown, &Tree::new(grown), &Leaf::Own).ok()?;
    let messages = context.messages.iter().map(|message| {
        if is_old(message, old_entries) {
            return Some(ExpectedMessage::Shared(message.entry, message.content_source));
        }
        let value = match message.entry.index().checked_sub(old_entries) {
            Some(at) => js::parse(&lines.get(at)?.text).ok()?,
            None => crate::store::body::read_entry(source, grown, message.entry).ok()?,
        };
        Some(ExpectedMessage::Appended(js::stringify(&read_value(grown, message, &value))))
    });
    let messages = messages.collect::<Option<_>>()?;
    Some((context, messages))
}

/// Reads the context of a leaf back from the written file.
pub(super) fn messages_from_file(
    grown: &Index,
    source: &Source,
    old_entries: usize,
    leaf: &Leaf,
) -> Result<Vec<ExpectedMessage>, Difference> {
    let context = build_context(grown, &Tree::new(grown), leaf).map_err(|_| Difference::NoContext)?;
    let messages = context.messages.iter().map(|message| {
        if is_old(message, old_entries) {
            return Ok(ExpectedMessage::Shared(message.entry, message.content_source));
        }
        Ok(ExpectedMessage::Appended(js::stringify(&bodies::read_message(source, grown, message)?)))
    });
    messages.collect()
}

/// Returns the first difference of two contexts: a message, counted from 1.
pub(super) fn first_difference(a: &[ExpectedMessage], b: &[ExpectedMessage]) -> Option<usize> {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    let at = differs.or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())));
    at.map(|at| at + 1)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine {
    pub id: String,
    /// The copied entry; `None` for labels, a new compaction and our own record.
    pub copy_of: Option<EntryIx>,
    /// Without its line end.
    pub text: String,
}

/// A difference between the file and the plan.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("the appended bytes differ")]
    Bytes,
    #[error("the file is not the old file with lines appended")]
    NotAppended,
    #[error("appended {written} lines but read {read}")]
    Lines { written: usize, read: usize },
    #[error("cannot build the context")]
    NoContext,
    /// Counted from 1.
    #[error("message {0} of the context differs")]
    Message(usize),
    #[error("the file is empty")]
    Empty,
    #[error("the last line is not the planned leaf")]
    Leaf,
    #[error("the plan has no commit record")]
    NoRecord,
    #[error("the commit record is not where it was written")]
    RecordMoved,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    #[test]
    fn an_extended_index_equals_the_index_of_the_whole_file() {
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        let entry = |id: &str, parent: &str| {
            format!(r#"{{"type":"custom","customType":"x","id":"{id}","parentId":"{parent}"}}"#)
        };
        let new = ["b", "c"].map(|id| NewLine { id: id.to_owned(), copy_of: None, text: entry(id, "a") });
        for end in ["\n", ""] {
            let old = format!("{header}\n{}{end}", entry("a", "z"));
            let index = load_bytes("t.jsonl", old.as_bytes(), &mut LineIds);
            let grown = index_with_lines(&index, &new);
            let whole = format!("{header}\n{}\n{}\n{}\n", entry("a", "z"), entry("b", "a"), entry("c", "a"));
            let read = load_bytes("t.jsonl", whole.as_bytes(), &mut LineIds);
            assert_eq!((grown.end, grown.line_count), (read.end, read.line_count), "{end:?}");
            assert_eq!(grown.end, whole.len() as u64);
            let places = |index: &Index| -> Vec<_> {
                index.entries.iter().map(|entry| (entry.offset, entry.bytes(), entry.line)).collect()
            };
            assert_eq!(places(&grown), places(&read), "{end:?}");
            assert!(!grown.is_unterminated);
        }
    }
}
