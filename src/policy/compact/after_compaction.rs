//! Builds the compaction entry that is appended to a branch, and the context that follows it (compaction 3.21, 3.22,
//! 4.2–4.4). Nothing is written here; the index serves as if the entry were already in the file.

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::bodies::entry_message;
use crate::context::projection::project;
use crate::context::tokens::{ContextEstimate, estimate_context, estimate_projected};
use crate::context::{ContentSource, Context, ContextMessage};
use crate::gateway::ruleset::PiChange;
use crate::ids::{EntryIx, LineIds};
use crate::js::{self, JsException, JsString, Object, Value};
use crate::policy::compact::files::FileLists;
use crate::store::entry::{EntryKind, ReadMode, Role};
use crate::store::index::{Index, LinePosition};
use crate::store::scan::measure_message;
use crate::units::{Bytes, Moment, Tokens};

/// The content of a compaction entry.
#[derive(Debug, Clone)]
pub struct CompactionEntry {
    /// The complete summary, including file lists and all other appended sections.
    pub summary: JsString,
    pub first_kept: EntryIx,
    /// Tokens of the context before the compaction.
    pub tokens_before: Tokens,
    /// The file lists, which the next compaction continues.
    pub details: Option<FileLists>,
    /// `fromHook`: an extension made the summary.
    pub from_hook: Option<bool>,
    /// System prompt and tools at this point, for runtimes that project; `None` when the context has none (store-pi-1.5
    /// I4).
    pub checkpoint: Option<Value>,
}

impl CompactionEntry {
    /// Builds the stored entry with its keys in order (compaction 3.21); `now_ms` becomes its timestamp.
    pub fn to_json(&self, index: &Index, id: &str, parent: EntryIx, now_ms: Moment) -> Value {
        let id_of = |ix: EntryIx| index.entry(ix).id.map_or(Value::Null, |id| index.ids.value(id));
        self.to_json_at(id, id_of(parent), id_of(self.first_kept), now_ms)
    }

    /// Builds the stored entry under any parent; `first_kept` is the id that the first kept entry has there.
    pub fn to_json_at(&self, id: &str, parent: Value, first_kept: Value, now_ms: Moment) -> Value {
        let mut entry = Object::from([
            ("type", Value::from("compaction")),
            ("id", Value::from(id)),
            ("parentId", parent),
            ("timestamp", Value::from(js::iso_text(now_ms))),
            ("summary", Value::String(self.summary.clone())),
            ("firstKeptEntryId", first_kept),
            ("tokensBefore", Value::Number(self.tokens_before.get())),
        ]);
        if let Some(lists) = &self.details {
            let lists = [("readFiles", lists.read.clone()), ("modifiedFiles", lists.modified.clone())];
            entry.set("details", Value::Object(Object::from(lists)));
        }
        if let Some(from_hook) = self.from_hook {
            entry.set("fromHook", Value::Bool(from_hook));
        }
        if let Some(checkpoint) = &self.checkpoint {
            entry.set("systemMessage", checkpoint.clone());
        }
        Value::Object(entry)
    }
}

/// The context after a compaction that is not written yet.
#[derive(Debug, Clone)]
pub struct CompactedContext {
    /// The compaction is its leaf and its first message, under the index that the file's next entry would get.
    pub context: Context,
    /// The compaction's message.
    pub summary: Value,
    /// The compaction as stored.
    entry: Value,
    /// The runtime's estimate of the context.
    pub estimate: Result<ContextEstimate, JsException>,
}

impl CompactedContext {
    /// Returns a message's body; `read` loads one that is in the file.
    pub fn message<E>(
        &self,
        message: &ContextMessage,
        read: impl Fn(&ContextMessage) -> Result<Value, E>,
    ) -> Result<Value, E> {
        if Some(message.entry) != self.context.compaction {
            return read(message);
        }
        let checkpoint = || self.entry.get("systemMessage").cloned().unwrap_or(Value::Null);
        Ok(if message.content_source == ContentSource::Checkpoint {
            checkpoint()
        } else {
            self.summary.clone()
        })
    }
}

/// Builds the context after `entry`, made by [`CompactionEntry::to_json`], is appended to the leaf of `before`. Errors
/// where appending throws (compaction 3.22).
pub fn context_after(
    index: &Index,
    before: &Context,
    first_kept: EntryIx,
    entry: &Value,
) -> Result<CompactedContext, JsException> {
    check_appendable(index)?;
    let compaction = EntryIx(index.entries.len() as u32);
    let summary = entry_message(entry, EntryKind::Compaction);
    if index.pi_release.has(PiChange::CutsByContext) {
        return projected_context_after(index, before, entry, summary);
    }
    let summary_message = ContextMessage::from_entry(compaction, measure_message(&summary).size);
    let mut context = Context {
        leaf: Some(compaction),
        path: before.path.iter().copied().chain([compaction]).collect(),
        messages: vec![summary_message].into(),
        edits: HashMap::new(),
        compaction: Some(compaction),
        reset: None,
        thinking_level: before.thinking_level,
        model: before.model,
        odd_bodies: HashMap::new(),
        ends_with_answer: false,
    };
    let from = before.path.iter().position(|ix| *ix == first_kept).unwrap_or(before.path.len());
    for ix in &before.path[from..] {
        let kept = index.entry(*ix);
        let Some(size) = kept.message.filter(|_| kept.becomes_message()) else { continue };
        if let Some(body) = index.retained_bodies.get(ix).filter(|_| size.needs_body) {
            context.odd_bodies.insert(context.messages.len(), Arc::clone(body));
        }
        context.messages.push(ContextMessage::from_entry(*ix, size.for_release(index.pi_release)));
    }
    let estimate = estimate_context(&context.messages);
    Ok(CompactedContext { context, summary, entry: entry.clone(), estimate })
}

