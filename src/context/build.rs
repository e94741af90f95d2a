//! Builds the messages of a context from a branch, as the runtime does (compaction 4).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::context::messages::Messages;
use crate::context::projection::project;
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::store::entry::{EntryKind, MessageSize, Role};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::{Leaf, Tree};

/// One message of a context: its entry and its sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextMessage {
    /// The entry that holds the message, or from which it is built.
    pub entry: EntryIx,
    pub size: MessageSize,
    pub content_source: ContentSource,
}

/// The source of a message's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentSource {
    /// The entry alone.
    #[default]
    Own,
    /// The entry, with the content of this `context_edit` (store-pi-1.5 D4).
    Edited(EntryIx),
    /// The prompt and tools that a compaction stores with its summary (store-pi-1.5 D4).
    Checkpoint,
}

impl ContextMessage {
    /// Builds the message of an unedited entry.
    pub fn from_entry(entry: EntryIx, size: MessageSize) -> Self {
        Self { entry, size, content_source: ContentSource::Own }
    }
}

/// The messages sent from a leaf, without system prompt and tool schemas.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The last entry; `None` before the first entry.
    pub leaf: Option<EntryIx>,
    /// Entries from the root to the leaf.
    pub path: Vec<EntryIx>,
    pub messages: Messages,
    /// The effective compaction: the last one on the path (compaction 4.2), unless a reset follows it.
    pub compaction: Option<EntryIx>,
    /// The effective reset: the last one on the path, unless a compaction follows it (sqlite G2).
    pub reset: Option<EntryIx>,
    /// The last thinking level set on the path.
    pub thinking_level: Option<ValueIx>,
    /// Provider and model at the leaf (compaction 4.5).
    pub model: Option<(ValueIx, ValueIx)>,
    /// Edited entries with the effective edit, which omits the message or replaces its content (store-pi-1.5 D3).
    pub edits: HashMap<EntryIx, EntryIx>,
    /// Bodies of messages that cannot be trimmed from their sizes alone, by message index.
    pub odd_bodies: HashMap<usize, Arc<Value>>,
}

/// Builds the context of a leaf. Errors where the runtime throws: one `message` entry without a message makes the whole
/// path unreadable (compaction 4.4b).
pub fn build_context(index: &Index, tree: &Tree, leaf: &Leaf) -> Result<Context, JsException> {
    let Some(leaf) = tree.leaf(index, leaf) else { return Ok(Context::default()) };
    let path = tree.path_to(index, leaf);
    if path.iter().any(|ix| index.entry(*ix).lacks_message) {
        return Err(JsException);
    }
    let boundary = path.iter().rposition(|ix| is_boundary(index.entry(*ix).kind, tree));
    let of_kind = |kind| boundary.map(|at| path[at]).filter(|ix| index.entry(*ix).kind == kind);
    let mut context = Context {
        leaf: Some(leaf),
        thinking_level: last_value(index, &path, |entry| {
            (entry.kind == EntryKind::ThinkingLevelChange).then_some(entry.payload)
        }),
        model: last_value(index, &path, |entry| entry.model),
        compaction: of_kind(EntryKind::Compaction),
        reset: of_kind(EntryKind::Reset),
        ..Context::default()
    };
    if index.pi_release.has(PiChange::CutsByContext) {
        let projection = project(index, &path)?;
        for message in projection.messages {
            context.push(index, message);
        }
        context.edits = projection.edits;
        context.path = path;
        return Ok(context);
    }
    let excluded = |ix: &EntryIx| tree.has_resets() && index.entry(*ix).is_excluded;
    let (retained, from) = match (boundary, context.compaction) {
        (None, _) => (Vec::new(), 0),
        (Some(at), Some(compaction)) => {
            context.push_entry(index, compaction);
            let from = first_kept(index, &path[..at], compaction).unwrap_or(at);
            (path[from..at].iter().copied().filter(|ix| !excluded(ix)).collect(), at + 1)
        }
        (Some(at), None) => (retained_by_reset(index, &path[..at], path[at]), at + 1),
    };
    let later = path[from..].iter().copied().filter(|ix| !excluded(ix));
    for ix in retained.into_iter().chain(later).filter(|ix| index.entry(*ix).becomes_message()) {
        context.push_entry(index, ix);
    }
    context.path = path;
    Ok(context)
}

