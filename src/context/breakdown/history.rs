//! Compares the messages in the window with those on the path and in the whole file.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::build::Context;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::store::entry::EntryKind;
use crate::store::index::Index;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageSum {
    pub messages: u64,
    pub tokens: u64,
}

/// The share of a session that is in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WindowHistory {
    /// Messages in the context of the leaf, including summaries.
    #[serde(rename = "window")]
    pub live: MessageSum,
    /// Every message from the root to the leaf, including compacted ones but not the compactions' summaries.
    pub path: MessageSum,
    /// Every message of the file, including other branches.
    pub file: MessageSum,
    /// Compactions on the path.
    pub compactions: u64,
}

impl WindowHistory {
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
