//! Builds the messages of a context from a branch, as the runtime does (compaction 4).

use std::collections::HashMap;
use std::sync::Arc;

pub use crate::context::boundary::{entries_since_reset, first_kept};
pub use crate::context::message::{ContentSource, ContextMessage};

use crate::context::boundary::{from_reset, is_boundary, retained_by_reset};
use crate::context::messages::Messages;
use crate::context::projection::project;
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::{Leaf, Tree};

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
    /// Whether the call on display sent all messages but the last, which answers it; otherwise the next call sends them all.
    pub ends_with_answer: bool,
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
