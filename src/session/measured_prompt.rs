//! The last prompt that a provider counted on a path, or why there is none.
//!
//! A count is only valid while its messages are still the ones sent: a compaction, reset, edit or commit ends it.

use crate::commit::{ReceiptKind, receipt_kind};
use crate::context::Context;
use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, ReadMode};
use crate::store::index::Index;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPrompt {
    /// Prompt tokens: `input` + `cacheRead` + `cacheWrite`.
    pub prompt_tokens: u64,
    /// The assistant entry that reports them.
    pub entry: EntryIx,
}

/// The reason that no provider's count shows the size of the next prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmeasuredReason {
    /// No answer on the path reports usage.
    NoUsage,
    /// No count since the compaction; earlier messages are not sent any more.
    SinceCompaction,
    /// No count since the reset; earlier messages are not sent any more.
    SinceReset,
    /// No count since a commit wrote the branch; its copies carry the usage of the old branch.
    SinceCommit,
    /// No count since the context was edited; earlier counts are of another text (store-pi-1.5 E5).
    SinceEdit,
    /// The leaf in view is not the session's own.
    OtherLeaf,
}

impl UnmeasuredReason {
    /// Returns a few words to show instead of the number.
    pub fn label(self) -> &'static str {
        match self {
            Self::NoUsage => "no usage recorded",
            Self::SinceCompaction => "none since summary",
            Self::SinceReset => "none since reset",
            Self::SinceCommit => "none since commit",
            Self::SinceEdit => "none since edit",
            Self::OtherLeaf => "not at this leaf",
        }
    }
}

/// Returns the last counted prompt on the path. A count before the last compaction does not hold for the next prompt,
/// even if its message was kept; nor does a count copied to a new branch.
pub(super) fn last_prompt(index: &Index, context: &Context) -> Result<MeasuredPrompt, UnmeasuredReason> {
    for ix in context.path.iter().rev() {
        if Some(*ix) == context.compaction {
            return Err(UnmeasuredReason::SinceCompaction);
        }
        if Some(*ix) == context.reset {
            return Err(UnmeasuredReason::SinceReset);
        }
        if index.reading == ReadMode::Projected && index.entry(*ix).kind == EntryKind::ContextEdit {
            return Err(UnmeasuredReason::SinceEdit);
        }
        if is_committed_branch(index, *ix) {
            return Err(UnmeasuredReason::SinceCommit);
        }
        let usage = index.entry(*ix).message.and_then(|message| message.usage);
        let tokens = usage.map_or(0.0, |usage| usage.prompt_tokens().get());
        if tokens.is_finite() && tokens > 0.0 {
            return Ok(MeasuredPrompt { prompt_tokens: tokens as u64, entry: *ix });
        }
    }
    Err(UnmeasuredReason::NoUsage)
}

/// Whether a commit's branch ends here: the entries before it on the path are copies.
pub(super) fn is_committed_branch(index: &Index, ix: EntryIx) -> bool {
    receipt_kind(index, ix) == Some(ReceiptKind::Commit)
}
