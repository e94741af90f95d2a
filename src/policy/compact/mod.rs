//! Compaction: which messages are summarised, which are kept, and how the summary is split into calls (compaction 3–5).
//! The rules work on sizes; only the content of a summary needs texts.

pub mod after_compaction;
pub mod branch;
pub mod check;
pub mod chunks;
pub mod cut_point;
pub mod files;
pub mod history_share;
mod join;
pub mod layout;
mod pi_0_63;
mod policy;
pub mod predicted_calls;
pub mod prepare;
pub mod previous_compaction;
mod projected;
#[cfg(test)]
mod properties;
pub mod request;
pub mod retry;
pub mod stages;
pub mod summarise;
pub mod summary_spec;
#[cfg(test)]
pub(crate) mod testing;
pub mod v2026_9;
pub mod workspace_rules;

pub use after_compaction::{CompactedContext, CompactionEntry, context_after};
pub use branch::{
    BranchEntry, ProjectedEntry, branch_entries, branch_entries_for_runtime, projected_branch_entries,
};
pub use cut_point::{CutPoint, find_cut_point};
pub use files::{FileLists, FileOps};
pub use policy::Compact;
pub use policy::{CompactionResult, assumed_summary};
pub use predicted_calls::{
    ASSUMED_SUMMARY_TOKENS, PredictedCall, PredictedCalls, assumed_summary_tokens, predict_calls,
    predict_calls_within,
};
pub use prepare::{CompactionTexts, Preparation, prepare};
pub use previous_compaction::PreviousCompaction;
pub use request::{Identifiers, SummaryForm, SummaryPurpose, SummaryRequest};
pub use request::{MAX_RESULT_UNITS, conversation_text_for};
pub use stages::{Aborted, AnswerFailure, SummaryModel, max_summary_tokens};
pub use summarise::summarise_within;
pub use summary_spec::{CancelReason, DroppedHistory, NoSummary, StoredSummary, SummaryMode, SummarySpec};
pub use v2026_9::{CompactionInput, prepare_under, stored_summary, weighted_tokens};
