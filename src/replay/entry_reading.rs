//! An entry as the runtime of a transcript reads it: its sizes, and whether it is a context edit.

use crate::context::projection::projected_size;
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, MessageSize, ReadMode};
use crate::store::index::Index;

/// Returns a message's sizes as the runtime of its transcript counts them.
pub(super) fn runtime_size(index: &Index, ix: EntryIx, size: &MessageSize) -> MessageSize {
    if index.pi_release.has(PiChange::CutsByContext) {
        projected_size(index, ix, size)
    } else {
        size.for_release(index.pi_release)
    }
}

/// Whether the runtime of the transcript reads an entry as a context edit.
pub(super) fn is_context_edit(index: &Index, ix: EntryIx) -> bool {
    index.reading == ReadMode::Projected && index.entry(ix).kind == EntryKind::ContextEdit
}
