//! The state machine: input events in, effects out. It has no IO, clock or widgets, only [`App::update`] from an
//! event to a list of effects, so that tests cover every screen without a terminal.

pub mod action;
mod apply_settings;
mod commit_actions;
pub mod compaction_marker;
mod context_details;
pub mod diff;
mod dispatch;
pub mod effect;
pub mod event;
mod jump_list;
mod jumps;
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
mod place;
pub mod plan_totals;
mod preview;
pub mod replay_state;
mod screen_actions;
pub mod screens;
pub mod scroll;
mod search;
pub mod sessions;
pub mod source_status;
mod stale;
pub mod state;
mod summary_dialog;
pub mod target;
pub mod transcript;
mod transcript_navigation;
pub mod tuning;
mod update;
pub mod view_stack;
pub mod wrap;
pub use commit_actions::plan_json;
pub use state::App;
