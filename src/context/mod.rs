//! Turns a branch into the messages that the model receives, with their sizes. Only [`bodies`] does IO: it reads texts
//! back on demand.

pub mod bodies;
mod boundary;
pub mod breakdown;
pub mod budget;
pub mod build;
pub mod llm;
mod message;
mod messages;
pub mod projection;
pub mod rows;
pub mod system;
pub mod system_report;
pub mod time_stamp;
pub mod tokens;
pub mod tokens_before;

pub use boundary::{entries_since_reset, first_kept};
pub use build::{Context, build_context};
pub use message::{ContentSource, ContextMessage};
pub use messages::{Messages, PruneColumns};
