//! One message of a context: where its content comes from and how large it is.

use crate::ids::EntryIx;
use crate::store::entry::MessageSize;

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
    /// Only the entry.
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
