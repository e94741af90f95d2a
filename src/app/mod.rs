//! The machine: what a person did, and what happened, in; what to do, out. No IO, no clock, no widgets:
//! `update(Event) -> Vec<Effect>`, so that every screen is tested without a terminal.

mod act;
pub mod action;
pub mod again;
pub mod body;
pub mod branches;
pub mod breakdown;
pub mod compare;
pub mod cut;
pub mod diff;
pub mod effect;
pub mod estimators;
pub mod event;
pub mod explain;
pub mod figures;
mod folds;
pub mod keymap;
pub mod keys;
pub mod layout;
pub mod left;
pub mod message;
pub mod message_head;
#[cfg(test)]
pub(crate) mod message_testing;
mod mouse;
mod patch;
mod preview;
pub mod recovery;
pub mod scroll;
mod search;
pub mod sessions;
pub mod shown;
pub mod state;
pub mod steps;
pub mod summary;
mod take;
pub mod target;
mod texts;
pub mod timeline;
pub mod transcript;
pub mod tuning;
mod update;
pub mod wrap;
mod writes;
pub use keys::palette_rows;
pub use state::App;
pub use writes::plan_json;
