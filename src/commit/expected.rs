//! The context that a branch must give, message by message, to be compared with what is read back
//! (store P9).

use std::collections::HashMap;

use crate::commit::prepare::NewLine;
use crate::context::bodies::{self, own_message, projected_message};
use crate::context::projection::replace_content;
use crate::context::{ContentSource, Context, ContextMessage, build_context};
use crate::ids::{EntryIx, LineIds};
use crate::js::{self, Value};
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, ReadMode};
use crate::store::index::{Index, LinePosition};
use crate::store::load::{Trim, parse_line};
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};

/// One message of the planned context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedMessage {
    /// It stays in the line it stands in, with the edit it has.
    Shared(EntryIx, ContentSource),
    /// It comes from an appended line; its canonical JSON.
    Appended(String),
}

impl ExpectedMessage {
    /// Its canonical JSON: compact, keys in JavaScript order. `index` and `source` are of the file
    /// before or after writing; shared lines stand in both at the same place.
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

/// Whether nothing of a message stands in the new lines.
fn is_old(message: &ContextMessage, old_entries: usize) -> bool {
    let edit_is_old = match message.content_source {
        ContentSource::Edited(edit) => edit.index() < old_entries,
        ContentSource::Own | ContentSource::Checkpoint => true,
    };
    message.entry.index() < old_entries && edit_is_old
}

/// What becomes of the entries of a context.
#[derive(Debug, Default)]
pub(super) struct ExpectedEntries {
    /// What each copied entry must be read as, and a new compaction.
    pub copied: HashMap<EntryIx, Value>,
    /// What an edit puts in the place of each edited entry.
    pub edited: HashMap<EntryIx, Value>,
}

/// The planned context by the values of the new entries: the old one, or what a compaction leaves of it, message by
/// message, with each copied entry as its copy shall be read, each edited one as its edit says, and the compaction as its
/// line shall be.
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

/// The message that the value of an entry becomes.
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

/// The index of the file with the new lines in it, made in memory.
pub fn index_with_lines(index: &Index, lines: &[NewLine]) -> Index {
    let mut grown = index.clone();
    // The first one ends a last line that has no end yet.
    grown.end += u64::from(std::mem::take(&mut grown.is_unterminated));
    for line in lines {
        grown.line_count += 1;
        let place = LinePosition { offset: grown.end, bytes: line.text.len() as u32, line: grown.line_count };
        grown.end += line.text.len() as u64 + 1;
        if let Ok(value) = parse_line(line.text.as_bytes(), Trim::None) {
            grown.push_parsed(&value, place, &mut LineIds);
        }
    }
    grown
}

/// The context that the new lines give, read from their texts; none where it cannot be built.
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

/// The context of a file after writing, read back from it.
pub(super) fn messages_from_file(
    grown: &Index,
    source: &Source,
    old_entries: usize,
) -> Result<Vec<ExpectedMessage>, String> {
    let context = build_context(grown, &Tree::new(grown), &Leaf::Own)
        .map_err(|_| "no context can be built".to_owned())?;
    let read = |message| bodies::read_message(source, grown, message).map_err(|error| error.to_string());
    let messages = context.messages.iter().map(|message| {
        if is_old(message, old_entries) {
            return Ok(ExpectedMessage::Shared(message.entry, message.content_source));
        }
        Ok(ExpectedMessage::Appended(js::stringify(&read(message)?)))
    });
    messages.collect()
}

/// Where two contexts begin to differ: a message counted from 1.
pub(super) fn first_difference(a: &[ExpectedMessage], b: &[ExpectedMessage]) -> Option<usize> {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    let at = differs.or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())));
    at.map(|at| at + 1)
}
