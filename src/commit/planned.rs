//! The context that a branch must give, message by message, to be compared with what is read back
//! (store P9).

use std::collections::HashMap;

use crate::commit::prepare::NewLine;
use crate::context::bodies::{self, message_of};
use crate::context::{Context, build};
use crate::ids::{EntryIx, LineIds};
use crate::js::{self, Value};
use crate::store::body::BodyError;
use crate::store::entry::EntryKind;
use crate::store::index::{Index, Place};
use crate::store::load::{Trim, parse_line};
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};

/// One message of the planned context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedMessage {
    /// It stays in the line it stands in.
    Shared(EntryIx),
    /// It comes from an appended line; its canonical JSON.
    Written(String),
}

impl PlannedMessage {
    /// Its canonical JSON: compact, keys in JavaScript order. `index` and `source` are of the file
    /// before or after writing; shared lines stand in both at the same place.
    pub fn json(&self, source: &Source, index: &Index) -> Result<String, BodyError> {
        match self {
            Self::Written(json) => Ok(json.clone()),
            Self::Shared(ix) => {
                let entry = crate::store::body::entry(source, index, *ix)?;
                Ok(js::stringify(&message_of(&entry, index.entry(*ix).kind)))
            }
        }
    }
}

/// The planned context by the values of the new entries: the old one, or what a compaction leaves of it, message by
/// message, with each copied entry as its copy shall be read, and the compaction as its line shall be.
pub(super) fn expected(
    index: &Index,
    context: &Context,
    copied: &HashMap<EntryIx, Value>,
) -> Vec<PlannedMessage> {
    let planned = context.messages.iter().map(|message| match copied.get(&message.entry) {
        Some(value) => {
            let old = index.entries.get(message.entry.at());
            let kind = old.map_or(EntryKind::Compaction, |entry| entry.kind);
            PlannedMessage::Written(js::stringify(&message_of(value, kind)))
        }
        None => PlannedMessage::Shared(message.entry),
    });
    planned.collect()
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
    grown: &Index,
    old_entries: usize,
    lines: &[NewLine],
) -> Option<(Context, Vec<PlannedMessage>)> {
    let context = build(grown, &Tree::new(grown), &Leaf::Own).ok()?;
    let messages = context.messages.iter().map(|message| match message.entry.at().checked_sub(old_entries) {
        None => Some(PlannedMessage::Shared(message.entry)),
        Some(at) => {
            let value = js::parse(&lines.get(at)?.text).ok()?;
            let kind = grown.entry(message.entry).kind;
            Some(PlannedMessage::Written(js::stringify(&message_of(&value, kind))))
        }
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
        if message.entry.at() < old_entries {
            return Ok(PlannedMessage::Shared(message.entry));
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
