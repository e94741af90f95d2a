//! Decides the fate of every message from the sizes of a context. The rules are pure: the same input gives the same
//! output, and time is an argument.

pub mod chat_preflight;
pub mod clear_tool_uses;
pub mod compact;
pub mod edit;
pub mod fate;
pub mod features;
pub mod guard;
pub mod guard_2026_9;
pub mod history_range;
pub mod images;
pub mod media_2026_9;
pub mod memory_flush;
pub mod message_list;
pub mod overflow;
pub mod planned_message;
pub mod policy_set;
pub mod predict;
pub mod preflight;
pub mod prune;
pub mod reason;
pub mod recovery;
mod registry;
pub mod repair;
pub mod settings;
#[cfg(test)]
pub(crate) mod testing;
pub mod trimming;
pub mod truncate;

pub use fate::{Fate, MessageFate};
pub use policy_set::{Policy, PolicySet};
pub use reason::Reason;
pub use settings::PolicySettings;
