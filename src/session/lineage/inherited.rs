//! History that a fork or a new thread copied from its parent. Copies keep their ids and times, so an entry that is
//! older than its own file was copied (store K, N).

use std::path::Path;

use crate::ids::EntryIx;
use crate::js::Value;
use crate::store::entry::{Entry, EntryKind};
use crate::store::index::Index;
use crate::store::session::Session;
use crate::units::Moment;

/// The copied part of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Inherited {
    /// The parent as the header or the record names it: a path, an id or a key.
    pub parent: String,
    /// Whether the gateway forked it for a thread; otherwise the file continues or branches off another one.
    pub is_fork: bool,
    /// The last copied entry.
    pub last: EntryIx,
    /// Number of copied messages.
    pub messages: usize,
    /// Number of messages in the file.
    pub of: usize,
}

impl Inherited {
    pub(super) fn find(session: &Session, index: &Index) -> Option<Self> {
        let member = |name: &str| session.record.as_ref()?.member(name);
        let is_fork = member("forkedFromParent").as_ref().and_then(Value::as_bool) == Some(true)
            || member("forkSource").is_some_and(|source| source.as_object().is_some());
        let header = index.header.as_ref()?;
        let parent = header.parent.clone();
        let parent = parent.or_else(|| session.record.as_ref()?.parent().filter(|_| is_fork))?;
        let is_message = |ix: &EntryIx| index.entry(*ix).kind == EntryKind::Message;
        let copied = copied_entries(index, header.started_ms);
        Some(Self {
            is_fork,
            last: copied.last().copied()?,
            messages: copied.iter().filter(|ix| is_message(ix)).count(),
            of: index.iter().filter(|(ix, _)| is_message(ix)).count(),
            parent,
        })
        .filter(|found| found.messages > 0)
    }
}

/// Returns the entries that are older than their file, in file order.
fn copied_entries(index: &Index, started_ms: Moment) -> Vec<EntryIx> {
    index.iter().filter(|(_, entry)| entry.time_ms < started_ms).map(|(ix, _)| ix).collect()
}

/// Returns the entries whose calls another session made and paid for: those copied from a parent that still exists.
pub fn inherited_calls(index: &Index) -> Vec<EntryIx> {
    let header = index.header.as_ref();
    let Some((header, parent)) = header.and_then(|header| Some((header, header.parent.as_deref()?))) else {
        return Vec::new();
    };
    // An id names a session of the same database; a path names a file, which may be gone or moved with its folder.
    let beside = || index.path.with_file_name(parent.rsplit(['/', '\\']).next().unwrap_or(parent));
    let exists = !parent.contains(['/', '\\']) || Path::new(parent).is_file() || beside().is_file();
    if !exists {
        return Vec::new();
    }
    // A commit writes changed messages anew, and with them those behind; an answer keeps its own time.
    let is_copy = |entry: &Entry| {
        entry.time_ms < header.started_ms
            || entry.is_model_call() && Moment(entry.payload_number) < header.started_ms
    };
    index.iter().filter(|(_, entry)| is_copy(entry)).map(|(ix, _)| ix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::loaded_session;

    fn index_of(parent: &str) -> std::sync::Arc<Index> {
        let message = |id: &str, time: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"{time}","message":{{"role":"user","content":"x"}}}}"#
            )
        };
        let header = format!(
            r#"{{"type":"session","version":3,"id":"s","timestamp":"2026-02-25T08:00:00.000Z"{parent}}}"#
        );
        let lines =
            [header, message("a", "2026-02-24T08:00:00.000Z"), message("b", "2026-02-25T08:00:00.000Z")];
        loaded_session(&lines.join("\n"), 200_000.0).index
    }

    #[test]
    fn entries_older_than_a_file_with_a_parent_were_copied() {
        let copied = |parent: &str| inherited_calls(&index_of(parent)).len();
        assert_eq!(copied(r#","parentSession":"4d625a73""#), 1, "a session of the same database");
        assert_eq!(copied(r#","parentSession":"/nowhere/a.jsonl""#), 0, "only this file still counts them");
        assert_eq!(copied(""), 0, "an old entry alone proves no parent");
    }

    #[test]
    fn an_answer_older_than_its_file_was_copied_although_its_entry_is_new() {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-25T08:00:00.000Z","parentSession":"4d625a73"}"#;
        let answer = |id: &str, time: u64| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-02-25T08:00:00.000Z","message":{{"role":"assistant","timestamp":{time},"provider":"p","model":"m","content":[],"stopReason":"stop"}}}}"#
            )
        };
        let lines = [header.to_owned(), answer("a", 1_772_006_399_000), answer("b", 1_772_006_401_000)];
        let index = loaded_session(&lines.join("\n"), 200_000.0).index;
        assert_eq!(inherited_calls(&index), [EntryIx(0)]);
    }
}
