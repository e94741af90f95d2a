//! The branch of a trace so far, as a compaction reads it.

use crate::ids::EntryIx;
use crate::policy::compact::BranchEntry;
use crate::store::entry::{MessageSize, Role};

/// The branch of a trace so far, as a compaction reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct TraceBranch {
    pub(super) entries: Vec<BranchEntry>,
    /// Messages of the path before each entry.
    pub(super) messages_before: Vec<usize>,
    /// The first entry that the last compaction kept.
    pub(super) first_kept: Option<usize>,
}

impl TraceBranch {
    /// Adds an entry with `before` messages of the path before it.
    pub(super) fn push(&mut self, entry: BranchEntry, before: usize) {
        self.entries.push(entry);
        self.messages_before.push(before);
    }

    pub(super) fn resize(&mut self, entry: EntryIx, size: MessageSize) {
        let own = self.entries.iter_mut().filter(|own| own.entry == entry);
        own.for_each(|own| own.message = Some(size).filter(|size| size.role != Role::Other));
    }

    /// Sets the first message that the last compaction keeps.
    pub(super) fn keep_from(&mut self, message: usize) {
        self.first_kept = Some(self.messages_before.partition_point(|before| *before < message));
    }
}
