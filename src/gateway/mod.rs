//! The gateway's own settings: where its state and `openclaw.json` are, what is in force, and where each value comes
//! from. Rules take values; only `config`, `include`, `registry`, `pi_settings`, `state_dir` and
//! `env` touch the file system or the process.

pub mod catalog;
pub mod compaction;
pub mod compaction_setting;
pub mod config;
mod convert;
mod defaults;
pub mod duration;
pub mod effective;
pub mod eligibility;
pub mod env;
pub mod history_accounts;
pub mod history_limit;
mod include;
pub mod lines;
pub mod memory_flush;
pub mod patch;
mod per_token;
pub mod pi_settings;
pub mod provenance;
pub mod prune_setting;
pub mod pruning;
pub mod registry;
mod remote;
pub mod reset;
pub mod retention;
mod retired;
pub mod ruleset;
pub mod secrets;
pub mod setting_value;
pub mod state_dir;
mod substitute;
pub mod thinking;
pub mod tools;
mod validate;
pub mod window;
pub mod window_guard;
pub mod window_lookup;
pub mod window_rules;

pub use defaults::AppliedDefault;
