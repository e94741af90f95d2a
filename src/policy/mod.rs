//! Context sizes → fates. Pure rules: same input, same output; time is an argument.

pub mod clear_tool_uses;
pub mod compact;
pub mod fate;
pub mod history_limit;
pub mod memory_flush;
pub mod overflow;
pub mod prune;
pub mod recovery;
pub mod repair;
pub mod truncate;

pub use fate::{Fate, MessageFate, Reason};
