//! The context that a branch must give, message by message, to be compared with what is read back
//! (store P9).

use std::collections::HashMap;

use crate::commit::prepare::NewLine;
use crate::context::bodies::{self, own_message, projected_of};
use crate::context::projection::with_replaced;
use crate::context::{Context, ContextMessage, Made, build};
use crate::ids::{EntryIx, LineIds};
use crate::js::{self, Value};
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, Reading};
use crate::store::index::{Index, Place};
use crate::store::load::{Trim, parse_line};
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};

/// One message of the planned context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedMessage {
    /// It stays in the line it stands in, with the edit it has.
    Shared(EntryIx, Made),
    /// It comes from an appended line; its canonical JSON.
    Written(String),
}

impl PlannedMessage {
    /// Its canonical JSON: compact, keys in JavaScript order. `index` and `source` are of the file
    /// before or after writing; shared lines stand in both at the same place.
    pub fn json(&self, source: &Source, index: &Index) -> Result<String, BodyError> {
        match self {
            Self::Written(json) => Ok(json.clone()),
            Self::Shared(entry, made) => {
                let message =
                    ContextMessage { made: *made, ..ContextMessage::own(*entry, MessageSize::NOTHING) };
                Ok(js::stringify(&bodies::message(source, index, &message)?))
            }
        }
    }
}

/// Whether nothing of a message stands in the new lines.
fn is_old(message: &ContextMessage, old_entries: usize) -> bool {
    let edit_is_old = match message.made {
        Made::Edited(edit) => edit.at() < old_entries,
        Made::Own | Made::Checkpoint => true,
    };
    message.entry.at() < old_entries && edit_is_old
}

/// What becomes of the entries of a context.
#[derive(Debug, Default)]
pub(super) struct Becoming {
    /// What each copied entry must be read as, and a new compaction.
    pub copied: HashMap<EntryIx, Value>,
    /// What an edit puts in the place of each edited entry.
    pub edited: HashMap<EntryIx, Value>,
}

/// The planned context by the values of the new entries: the old one, or what a compaction leaves of it, message by
/// message, with each copied entry as its copy shall be read, each edited one as its edit says, and the compaction as its
/// line shall be.
pub(super) fn expected(
    (source, index): (&Source, &Index),
    context: &Context,
    becoming: &Becoming,
) -> Result<Vec<PlannedMessage>, BodyError> {
    let mut planned = Vec::new();
    for message in &context.messages {
        let entry = message.entry;
        let json = |value: &Value| PlannedMessage::Written(js::stringify(value));
        match (becoming.edited.get(&entry), becoming.copied.get(&entry)) {
            (Some(new), _) if new.is_null() => {}
            (Some(new), _) => {
                planned.push(json(&with_replaced(&bodies::message(source, index, message)?, new)));
            }
            (None, Some(value)) => planned.push(json(&read_value(index, message, value))),
            (None, None) => planned.push(match message.made {
                // The edit is copied although its target is not.
                Made::Edited(edit) if becoming.copied.contains_key(&edit) => {
                    json(&bodies::message(source, index, message)?)
                }
                made => PlannedMessage::Shared(entry, made),
            }),
        }
    }
    Ok(planned)
}

/// The message that the value of an entry becomes.
fn read_value(index: &Index, message: &ContextMessage, value: &Value) -> Value {
    let old = index.entries.get(message.entry.at());
    let kind = old.map_or(EntryKind::Compaction, |entry| entry.kind);
    match (index.reading, message.made) {
        (Reading::Entries, Made::Checkpoint) => projected_of(value, kind, message.made, None),
        (Reading::Entries, _) => own_message(index, value, kind),
        (Reading::Projected, Made::Edited(edit)) => {
            projected_of(value, kind, message.made, index.replacement(edit))
        }
        (Reading::Projected, made) => projected_of(value, kind, made, None),
    }
}

/// The index of the file with the new lines in it, made in memory.
pub fn index_with(index: &Index, lines: &[NewLine]) -> Index {
    let mut grown = index.clone();
    // The first one ends a last line that has no end yet.
    grown.end += u64::from(std::mem::take(&mut grown.unterminated));
    for line in lines {
        grown.lines += 1;
        let place = Place { offset: grown.end, bytes: line.text.len() as u32, line: grown.lines };
        grown.end += line.text.len() as u64 + 1;
        if let Ok(value) = parse_line(line.text.as_bytes(), Trim::None) {
            grown.push(&value, place, &mut LineIds);
        }
    }
    grown
}

/// The context that the new lines give, read from their texts; none where it cannot be built.
pub(super) fn read_lines(
    source: &Source,
    grown: &Index,
    old_entries: usize,
    lines: &[NewLine],
) -> Option<(Context, Vec<PlannedMessage>)> {
    let context = build(grown, &Tree::new(grown), &Leaf::Own).ok()?;
    let messages = context.messages.iter().map(|message| {
        if is_old(message, old_entries) {
            return Some(PlannedMessage::Shared(message.entry, message.made));
        }
        let value = match message.entry.at().checked_sub(old_entries) {
            Some(at) => js::parse(&lines.get(at)?.text).ok()?,
            None => crate::store::body::entry(source, grown, message.entry).ok()?,
        };
        Some(PlannedMessage::Written(js::stringify(&read_value(grown, message, &value))))
    });
    let messages = messages.collect::<Option<_>>()?;
    Some((context, messages))
}

/// The context of a file after writing, read back from it.
pub(super) fn read_file(
    grown: &Index,
    source: &Source,
    old_entries: usize,
) -> Result<Vec<PlannedMessage>, String> {
    let context =
        build(grown, &Tree::new(grown), &Leaf::Own).map_err(|_| "no context can be built".to_owned())?;
    let read = |message| bodies::message(source, grown, message).map_err(|error| error.to_string());
    let messages = context.messages.iter().map(|message| {
        if is_old(message, old_entries) {
            return Ok(PlannedMessage::Shared(message.entry, message.made));
        }
        Ok(PlannedMessage::Written(js::stringify(&read(message)?)))
    });
    messages.collect()
}

/// Where two contexts begin to differ: a message counted from 1.
pub(super) fn first_difference(a: &[PlannedMessage], b: &[PlannedMessage]) -> Option<usize> {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    let at = differs.or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())));
    at.map(|at| at + 1)
}
