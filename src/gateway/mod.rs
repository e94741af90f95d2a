//! The gateway's own settings: the location of its state and of `openclaw.json`, the values in force, and the origin
//! of each value.
//!
//! The rules are functions of values. Only `config`, `include`, `programs`, `registry`, `pi_settings`, `secrets`,
//! `state_dir`, `substitute`, `workspace` and `env` touch the file system or the process, so every other module can be
//! tested without files.

pub mod compaction;
pub mod config;
mod convert;
mod defaults;
pub mod effective;
pub mod eligibility;
pub mod env;
pub mod history_limit;
mod include;
pub mod lines;
pub mod memory_flush;
pub mod models;
pub mod patch;
mod per_token;
pub mod pi_settings;
pub mod programs;
pub mod pruning;
pub mod recorded_window;
pub mod registry;
mod remote;
pub mod reset;
pub mod retention;
mod retired;
mod roster;
pub mod ruleset;
mod schema;
pub mod server_compaction;
pub mod setting_value;
pub mod state_dir;
pub mod substitute;
pub mod thinking;
pub mod tools;
mod validate;
pub mod window;
pub mod window_lookup;
pub mod window_rules;
mod workspace;

pub use defaults::AppliedDefault;
