//! Leaves messages out of a branch. A message of a tool pair takes its partners with it, so that no call and no result
//! stays alone; a message with text and images keeps the text and loses only the images. Answers that failed after it are
//! left out too: they are about a prompt that the branch no longer has.

use std::collections::BTreeSet;

use crate::context::ContextMessage;
use crate::context::bodies::read_message;
use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::format::format_count;
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::plan::EntryChange;
use crate::session::{LoadedSession, ManualChange};
use crate::store::body::BodyError;
use crate::store::entry::{Role, StopReason};
use crate::store::intern::IdIx;
use crate::units::Chars;

/// The messages that leave the context, and those that lose their images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DropPlan {
    pub omitted: Vec<EntryIx>,
    /// The messages that stay without their images.
    pub imageless: Vec<EntryIx>,
    /// How many of the omitted messages are answers that failed.
    pub failed: usize,
}

impl DropPlan {
    /// Plans to drop these entries, from sizes alone. Entries that are not in the context are left to the preparation,
    /// which refuses them.
    pub fn new(session: &LoadedSession, entries: &[EntryIx]) -> Self {
        let has_both =
            |message: &ContextMessage| message.size.images > 0 && message.size.text_chars.get() > Chars::ZERO;
        let keeps_text = |entry: &EntryIx| {
            session.context.messages.iter().any(|message| message.entry == *entry && has_both(message))
        };
        let (mut imageless, whole): (Vec<EntryIx>, Vec<EntryIx>) =
            entries.iter().partition(|ix| keeps_text(ix));
        let mut omitted: BTreeSet<EntryIx> = whole.iter().flat_map(|ix| pair_of(session, *ix)).collect();
        imageless.retain(|entry| !omitted.contains(entry));
        let failed = failed_after(session, &omitted, &imageless);
        let failed_count = failed.len();
        omitted.extend(failed);
        Self { omitted: omitted.into_iter().collect(), imageless, failed: failed_count }
    }

    /// Reads the messages that stay without their images.
    ///
    /// # Errors
    /// When a message cannot be read again.
    pub fn entry_changes(&self, session: &LoadedSession) -> Result<Vec<EntryChange>, BodyError> {
        let changed = session.context.messages.iter().filter(|it| self.imageless.contains(&it.entry));
        let change = |message: &ContextMessage| {
            let body = read_message(&session.source, &session.index, message)?;
            Ok(EntryChange { entry: message.entry, message: without_images(body) })
        };
        changed.map(change).collect()
    }

    /// Estimates the tokens that stay of a message.
    pub fn tokens_after(&self, message: &ContextMessage) -> u64 {
        if self.omitted.contains(&message.entry) {
            0
        } else if self.imageless.contains(&message.entry) {
            estimate_chars(message.size.text_chars.get())
        } else {
            estimate_or_zero(&message.size)
        }
    }

    /// Describes what is dropped.
    pub fn description(&self) -> String {
        let messages = |count: usize| format_count(count as u64, "message", "messages");
        let asked = self.omitted.len() - self.failed;
        let omitted = (asked > 0).then(|| format!("leaves out {}", messages(asked)));
        let images = (!self.imageless.is_empty())
            .then(|| format!("removes the images of {}", messages(self.imageless.len())));
        let answers = format_count(self.failed as u64, "answer", "answers");
        let failed = (self.failed > 0).then(|| format!("leaves out {answers} that failed later"));
        omitted.into_iter().chain(images).chain(failed).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the answers that failed after the first message that is dropped or changed.
fn failed_after(session: &LoadedSession, omitted: &BTreeSet<EntryIx>, imageless: &[EntryIx]) -> Vec<EntryIx> {
    let first = omitted.iter().chain(imageless).copied().min();
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

// The effect of a change that a person chose: the promise of the dialog and of the command, and the numbers of the
// commit's record.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualEffect {
    /// What happens to which messages, in a sentence.
    pub description: String,
    /// Estimated tokens of the messages before and after.
    pub message_tokens: (u64, u64),
    /// Tokens of the next prompt before and after, in the provider's count where it is known.
    pub prompt_tokens: (u64, u64),
    /// Tokens of the first changed message and all behind it, before and after, by the same count.
    pub tail_tokens: (u64, u64),
}

impl ManualEffect {
    pub fn new(session: &LoadedSession, change: &ManualChange) -> Self {
        let names = change.names(session).join(", ");
        match change {
            ManualChange::Branch(leaf) => Self {
                description: format!("{names}: becomes the last message"),
                ..Self::of_branch(session, *leaf)
            },
            ManualChange::Drop(entries) => {
                let plan = DropPlan::new(session, entries);
                let description = format!("{names}: {}", plan.description());
                Self { description, ..Self::of_drop(session, &plan) }
            }
        }
    }

    /// An entry that ends no branch changes nothing here; the preparation refuses it.
    fn of_branch(session: &LoadedSession, leaf: EntryIx) -> Self {
        let then = session.at_entry(leaf);
        let other = then.as_ref().unwrap_or(session);
        let [now, after] = [session, other].map(|session| &session.context.messages[..]);
        let shared = now.iter().zip(after).take_while(|(one, other)| one.entry == other.entry).count();
        let [now_prompt, after_prompt] = [session, other].map(|session| &*session.next_prompt);
        Self {
            description: String::new(),
            message_tokens: (total(now), total(after)),
            prompt_tokens: (now_prompt.total.tokens, after_prompt.total.tokens),
            tail_tokens: (
                tail(&now_prompt.message_tokens, shared),
                tail(&after_prompt.message_tokens, shared),
            ),
        }
    }

    fn of_drop(session: &LoadedSession, plan: &DropPlan) -> Self {
        let (prompt, messages) = (&session.next_prompt, &session.context.messages);
        let left = |(at, message): (usize, &ContextMessage)| match message.entry {
            entry if plan.omitted.contains(&entry) => 0,
            entry if plan.imageless.contains(&entry) => prompt.tokens_of_text(&session.context, at),
            _ => prompt.tokens_of(at),
        };
        let after: Vec<u64> = messages.iter().enumerate().map(left).collect();
        let changed = |message: &ContextMessage| {
            plan.omitted.contains(&message.entry) || plan.imageless.contains(&message.entry)
        };
        let first = messages.iter().position(changed).unwrap_or(messages.len());
        let tail_tokens = (tail(&prompt.message_tokens, first), tail(&after, first));
        let freed = tail_tokens.0.saturating_sub(tail_tokens.1);
        Self {
            description: String::new(),
            message_tokens: (
                total(messages),
                messages.iter().map(|message| plan.tokens_after(message)).sum(),
            ),
            prompt_tokens: (prompt.total.tokens, prompt.total.tokens.saturating_sub(freed)),
            tail_tokens,
        }
    }
}

fn tail(tokens: &[u64], first: usize) -> u64 {
    tokens.iter().skip(first).sum()
}

fn total(messages: &[ContextMessage]) -> u64 {
    messages.iter().map(|message| estimate_or_zero(&message.size)).sum()
}
