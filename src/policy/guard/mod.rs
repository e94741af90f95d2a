//! The guard of every model call: holds each tool result to a share of the window, then replaces the oldest with a short
//! notice until all messages fit their own share (pruning 6.30–6.37).
//!
//! [`guard_list`] decides from [`GuardSize`]s alone, so that a plan can predict it without texts. The tests have the same
//! guard on messages, and compare both.

mod halved;
mod policy;
mod step;
mod text;

pub use halved::{
    GuardSize, IMAGE_CHARS, compacted_message, cut_message, halved_message, result_chars, trimmed_message,
    unknown_chars,
};
pub use policy::GuardPolicy;
pub use step::{GuardLimits, GuardOutcome, UNKNOWN_WINDOW, guard_list};
pub use text::{COMPACTED, cut_metrics};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
