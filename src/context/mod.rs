//! Turns a branch into the messages that the model receives, with their sizes. Only [`bodies`] does IO: it reads texts
//! back on demand.

pub mod bodies;
pub mod breakdown;
pub mod budget;
pub mod build;
pub mod llm;
mod message;
pub mod projection;
pub mod rows;
pub mod system;
pub mod time_stamp;
pub mod tokens;
pub mod tokens_before;

pub use build::{Context, Messages, PruneColumns, build_context};
pub use message::{ContentSource, ContextMessage};
pub use projection::{entries_since_reset, first_kept};
