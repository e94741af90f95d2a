//! One loaded session and everything derived from it; the session list; the messages as text.
//!
//! The commands and the screens start here: [`loading::open`] reads a session once, and all answers about it come from
//! the same [`LoadedSession`].

pub mod assumed_summary;
mod branch_entries;
pub mod budget_marks;
mod call_gate;
pub mod compaction_trigger;
mod context_details;
pub mod context_limits;
mod diagnostics;
pub mod failing_model;
pub mod family;
pub mod fullness_alert;
mod gate_text;
mod growth_weights;
pub mod item;
mod item_from_sizes;
mod item_loading;
pub mod learned_window;
pub mod lifecycle;
pub mod lineage;
mod lineage_diagnostics;
pub mod list;
mod loaded_session;
pub mod loading;
mod manual_change;
mod memory_flush;
pub mod message;
pub mod message_texts;
mod next_model;
pub mod next_prompt;
mod on_sending;
mod open_source;
pub mod overflow;
mod own_steps;
pub mod path_texts;
mod prompt_counts;
mod prompt_estimates;
pub mod prompt_faults;
pub mod query;
pub mod query_term;
pub mod replay_inputs;
pub mod replay_summary;
mod ruleset_choice;
pub mod search;
pub mod search_text;
mod sent_forms;
pub mod session_settings;
pub mod setting_change;
pub mod simulated_settings;
pub mod store_location;
mod stored_pruning;
#[cfg(test)]
pub(crate) mod testing;
pub mod title;
pub mod tool;
mod transcript_count;
mod turn_end;
mod unreliable_counts;
pub mod usage_totals;
mod window_diagnostics;
mod workspace_estimate;

pub use branch_entries::BranchTip;
pub use context_details::{ContextDetails, PreviousDetails};
pub use item::{CountSource, ItemUsage, Mark, SessionItem, TokenCount};
pub use item_from_sizes::{load_item, load_listed_item};
pub use loaded_session::{LoadedSession, SessionViewKey};
pub use manual_change::ManualChange;
pub use on_sending::{AddedText, SendingChanges, WithheldThinking};
pub use prompt_counts::{MeasuredPrompt, UnmeasuredReason};
pub use turn_end::TurnEndCheck;
