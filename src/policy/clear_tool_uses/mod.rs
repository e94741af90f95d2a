//! Tool-use clearing as `LangChain`'s `ClearToolUsesEdit` does it: when the counted tokens of all messages exceed a
//! trigger, tool results are replaced by a placeholder, oldest first, but for the last few (pruning 7.1, 7.2, 7.4).

mod count;
mod digest;
mod edit;
mod message;
mod printable;
mod python;
pub mod server;
mod settings;
mod sketch;
mod step;

pub use count::{message_tokens, total_tokens};
pub use digest::Digest;
pub use edit::{Clearing, candidates, clear};
pub use message::{Block, Call, Content, Message, message_of};
pub use settings::{ClearSettings, ClearedBy, Counting};
pub use sketch::{CallSketch, Said, Sketch};
pub use step::{Cleared, clear_list, cleared_use, without_arguments};
