//! Context sizes → fates. Pure rules: same input, same output; time is an argument.

pub mod clear_tool_uses;
pub mod compact;
pub mod fate;
pub mod guard_2026_9;
pub mod history_batches;
pub mod history_limit;
pub mod media_2026_9;
pub mod overflow;
pub mod prune;
pub mod repair;
pub mod truncate;

pub use fate::{Fate, MessageFate, Reason};