/// Builds it for runtimes that project: appends the entry to a copy of the index and projects the branch.
fn projected_context_after(
    index: &Index,
    before: &Context,
    entry: &Value,
    summary: Value,
) -> Result<CompactedContext, JsException> {
    let mut grown = index.clone();
    let place = LinePosition { offset: grown.end, bytes: Bytes::ZERO, line: grown.line_count + 1 };
    grown.push_parsed(entry, place, &mut LineIds);
    let compaction = EntryIx(index.entries.len() as u32);
    let path: Vec<EntryIx> = before.path.iter().copied().chain([compaction]).collect();
    let projection = project(&grown, &path)?;
    let context = Context {
        leaf: Some(compaction),
        messages: projection.messages.into(),
        edits: projection.edits,
        path,
        compaction: Some(compaction),
        reset: None,
        thinking_level: before.thinking_level,
        model: before.model,
        odd_bodies: HashMap::new(),
        ends_with_answer: false,
    };
    let estimate = match grown.reading {
        ReadMode::Entries => estimate_context(&context.messages),
        ReadMode::Projected => estimate_projected(&grown, &context.path, &context.messages),
    };
    Ok(CompactedContext { context, summary, entry: entry.clone(), estimate })
}

/// Checks that appending does not throw. Appending searches the whole file, on any branch, for the first assistant
/// message, and throws at a `message` entry that has no message before it (compaction 3.22).
fn check_appendable(index: &Index) -> Result<(), JsException> {
    for entry in index.entries.iter() {
        if entry.lacks_message {
            return Err(JsException);
        }
        if entry.kind == EntryKind::Message && entry.role() == Some(Role::Assistant) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::build_context;
    use crate::store::load::load_bytes;
    use crate::transcript::{Leaf, Tree};

    const LINES: [&str; 5] = [
        r#"{"type":"session","version":3,"id":"s"}"#,
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"old"}}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[]}}"#,
        r#"{"type":"label","id":"c","parentId":"b","targetId":"a"}"#,
        r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"new"}}"#,
    ];

    fn index(lines: &[&str]) -> Index {
        load_bytes("t.jsonl", (lines.join("\n") + "\n").as_bytes(), &mut LineIds)
    }

    fn entry() -> CompactionEntry {
        CompactionEntry {
            summary: "so far".into(),
            first_kept: EntryIx(2),
            tokens_before: Tokens(9.0),
            details: Some(FileLists { read: vec!["a.rs".into()], modified: Vec::new() }),
            from_hook: None,
            checkpoint: None,
        }
    }

    #[test]
    fn the_stored_entry_has_its_keys_in_order() {
        let stored =
            js::stringify(&entry().to_json(&index(&LINES), "n", EntryIx(3), Moment(1_700_000_000_000.0)));
        let expected = r#"{"type":"compaction","id":"n","parentId":"d","timestamp":"2023-11-14T22:13:20.000Z","summary":"so far","firstKeptEntryId":"c","tokensBefore":9,"details":{"readFiles":["a.rs"],"modifiedFiles":[]}}"#;
        assert_eq!(stored, expected);
    }

    /// The predicted context must equal the one read back once the entry is in the file.
    #[test]
    fn the_predicted_context_equals_the_one_read_back() {
        let before = index(&LINES);
        let value = entry().to_json(&before, "n", EntryIx(3), Moment(1_700_000_000_000.0));
        let context = build_context(&before, &Tree::new(&before), &Leaf::Own).expect("builds");
        let after = context_after(&before, &context, EntryIx(2), &value).expect("can be appended");

        let stored = js::stringify(&value);
        let grown = index(&LINES.iter().copied().chain([stored.as_str()]).collect::<Vec<_>>());
        let read = build_context(&grown, &Tree::new(&grown), &Leaf::Own).expect("builds");
        assert_eq!(after.context.messages, read.messages);
        assert_eq!((after.context.path, after.context.compaction), (read.path, read.compaction));
        assert_eq!(after.summary.get("timestamp"), Some(&Value::from(1_700_000_000_000.0)));
    }

    #[test]
    fn an_entry_without_a_message_before_the_first_answer_prevents_appending() {
        let broken = r#"{"type":"message","id":"x","parentId":null}"#;
        let before = index(&[LINES[0], LINES[1], broken, LINES[2]]);
        assert_eq!(check_appendable(&before), Err(JsException));
        let behind = index(&[LINES[0], LINES[1], LINES[2], broken]);
        assert_eq!(check_appendable(&behind), Ok(()));
    }
}
