//! The last prompt that a provider counted on a path, or why there is none.

use crate::commit::{ReceiptKind, receipt_kind};
use crate::context::Context;
use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, ReadMode};
use crate::store::index::Index;

/// Tokens a provider counted for the last prompt, and the entry that says so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPrompt {
    /// Prompt tokens: input + cacheRead + cacheWrite.
    pub prompt_tokens: u64,
    /// The assistant entry.
    pub entry: EntryIx,
}

/// Why no provider's count says how large the next prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasured {
    /// No answer on the path has a usage.
    NoUsage,
    /// None since the compaction: what was counted before it is not sent any more.
    SinceCompaction,
    /// None since the reset: what was counted before it is not sent any more.
    SinceReset,
    /// None since a branch was written: its copies keep the usage of the branch they were made from.
    SinceCommit,
    /// None since the context was edited: what was counted before is not what is sent now (store-pi-1.5 E5).
    SinceEdit,
    /// Another leaf than the session's own is looked at.
    OtherLeaf,
}

impl Unmeasured {
    /// A few words in the place of the number.
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

/// The last prompt a provider counted on this path. A count from before the last compaction says nothing
/// about what is sent now, even where its message was kept; nor does one that was copied to a new branch.
pub(super) fn last_prompt(index: &Index, context: &Context) -> Result<MeasuredPrompt, Unmeasured> {
    for ix in context.path.iter().rev() {
        if Some(*ix) == context.compaction {
            return Err(Unmeasured::SinceCompaction);
        }
        if Some(*ix) == context.reset {
            return Err(Unmeasured::SinceReset);
        }
        if index.reading == ReadMode::Projected && index.entry(*ix).kind == EntryKind::ContextEdit {
            return Err(Unmeasured::SinceEdit);
        }
        if is_committed_branch(index, *ix) {
            return Err(Unmeasured::SinceCommit);
        }
        let usage = index.entry(*ix).message.and_then(|message| message.usage);
        let tokens = usage.map_or(0.0, |usage| usage.prompt_tokens());
        if tokens.is_finite() && tokens > 0.0 {
            return Ok(MeasuredPrompt { prompt_tokens: tokens as u64, entry: *ix });
        }
    }
    Err(Unmeasured::NoUsage)
}

/// Whether a branch ends here that was written by a commit: what stands before it on the path is a copy.
pub(super) fn is_committed_branch(index: &Index, ix: EntryIx) -> bool {
    receipt_kind(index, ix) == Some(ReceiptKind::Commit)
}
