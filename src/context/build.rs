//! The messages of a context, as the runtime puts them together from a branch (compaction 4).

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::projection::project;
use crate::ids::EntryIx;
use crate::js::{Throws, Value};
use crate::store::entry::{EntryKind, MessageSize, Reading, Role};
use crate::store::index::Index;
use crate::store::intern::WordIx;
use crate::transcript::{Leaf, Tree};

/// One message of a context: the entry it comes from and its sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextMessage {
    /// The entry that holds the message, or from which it is built.
    pub entry: EntryIx,
    /// Its sizes.
    pub size: MessageSize,
    /// What makes it of that entry.
    pub made: Made,
}

/// What makes a message of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Made {
    /// The entry alone.
    #[default]
    Own,
    /// The entry, its content replaced by that of this `context_edit` (store-pi-1.5 D4).
    Edited(EntryIx),
    /// The prompt and tools that a compaction carries beside its summary (store-pi-1.5 D4).
    Checkpoint,
}

impl ContextMessage {
    /// The message that an entry is, or becomes by itself.
    pub fn own(entry: EntryIx, size: MessageSize) -> Self {
        Self { entry, size, made: Made::Own }
    }
}

/// What the model would be sent from a leaf, without system prompt and tool schemas.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The entry it ends at; none before the first entry.
    pub leaf: Option<EntryIx>,
    /// Entries from the root to the leaf.
    pub path: Vec<EntryIx>,
    /// The messages, in order.
    pub messages: Vec<ContextMessage>,
    /// The compaction that counts: the last one on the path (compaction 4.2).
    pub compaction: Option<EntryIx>,
    /// The last change of the thinking level on the path.
    pub thinking: Option<WordIx>,
    /// Provider and model in force at the leaf (compaction 4.5).
    pub model: Option<(WordIx, WordIx)>,
    /// Entries that an edit leaves out, or replaces the content of, with that edit (store-pi-1.5 D3).
    pub edits: HashMap<EntryIx, EntryIx>,
    /// Bodies of the messages whose sizes do not tell what trimming makes of them, by index.
    pub odd: HashMap<usize, Arc<Value>>,
}

/// Builds the context for a leaf. Throws where the runtime does: a `message` entry on the path without
/// a message spoils the whole (compaction 4.4b).
pub fn build(index: &Index, tree: &Tree, leaf: &Leaf) -> Result<Context, Throws> {
    let Some(leaf) = tree.leaf(index, leaf) else { return Ok(Context::default()) };
    let path = tree.walk(leaf);
    let projected = index.reading == Reading::Projected;
    if path.iter().any(|ix| index.entry(*ix).no_message) {
        return Err(Throws);
    }
    let compaction = path.iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Compaction);
    let mut context = Context {
        leaf: Some(leaf),
        thinking: last(index, &path, |entry| {
            (entry.kind == EntryKind::ThinkingLevelChange).then_some(entry.word)
        }),
        model: last(index, &path, |entry| entry.model),
        compaction: compaction.map(|at| path[at]),
        ..Context::default()
    };
    if projected {
        let projection = project(index, &path)?;
        for message in projection.messages {
            context.push(index, message);
        }
        context.edits = projection.edited;
        context.path = path;
        return Ok(context);
    }
    let kept = match compaction {
        None => path.clone(),
        Some(at) => {
            context.push_any(index, path[at]);
            let from = first_kept(index, &path[..at], path[at]).unwrap_or(at);
            path[from..at].iter().chain(&path[at + 1..]).copied().collect()
        }
    };
    for ix in kept.into_iter().filter(|ix| index.entry(*ix).makes_message()) {
        context.push_any(index, ix);
    }
    context.path = path;
    Ok(context)
}

impl Context {
    fn push_any(&mut self, index: &Index, ix: EntryIx) {
        let Some(size) = index.entry(ix).message else { return };
        self.push(index, ContextMessage::own(ix, size.read_as(Reading::Entries)));
    }

    fn push(&mut self, index: &Index, message: ContextMessage) {
        if let Some(body) = index.odd.get(&message.entry).filter(|_| message.size.odd) {
            self.odd.insert(self.messages.len(), Arc::clone(body));
        }
        self.messages.push(message);
    }

    /// The index of the first user message (pruning 5.3).
    pub fn first_user(&self) -> Option<usize> {
        self.messages.iter().position(|message| message.size.role == Role::User)
    }

    /// Where an entry stands among the messages.
    pub fn position(&self, entry: EntryIx) -> Option<usize> {
        self.messages.iter().position(|message| message.entry == entry)
    }
}

fn last<T>(
    index: &Index,
    path: &[EntryIx],
    pick: impl Fn(&crate::store::entry::Entry) -> Option<T>,
) -> Option<T> {
    path.iter().rev().find_map(|ix| pick(index.entry(*ix)))
}

/// Where the kept part begins: the entry that `firstKeptEntryId` names, if it stands before the
/// compaction on the path; otherwise nothing is kept (compaction 4.3).
pub fn first_kept(index: &Index, before: &[EntryIx], compaction: EntryIx) -> Option<usize> {
    let kept = index.entry(compaction).reference?;
    before.iter().position(|ix| index.entry(*ix).id == Some(kept))
}
