//! One loaded session and everything derived from it; the session list; the messages as text.
//!
//! The commands and the screens start here: [`loading::open`] reads a session once, and all answers about it come from
//! the same [`LoadedSession`].

pub mod assumed_summary;
mod at_leaf;
mod branch_entries;
mod branch_tips;
pub mod budget_marks;
pub mod compaction_trigger;
mod context_details;
pub mod context_limits;
mod diagnostics;
pub mod failing_model;
pub mod family;
mod fault_diagnostics;
pub mod fullness_alert;
mod gate_text;
pub mod gateway_budget;
mod growth_weights;
pub mod invalidation;
pub mod item;
mod item_loading;
pub mod json;
pub mod learned_window;
pub mod lifecycle;
pub mod lineage;
mod lineage_diagnostics;
pub mod list;
mod loaded_session;
pub mod loading;
mod measured_prompt;
mod memory_flush;
pub mod message;
pub mod message_texts;
pub mod name_match;
mod next_model;
pub mod next_prompt;
mod open_source;
pub mod order;
pub mod overflow;
mod partial_usage;
mod path_bodies;
pub mod path_texts;
pub mod preset_values;
pub mod price;
mod prompt_counts;
pub mod prompt_faults;
pub mod query;
pub mod query_error;
pub mod query_field;
mod query_term;
pub mod replay_inputs;
pub mod replay_summary;
mod ruleset_choice;
pub mod search;
pub mod search_text;
mod server_clear;
pub mod session_settings;
pub mod setting_change;
pub mod simulated_settings;
pub mod store_location;
mod stored_pruning;
pub mod successor;
#[cfg(test)]
pub(crate) mod testing;
pub mod title;
pub mod tool;
pub mod usage_totals;
mod window_diagnostics;
mod workspace_estimate;

pub use branch_tips::BranchTip;
pub use context_details::{ContextDetails, PreviousDetails};
pub use item::{CountSource, ItemUsage, Mark, SessionItem, TokenCount};
pub use item_loading::load_item;
pub use loaded_session::{LoadedSession, SessionViewKey};
pub use measured_prompt::{MeasuredPrompt, UnmeasuredReason};
