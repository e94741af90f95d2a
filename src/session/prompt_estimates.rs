//! Estimates the messages that each entry of a transcript was sent, on every branch.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::Compaction;
use crate::ids::EntryIx;
use crate::policy::guard::GuardLimits;
use crate::store::entry::{Entry, EntryKind, MessageSize, Role, Usage};
use crate::store::index::Index;
use crate::transcript::Tree;
use crate::units::Tokens;

/// Tokens of an image in a user message, which chars/4 leaves out.
const IMAGE_TOKENS: u64 = 1_200;
/// Chars per token of the guard's limits.
const CHARS_PER_TOKEN: f64 = 4.0;

/// Estimated messages of a summary's requests, without instructions; `None` for a request that is not made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SummaryRequests {
    /// The summary before it, and the messages before the turn that is split.
    pub history: Option<Tokens>,
    /// The beginning of the turn that is split.
    pub prefix: Option<Tokens>,
}

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
            let before = made.before(ix);
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

    /// Returns the tokens of the prompt that a call was sent by the usage of the newest answer above it; `None` without
    /// one, or where a compaction or reset lies between.
    pub(super) fn counted_to(&self, index: &Index, ix: EntryIx) -> Option<Tokens> {
        let mut path = std::iter::successors(self.parent(ix), |ix| self.parent(*ix));
        let ends = |kind| matches!(kind, EntryKind::Compaction | EntryKind::Reset);
        let usage = |ix: EntryIx| index.entry(ix).message?.usage.filter(Usage::has_prompt_tokens);
        let found = path.find(|ix| usage(*ix).is_some() || ends(index.entry(*ix).kind))?;
        let since = self.before(ix).saturating_sub(self.totals[found.index()]);
        usage(found).map(|usage| usage.prompt_tokens() + usage.output + Tokens(since as f64))
    }

    /// Estimates the requests of a compaction's summary: one for the history with the summary before it, and one for the
    /// beginning of a turn that the cut splits (compaction 3.2, 3.20).
    pub(super) fn summary_requests(
        &self,
        index: &Index,
        compaction: EntryIx,
        range: Compaction,
    ) -> SummaryRequests {
        let path = || std::iter::successors(self.parent(compaction), |ix| self.parent(*ix));
        let ends = |ix: &EntryIx| matches!(index.entry(*ix).kind, EntryKind::Compaction | EntryKind::Reset);
        let previous = path().find(ends);
        let earlier = previous.filter(|ix| index.entry(*ix).kind == EntryKind::Compaction);
        let summary = earlier.map_or(0, |ix| self.totals[ix.index()] - self.before(ix));
        let end = self.dropped[compaction.index()];
        let (start, inside) = match earlier {
            Some(ix) if range == Compaction::AfterPrevious => (self.totals[ix.index()], 0),
            // The summary lies between the kept messages and those after it, and is no message of the range.
            Some(ix) => (self.dropped[ix.index()], if end > self.before(ix) { summary } else { 0 }),
            None => (previous.map_or(0, |ix| self.dropped[ix.index()]), 0),
        };
        let messages = end.saturating_sub(start + inside);
        let prefix = self.split_turn(index, compaction).map_or(0, |turn| end.saturating_sub(turn.max(start)));
        let prefix = prefix.min(messages);
        let history = messages - prefix;
        let tokens = |tokens: u64| Tokens(tokens as f64);
        SummaryRequests {
            history: (history > 0 || prefix == 0).then(|| tokens(history + summary)),
            prefix: (prefix > 0).then(|| tokens(prefix)),
        }
    }

    /// Returns the estimate before the turn that a compaction splits; `None` if it keeps whole turns.
    fn split_turn(&self, index: &Index, compaction: EntryIx) -> Option<u64> {
        let kept = self.tree.find(index.entry(compaction).reference?)?;
        let mut path = std::iter::successors(Some(kept), |ix| self.parent(*ix));
        let turn = path.find(|ix| starts_turn(index.entry(*ix)))?;
        (turn != kept).then(|| self.before(turn))
    }

    fn before(&self, ix: EntryIx) -> u64 {
        self.parent(ix).map_or(0, |above| self.totals[above.index()])
    }

    /// Returns the estimate before the first entry that a compaction kept.
    fn kept_from(&self, compaction: &Entry) -> Option<u64> {
        let kept = self.tree.find(compaction.reference?)?;
        Some(self.before(kept))
    }
}

/// Whether a cut at the entry splits no turn (compaction 3.8).
fn starts_turn(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::CustomMessage | EntryKind::BranchSummary)
        || matches!(entry.role(), Some(Role::User | Role::BashExecution))
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
