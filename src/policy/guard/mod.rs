//! The guard of every model call: holds each tool result to a share of the window, then replaces the oldest with a short
//! notice until all messages fit their own share (pruning 6.30–6.37).
//!
//! [`guard_list`] decides from [`GuardSize`]s alone, so that a plan can predict it without texts. The tests have the same
//! guard on messages, and compare both.

mod estimate;
mod halved;
mod limits;
mod policy;
mod step;
mod text;

pub use estimate::{GuardSize, IMAGE_CHARS, result_chars, unknown_chars};
pub use halved::{compacted_message, cut_message};
pub use halved::{halved_message, trimmed_message};
pub use limits::{GuardLimits, UNKNOWN_WINDOW};
pub use policy::GuardPolicy;
pub use step::{GuardOutcome, guard_list};
pub use text::{COMPACTED, cut_metrics};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
