//! Context sizes → fates. Pure rules: same input, same output; time is an argument.

pub mod clear_tool_uses;
pub mod compact;
pub mod edit;
pub mod edit_cache;
pub mod fate;
pub mod foretell;
pub mod guard;
pub mod guard_2026_9;
pub mod history_batches;
pub mod history_limit;
pub mod images;
pub mod list;
pub mod media_2026_9;
pub mod memory_flush;
pub mod overflow;
pub mod preflight;
pub mod prune;
pub mod reason;
pub mod recovery;
pub mod repair;
pub mod settings;
pub mod step;
#[cfg(test)]
pub(crate) mod testing;
pub mod texture;
pub mod truncate;

pub use fate::{Fate, MessageFate};
pub use reason::Reason;
pub use settings::PolicySettings;
pub use step::{Policy, PolicySet};
