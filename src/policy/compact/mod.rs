//! Compaction: what is summarised and what is kept, and how much at a time (compaction 3–5). The rules
//! work on sizes; only file lists and conversation texts look at texts.

pub mod after;
pub mod branch;
pub mod chunks;
pub mod conversation;
pub mod cut_point;
pub mod files;
mod join;
pub mod prepare;
#[cfg(test)]
mod properties;
pub mod share;
mod step;
pub mod v2026_9;

pub use after::{After, CompactionEntry, after};
pub use branch::{BranchEntry, branch};
pub use conversation::conversation;
pub use cut_point::{CutPoint, cut_point};
pub use files::{FileLists, FileOps};
pub use prepare::{Material, Preparation, prepare};
pub use step::{Compacted, compact_list};
pub use v2026_9::{Before, prepare_under, stored_summary};
