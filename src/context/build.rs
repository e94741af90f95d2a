//! Builds the messages of a context from a branch, as the runtime does (compaction 4).

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use crate::context::projection::{from_reset, is_boundary, project, retained_by_reset};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::store::entry::{CharCount, EntryKind, MessageSize, Role, ToolResultSize};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::{Leaf, Tree};
use crate::units::Chars;

pub use crate::context::message::{ContentSource, ContextMessage};
pub use crate::context::projection::{entries_since_reset, first_kept};

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

// The messages of a context with cached columns: a settings change replans all messages, and each column reads only
// the fields it needs.

/// The messages of a context, in order. Derefs to a slice; changing it drops the caches.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    list: Vec<ContextMessage>,
    columns: OnceLock<PruneColumns>,
    tokens: OnceLock<Arc<[u64]>>,
}

/// The fields that pruning reads, one column each.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneColumns {
    /// Chars of each message as the pruner counts them (pruning 5.4).
    pub chars: Vec<CharCount>,
    /// Sum of `chars` in order; the exception if any message throws.
    pub total: Result<Chars, JsException>,
    /// Positions of tool results, ascending, with their sizes.
    pub results: Vec<(usize, ToolResultSize)>,
    /// Positions of assistant messages, ascending.
    pub replies: Vec<usize>,
    /// Position of the first user message (pruning 5.3).
    pub first_user: Option<usize>,
}

impl PruneColumns {
    pub fn from_sizes(sizes: impl Iterator<Item = MessageSize>) -> Self {
        let (mut chars, mut results, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        let mut first_user = None;
        for (at, size) in sizes.enumerate() {
            chars.push(size.prune_chars);
            match size.role {
                Role::ToolResult => results.push((at, size.tool_result_size())),
                Role::Assistant => replies.push(at),
                Role::User => first_user = first_user.or(Some(at)),
                _ => {}
            }
        }
        let total = chars.iter().try_fold(Chars::ZERO, |sum, chars: &CharCount| Ok(sum + chars.value()?));
        Self { chars, total, results, replies, first_user }
    }
}

impl Messages {
    pub fn reserve(&mut self, messages: usize) {
        self.list_mut().reserve_exact(messages);
    }

    pub fn push(&mut self, message: ContextMessage) {
        self.list_mut().push(message);
    }

    /// Returns the columns for pruning; cached.
    pub fn columns(&self) -> &PruneColumns {
        self.columns.get_or_init(|| PruneColumns::from_sizes(self.list.iter().map(|message| message.size)))
    }

    /// Returns the estimated tokens of each message; cached.
    pub fn tokens(&self) -> &Arc<[u64]> {
        let tokens = || self.list.iter().map(|message| estimate_or_zero(&message.size)).collect();
        self.tokens.get_or_init(tokens)
    }

    /// Returns the list for a change and drops the caches.
    fn list_mut(&mut self) -> &mut Vec<ContextMessage> {
        if self.columns.get().is_some() || self.tokens.get().is_some() {
            (self.columns, self.tokens) = Default::default();
        }
        &mut self.list
    }
}

impl Deref for Messages {
    type Target = [ContextMessage];

    fn deref(&self) -> &[ContextMessage] {
        &self.list
    }
}

impl DerefMut for Messages {
    fn deref_mut(&mut self) -> &mut [ContextMessage] {
        self.list_mut()
    }
}

impl From<Vec<ContextMessage>> for Messages {
    fn from(list: Vec<ContextMessage>) -> Self {
        Self { list, ..Self::default() }
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a ContextMessage;
    type IntoIter = std::slice::Iter<'a, ContextMessage>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// Caches are derived, so equality ignores them.
impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EntryIx;

    fn message(role: Role, chars: f64) -> ContextMessage {
        let chars = CharCount::new(Ok(Chars(chars)));
        let size = MessageSize { role, prune_chars: chars, pi_chars: chars, ..MessageSize::EMPTY };
        ContextMessage::from_entry(EntryIx(0), size)
    }

    #[test]
    fn changed_messages_get_new_columns() {
        let mut messages =
            Messages::from(vec![message(Role::Assistant, 8.0), message(Role::ToolResult, 5.0)]);
        assert_eq!((messages.columns().total, messages.tokens()[..].to_vec()), (Ok(Chars(13.0)), vec![2, 2]));
        messages.push(message(Role::User, 4.0));
        assert_eq!((messages.columns().total, messages.tokens().len()), (Ok(Chars(17.0)), 3));
        assert_eq!(messages.columns().first_user, Some(2));
        messages[0] = message(Role::ToolResult, 1.0);
        let columns = messages.columns();
        let results: Vec<usize> = columns.results.iter().map(|(at, _)| *at).collect();
        assert_eq!((columns.total, results, columns.replies.len()), (Ok(Chars(10.0)), vec![0, 1], 0));
        assert_eq!(messages.tokens()[..], [1, 2, 1]);
    }

    #[test]
    fn an_unmeasurable_message_invalidates_only_the_total() {
        let mut odd = message(Role::User, 1.0);
        odd.size.prune_chars = CharCount::new(Err(JsException));
        let columns = PruneColumns::from_sizes([message(Role::ToolResult, 3.0).size, odd.size].into_iter());
        assert_eq!(
            (columns.total, columns.results.len(), columns.first_user),
            (Err(JsException), 1, Some(1))
        );
    }
}
