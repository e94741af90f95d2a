//! The guard of every model call: each tool result is held to a share of the window, then the oldest give way to a
//! short text until all messages fit a share of it together (pruning 6.30–6.37).
//!
//! It is decided on [`GuardSize`]s, what the guard counts of a message, so that a plan can foretell it ([`guard_list`]);
//! [`guard_messages`] does the same on the messages themselves.

mod estimate;
mod halved;
mod limits;
mod message;
mod step;
mod text;

pub use estimate::{GuardSize, IMAGE_CHARS, result_chars, unknown_chars};
pub use halved::{halved_message, trimmed_message};
pub use limits::stop_text;
pub use limits::{GuardLimits, UNKNOWN_WINDOW};
pub use message::{compacted_message, cut_message, guard_messages};
pub use step::{GuardOutcome, guard_list};
pub use text::{COMPACTED, cut_metrics};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