/// Whether a context starts again at an entry of this kind.
fn is_boundary(kind: EntryKind, tree: &Tree) -> bool {
    kind == EntryKind::Compaction || kind == EntryKind::Reset && tree.has_resets()
}

/// Returns the earlier entries that a reset keeps: from the entry it names, user and assistant messages and the results
/// of kept calls (sqlite G2).
fn retained_by_reset(index: &Index, before: &[EntryIx], reset: EntryIx) -> Vec<EntryIx> {
    let from = first_kept(index, before, reset).unwrap_or(before.len());
    let mut calls = HashSet::new();
    let keeps = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        let Some(size) = entry.message.filter(|_| entry.kind == EntryKind::Message) else { return false };
        match size.role {
            Role::User => true,
            Role::Assistant => {
                calls.extend(index.tool_calls_of(*ix).iter().filter_map(|call| call.id));
                true
            }
            Role::ToolResult => size.call_id.is_some_and(|call| calls.contains(&call)),
            _ => false,
        }
    };
    before[from..].iter().copied().filter(keeps).collect()
}

/// Returns the part of a path that its effective reset leaves: the kept entries, the reset, and everything after.
/// Without one, the whole path. Compactions and replays start from it (compaction 12, row "Range start").
pub fn entries_since_reset(index: &Index, tree: &Tree, path: &[EntryIx]) -> Vec<EntryIx> {
    let boundary = path.iter().rposition(|ix| is_boundary(index.entry(*ix).kind, tree));
    let reset = boundary.filter(|at| index.entry(path[*at]).kind == EntryKind::Reset);
    from_reset(index, path, reset)
}

fn from_reset(index: &Index, path: &[EntryIx], reset: Option<usize>) -> Vec<EntryIx> {
    let Some(at) = reset else { return path.to_vec() };
    let mut left = retained_by_reset(index, &path[..at], path[at]);
    left.extend(&path[at..]);
    left
}

impl Context {
    /// Returns the part of the path that the effective reset leaves: see [`entries_since_reset`].
    pub fn entries_since_reset(&self, index: &Index) -> Vec<EntryIx> {
        let reset = self.reset.and_then(|reset| self.path.iter().position(|ix| *ix == reset));
        from_reset(index, &self.path, reset)
    }

    fn push_entry(&mut self, index: &Index, ix: EntryIx) {
        let Some(size) = index.entry(ix).message else { return };
        self.push(index, ContextMessage::from_entry(ix, size.for_release(index.pi_release)));
    }

    fn push(&mut self, index: &Index, message: ContextMessage) {
        if let Some(body) = index.retained_bodies.get(&message.entry).filter(|_| message.size.needs_body) {
            self.odd_bodies.insert(self.messages.len(), Arc::clone(body));
        }
        self.messages.push(message);
    }

    /// Returns the message index of an entry.
    pub fn position(&self, entry: EntryIx) -> Option<usize> {
        self.messages.iter().position(|message| message.entry == entry)
    }
}

fn last_value<T>(
    index: &Index,
    path: &[EntryIx],
    pick: impl Fn(&crate::store::entry::Entry) -> Option<T>,
) -> Option<T> {
    path.iter().rev().find_map(|ix| pick(index.entry(*ix)))
}

/// Returns the position where the kept part begins: the entry that `firstKeptEntryId` names. `None`, and so nothing is
/// kept, unless that entry precedes the compaction or reset on the path (compaction 4.3).
pub fn first_kept(index: &Index, before: &[EntryIx], compaction: EntryIx) -> Option<usize> {
    let kept = index.entry(compaction).reference?;
    before.iter().position(|ix| index.entry(*ix).id == Some(kept))
}
