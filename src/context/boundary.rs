//! Where a context starts again: at a compaction or a reset, and which earlier entries it keeps (compaction 4.2, 4.3).

use std::collections::HashSet;

use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::transcript::Tree;

/// Whether a context starts again at an entry of this kind.
pub(super) fn is_boundary(kind: EntryKind, tree: &Tree) -> bool {
    kind == EntryKind::Compaction || kind == EntryKind::Reset && tree.has_resets()
}

/// Returns the earlier entries that a reset keeps: from the entry it names, user and assistant messages and the results
/// of kept calls (sqlite G2).
pub(super) fn retained_by_reset(index: &Index, before: &[EntryIx], reset: EntryIx) -> Vec<EntryIx> {
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

pub(super) fn from_reset(index: &Index, path: &[EntryIx], reset: Option<usize>) -> Vec<EntryIx> {
    let Some(at) = reset else { return path.to_vec() };
    let mut left = retained_by_reset(index, &path[..at], path[at]);
    left.extend(&path[at..]);
    left
}

/// Returns the position where the kept part begins: the entry that `firstKeptEntryId` names. `None`, and so nothing is
/// kept, unless that entry precedes the compaction or reset on the path (compaction 4.3).
pub fn first_kept(index: &Index, before: &[EntryIx], compaction: EntryIx) -> Option<usize> {
    let kept = index.entry(compaction).reference?;
    before.iter().position(|ix| index.entry(*ix).id == Some(kept))
}
