//! Estimates the messages that each entry of a transcript was sent, on every branch.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::policy::guard::GuardLimits;
use crate::store::entry::{Entry, EntryKind, MessageSize, Role};
use crate::store::index::Index;
use crate::transcript::Tree;
use crate::units::Tokens;

/// Tokens of an image in a user message, which chars/4 leaves out.
const IMAGE_TOKENS: u64 = 1_200;
/// Chars per token of the guard's limits.
const CHARS_PER_TOKEN: f64 = 4.0;

/// The estimated messages above each entry, by chars/4.
pub(super) struct PromptEstimates {
    tree: Tree,
    /// Estimate of the path up to and including each entry.
    totals: Vec<u64>,
    /// Estimate of the entries that are not sent any more, because of a compaction or reset on the path.
    dropped: Vec<u64>,
    /// The most that the guard leaves of all messages.
    most: u64,
}

impl PromptEstimates {
    /// Estimates the messages within the guard's limits, if there is a guard.
    pub(super) fn new(index: &Index, guard: Option<GuardLimits>) -> Self {
        let [most, single] = guard.map_or([u64::MAX; 2], |limits| {
            [limits.budget, limits.single].map(|chars| chars.to_tokens(CHARS_PER_TOKEN).whole())
        });
        let tree = Tree::new(index);
        let count = index.entries.len();
        let mut made = Self { tree, totals: vec![0; count], dropped: vec![0; count], most };
        for (ix, entry) in index.iter() {
            let above = made.parent(ix);
            let before = above.map_or(0, |above| made.totals[above.index()]);
            made.totals[ix.index()] = before + own_tokens(entry, single);
            made.dropped[ix.index()] = match entry.kind {
                EntryKind::Compaction => made.kept_from(entry).unwrap_or(before),
                EntryKind::Reset => before,
                _ => above.map_or(0, |above| made.dropped[above.index()]),
            };
        }
        made
    }

    /// Returns the entry above, if it comes first in the file.
    pub(super) fn parent(&self, ix: EntryIx) -> Option<EntryIx> {
        self.tree.parent(ix).filter(|above| *above < ix)
    }

    /// Returns the messages that a call was sent, whose answer is this entry.
    pub(super) fn sent_to(&self, ix: EntryIx) -> Tokens {
        let at = |above: EntryIx| self.totals[above.index()].saturating_sub(self.dropped[above.index()]);
        Tokens(self.parent(ix).map_or(0, at).min(self.most) as f64)
    }

    /// Returns the messages that a compaction summarised, with the summary before it.
    pub(super) fn summarised_by(&self, compaction: EntryIx) -> Tokens {
        let dropped = |ix: EntryIx| self.dropped[ix.index()];
        let before = self.parent(compaction).map_or(0, dropped);
        Tokens(dropped(compaction).saturating_sub(before) as f64)
    }

    /// Returns the estimate before the first entry that a compaction kept.
    fn kept_from(&self, compaction: &Entry) -> Option<u64> {
        let kept = self.tree.find(compaction.reference?)?;
        Some(self.parent(kept).map_or(0, |above| self.totals[above.index()]))
    }
}

/// `single` is the most that the guard leaves of a tool result.
fn own_tokens(entry: &Entry, single: u64) -> u64 {
    let sent = entry.becomes_message() || entry.kind == EntryKind::Compaction;
    let most = if entry.role() == Some(Role::ToolResult) { single } else { u64::MAX };
    entry.message.filter(|_| sent).map_or(0, |size| estimate_with_images(&size).min(most))
}

/// Estimates a message by chars/4. The runtime's estimate ignores images in user messages; providers count them.
pub(super) fn estimate_with_images(size: &MessageSize) -> u64 {
    let images = if size.role == Role::User { u64::from(size.images) * IMAGE_TOKENS } else { 0 };
    estimate_or_zero(size) + images
}
