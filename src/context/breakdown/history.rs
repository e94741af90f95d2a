//! The live window against what the session holds.

use crate::context::build::Context;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::store::entry::EntryKind;
use crate::store::index::Index;

/// A number of messages and what they count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Messages.
    pub messages: u64,
    /// Estimated tokens.
    pub tokens: u64,
}

/// How much of a session is in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    /// What is sent from the leaf, summaries included.
    pub live: Extent,
    /// Every message from the root to the leaf, compacted ones included; the summary of a compaction is none.
    pub path: Extent,
    /// Every message of the file, other branches included.
    pub file: Extent,
    /// Compactions on the path.
    pub compactions: u64,
}

impl History {
    /// Counts a session.
    pub fn new(index: &Index, context: &Context) -> Self {
        let live = context.messages.iter().fold(Extent::default(), |sum, message| Extent {
            messages: sum.messages + 1,
            tokens: sum.tokens + estimate_or_zero(&message.size),
        });
        let compactions = context.path.iter().filter(|ix| index.entry(**ix).kind == EntryKind::Compaction);
        Self {
            live,
            path: extent(index, context.path.iter().copied()),
            file: extent(index, index.iter().map(|(ix, _)| ix)),
            compactions: compactions.count() as u64,
        }
    }
}

fn extent(index: &Index, entries: impl Iterator<Item = EntryIx>) -> Extent {
    let sizes =
        entries.filter(|ix| index.entry(*ix).makes_message()).filter_map(|ix| index.entry(ix).message);
    sizes.fold(Extent::default(), |sum, size| Extent {
        messages: sum.messages + 1,
        tokens: sum.tokens + estimate_or_zero(&size),
    })
}
