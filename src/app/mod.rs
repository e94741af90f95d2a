//! The state machine: input events in, effects out. It has no IO, clock or widgets, only [`App::update`] from an
//! event to a list of effects, so that tests cover every screen without a terminal.

pub mod action;
mod apply_settings;
pub mod branches;
pub mod breakdown;
mod commit_actions;
pub mod compaction_marker;
pub mod compare;
mod context_details;
pub mod diff;
mod dispatch;
pub mod effect;
pub mod estimators;
pub mod event;
pub mod explain;
pub mod key_input;
pub mod keymap;
pub mod layout;
pub mod message;
pub mod message_body;
pub mod message_header;
pub mod message_layout;
#[cfg(test)]
pub(crate) mod message_testing;
mod mouse;
mod patch;
pub mod plan_totals;
pub mod policies;
mod preview;
pub mod recovery;
pub mod replay_state;
pub mod scroll;
mod search;
pub mod sessions;
pub mod source_status;
pub mod state;
pub mod summary_dialog;
pub mod target;
pub mod timeline;
pub mod transcript;
mod transcript_navigation;
pub mod tuning;
mod update;
pub mod wrap;
pub use commit_actions::plan_json;
pub use key_input::palette_rows;
pub use state::App;
