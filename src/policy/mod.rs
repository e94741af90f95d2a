//! Context sizes → fates. Pure rules: same input, same output; time is an argument.

pub mod compact;
pub mod fate;
pub mod overflow;
pub mod prune;
pub mod repair;

pub use fate::{Fate, MessageFate, Reason};
