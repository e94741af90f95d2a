//! Tool-use clearing as `LangChain`'s `ClearToolUsesEdit` does it (pruning 7.1, 7.2, 7.4): if the tokens of all
//! messages exceed a trigger, a placeholder replaces all tool results but the last few, oldest first.

mod cleared_message;
mod message;
mod message_digest;
mod policy;
mod python;
pub mod server;
mod step;

pub use cleared_message::{cleared_result, without_arguments};
pub use message::{Block, ClearableCall, Content, Message, parse_message};
pub use message_digest::{CallDigest, ContentSize, MessageDigest, ValueHash};
pub use policy::Clear;
pub use server::{ClearSettings, ClearedBy, ModelScale, TokenCounter, TokenCounting};
pub use step::{ClearTotals, clear_list, clearable_count};
