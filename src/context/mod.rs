//! Branch → what the model is sent, message by message, with its sizes. Pure but for
//! [`bodies`], which reads texts back when someone asks for them.

pub mod bodies;
pub mod breakdown;
pub mod budget;
pub mod build;
pub mod llm;
mod messages;
pub mod projection;
mod row;
pub mod rows;
pub mod system;
pub mod system_report;
pub mod tokens;
pub mod tokens_before;

pub use build::{ContentSource, Context, ContextMessage, build_context, entries_since_reset, first_kept};
pub use messages::{Messages, PruneColumns};
