//! The machine: what a person did, and what happened, in; what to do, out. No IO, no clock, no widgets:
//! `update(Event) -> Vec<Effect>`, so that every screen is tested without a terminal.

pub mod action;
pub mod effect;
pub mod event;
pub mod keymap;
pub mod layout;
pub mod message;
pub mod scroll;
pub mod sessions;
pub mod state;
pub mod transcript;
pub mod tuning;
pub use state::App;
