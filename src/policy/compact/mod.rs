//! Compaction: which messages are summarised, which are kept, and how the summary is split into calls (compaction 3–5).
//! The rules work on sizes; only the content of a summary needs texts.

pub mod after_compaction;
pub mod branch;
pub mod check;
pub mod chunks;
pub mod files;
pub mod history_share;
mod pi_0_63;
mod policy;
pub mod predicted_calls;
pub mod prepare;
mod projected;
#[cfg(test)]
mod properties;
pub mod request;
pub mod retry;
pub mod stages;
pub mod summarise;
#[cfg(test)]
pub(crate) mod testing;
pub mod v2026_9;
pub mod workspace_rules;

pub use after_compaction::{CompactedContext, CompactionEntry, context_after};
pub use branch::{
    BranchEntry, PreviousCompaction, ProjectedEntry, branch_entries, branch_entries_for_runtime,
    projected_branch_entries,
};
pub use files::{FileLists, FileOps};
pub use policy::{Compact, CompactionResult, assumed_summary};
pub use predicted_calls::{
    ASSUMED_SUMMARY_TOKENS, PredictedCall, PredictedCalls, assumed_summary_tokens, predict_calls,
    predict_calls_within,
};
pub use prepare::{CompactionTexts, CutPoint, Preparation, find_cut_point, prepare};
pub use request::{
    Identifiers, MAX_RESULT_UNITS, SummaryForm, SummaryPurpose, SummaryRequest, conversation_text_for,
};
pub use stages::{
    Aborted, AnswerFailure, CancelReason, DroppedHistory, NoSummary, StoredSummary, SummaryMode,
    SummaryModel, SummarySpec, max_summary_tokens,
};
pub use summarise::summarise_within;
pub use v2026_9::{CompactionInput, prepare_under, stored_summary, weighted_tokens};
