//! Leaves messages out of a branch. A message of a tool pair takes its partners with it, so that no call and no result
//! stays alone; a message with text and images keeps the text and loses only the images. Answers that failed after it are
//! left out too: they are about a prompt that the branch no longer has.

use std::collections::BTreeSet;

use crate::context::ContextMessage;
use crate::context::bodies::read_message;
use crate::format::format_count;
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::plan::EntryChange;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::{Role, StopReason};
use crate::store::intern::IdIx;
use crate::units::Chars;

/// Tokens that stay of a message which loses its images, per character of its text.
const TOKENS_PER_CHAR: f64 = 0.25;

/// The messages that leave the context, and those that lose their images.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DropPlan {
    pub omitted: Vec<EntryIx>,
    pub changes: Vec<EntryChange>,
    /// How many of the omitted messages are answers that failed.
    pub failed: usize,
}

impl DropPlan {
    /// Plans to drop these entries. Entries that are not in the context are left to the preparation, which refuses them.
    ///
    /// # Errors
    /// When a message cannot be read again.
    pub fn new(session: &LoadedSession, entries: &[EntryIx]) -> Result<Self, BodyError> {
        let mut plan = Self::default();
        let mut omitted: BTreeSet<EntryIx> = BTreeSet::new();
        for entry in entries {
            let message = session.context.messages.iter().find(|message| message.entry == *entry);
            match message
                .filter(|message| message.size.images > 0 && message.size.text_chars.get() > Chars::ZERO)
            {
                Some(message) => {
                    let body = read_message(&session.source, &session.index, message)?;
                    plan.changes.push(EntryChange { entry: *entry, message: without_images(body) });
                }
                None => omitted.extend(pair_of(session, *entry)),
            }
        }
        plan.changes.retain(|change| !omitted.contains(&change.entry));
        let failed = failed_after(session, &omitted, &plan.changes);
        plan.failed = failed.len();
        omitted.extend(failed);
        plan.omitted = omitted.into_iter().collect();
        Ok(plan)
    }

    /// Estimates the tokens of the context before and after.
    pub fn tokens(&self, session: &LoadedSession) -> (u64, u64) {
        let tokens =
            |message: &ContextMessage| crate::context::tokens::chars4::estimate_or_zero(&message.size);
        let before: u64 = session.context.messages.iter().map(tokens).sum();
        let kept = |message: &ContextMessage| {
            if self.omitted.contains(&message.entry) {
                0
            } else if self.changes.iter().any(|change| change.entry == message.entry) {
                (message.size.text_chars.get().get() * TOKENS_PER_CHAR).ceil() as u64
            } else {
                tokens(message)
            }
        };
        (before, session.context.messages.iter().map(kept).sum())
    }

    /// Describes what is dropped.
    pub fn description(&self) -> String {
        let messages = |count: usize| format_count(count as u64, "message", "messages");
        let asked = self.omitted.len() - self.failed;
        let omitted = (asked > 0).then(|| format!("leaves out {}", messages(asked)));
        let images = (!self.changes.is_empty())
            .then(|| format!("removes the images of {}", messages(self.changes.len())));
        let answers = format_count(self.failed as u64, "answer", "answers");
        let failed = (self.failed > 0).then(|| format!("leaves out {answers} that failed later"));
        omitted.into_iter().chain(images).chain(failed).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the answers that failed after the first message that is dropped or changed.
fn failed_after(
    session: &LoadedSession,
    omitted: &BTreeSet<EntryIx>,
    changes: &[EntryChange],
) -> Vec<EntryIx> {
    let first = omitted.first().copied().into_iter().chain(changes.iter().map(|change| change.entry)).min();
    let failed = session.context.messages.iter().filter(|message| {
        message.size.stop_reason == StopReason::Error
            && first.is_some_and(|first| message.entry > first)
            && !omitted.contains(&message.entry)
    });
    failed.map(|message| message.entry).collect()
}

/// Replaces the images of a message with one line of text.
fn without_images(mut message: Value) -> Value {
    let is_image = |block: &Value| block.get("type").is_some_and(|kind| kind.str_is("image"));
    let Some(blocks) = message.get("content").and_then(Value::as_array) else { return message };
    let count = blocks.iter().filter(|block| is_image(block)).count();
    let mut kept: Vec<Value> = blocks.iter().filter(|block| !is_image(block)).cloned().collect();
    let note = format!("[{} removed]", format_count(count as u64, "image", "images"));
    kept.push(Value::Object(Object::from([("type", Value::from("text")), ("text", note.as_str().into())])));
    if let Some(object) = message.as_object_mut() {
        object.set("content", Value::Array(kept));
    }
    message
}

/// Returns an entry with the calls and results that belong to it in the context.
fn pair_of(session: &LoadedSession, entry: EntryIx) -> BTreeSet<EntryIx> {
    let index = &session.index;
    let calls = |ix: EntryIx| index.tool_calls_of(ix).iter().filter_map(|call| call.id);
    let is_sent = |message: &&ContextMessage| {
        !matches!(message.size.stop_reason, StopReason::Error | StopReason::Aborted)
    };
    let mut found = BTreeSet::from([entry]);
    let own: Option<IdIx> =
        index.entry(entry).message.filter(|size| size.role == Role::ToolResult).and_then(|size| size.call_id);
    let caller = own.and_then(|id| {
        let before = session.context.messages.iter().rev().filter(|message| message.entry < entry);
        before.filter(is_sent).find(|message| calls(message.entry).any(|call| call == id))
    });
    found.extend(caller.map(|message| message.entry));
    let ids: BTreeSet<IdIx> = found.iter().flat_map(|ix| calls(*ix)).collect();
    let first = found.first().copied().unwrap_or(entry);
    let results = session.context.messages.iter().filter(|message| {
        message.entry > first
            && message.size.role == Role::ToolResult
            && message.size.call_id.is_some_and(|id| ids.contains(&id))
    });
    found.extend(results.map(|message| message.entry));
    found
}
