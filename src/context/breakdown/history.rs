//! The live window against what the session holds.

use crate::context::build::Context;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::store::entry::EntryKind;
use crate::store::index::Index;

/// A number of messages and what they count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageSum {
    /// Messages.
    pub messages: u64,
    /// Estimated tokens.
    pub tokens: u64,
}

/// How much of a session is in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowHistory {
    /// What is sent from the leaf, summaries included.
    pub live: MessageSum,
    /// Every message from the root to the leaf, compacted ones included; the summary of a compaction is none.
    pub path: MessageSum,
    /// Every message of the file, other branches included.
    pub file: MessageSum,
    /// Compactions on the path.
    pub compactions: u64,
}

impl WindowHistory {
    /// Counts a session.
    pub fn new(index: &Index, context: &Context) -> Self {
        let live = context.messages.iter().fold(MessageSum::default(), |sum, message| MessageSum {
            messages: sum.messages + 1,
            tokens: sum.tokens + estimate_or_zero(&message.size),
        });
        let compactions = context.path.iter().filter(|ix| index.entry(**ix).kind == EntryKind::Compaction);
        Self {
            live,
            path: sum_messages(index, context.path.iter().copied()),
            file: sum_messages(index, index.iter().map(|(ix, _)| ix)),
            compactions: compactions.count() as u64,
        }
    }
}

fn sum_messages(index: &Index, entries: impl Iterator<Item = EntryIx>) -> MessageSum {
    let sizes =
        entries.filter(|ix| index.entry(*ix).becomes_message()).filter_map(|ix| index.entry(ix).message);
    sizes.fold(MessageSum::default(), |sum, size| MessageSum {
        messages: sum.messages + 1,
        tokens: sum.tokens + estimate_or_zero(&size),
    })
}
