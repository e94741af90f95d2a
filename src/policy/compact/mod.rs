//! Compaction: what is summarised and what is kept, and how much at a time (compaction 3–5). The rules
//! work on sizes; only what goes into a summary looks at texts.

pub mod after;
pub mod branch;
pub mod calls;
pub mod check;
pub mod chunks;
pub mod conversation;
pub mod cut_point;
pub mod failures;
pub mod files;
pub mod job;
mod join;
mod kept;
pub mod layout;
pub mod leaving;
pub mod prepare;
mod projected;
#[cfg(test)]
mod properties;
pub mod request;
pub mod retry;
pub mod rules;
pub mod share;
pub mod stages;
mod step;
pub mod summarise;
#[cfg(test)]
pub(crate) mod testing;
pub mod v2026_9;

pub use after::{After, CompactionEntry, after};
pub use branch::{BranchEntry, Projected, branch, branch_as, projected_branch};
pub use calls::{ASSUMED_SUMMARY_TOKENS, Call, Calls, assumed_tokens, calls, calls_within};
pub use conversation::{conversation, conversation_as};
pub use cut_point::{CutPoint, cut_point};
pub use files::{FileLists, FileOps};
pub use job::{Cancel, Dropped, Mode, NoSummary, SummaryJob, Written};
pub use prepare::{Material, Preparation, prepare};
pub use request::{Form, Identifiers, Purpose, SummaryRequest};
pub use stages::{Answers, Ended, NoAnswer, max_summary_tokens};
pub use step::{Compacted, assumed_summary, compact_list};
pub use summarise::{summarise, summarise_within};
pub use v2026_9::{Before, Compacting, prepare_under, stored_summary, weighted_tokens};
