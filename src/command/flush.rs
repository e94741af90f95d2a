//! The state of the memory flush in one line.

use crate::format::{format_number, format_size};
use crate::policy::memory_flush::{Flush, FlushState, FlushTrigger};
use crate::session::context_limits::ContextLimits;

pub(super) fn describe_flush(flush: &Flush, limits: &ContextLimits) -> String {
    let threshold = format_number(flush.threshold);
    let words = match flush.state {
        FlushState::Off => "switched off".to_owned(),
        FlushState::Never => "never: reserve floor and soft threshold take the whole window".to_owned(),
        FlushState::Skipped(skip) => format!("none: {}", skip.reason()),
        FlushState::Flushed { at } => {
            format!(
                "done in this cycle (compaction count {}); the next at {threshold} tokens",
                format_number(at)
            )
        }
        FlushState::Due(FlushTrigger::Tokens) => {
            let total = flush.total.map_or(0.0, |total| total.tokens);
            format!("due before the next message: {} tokens reach {threshold}", format_number(total))
        }
        FlushState::Due(FlushTrigger::Bytes) => {
            let limit = format_size(limits.flush.force_bytes.value as u64);
            format!("due before the next message: the transcript reached {limit}")
        }
        FlushState::Waiting { tokens } => format!("at {threshold} tokens, {} to go", format_number(tokens)),
        FlushState::NoTotal => format!("at {threshold} tokens; how many there are is not known"),
    };
    let late = flush.compacts_first && !matches!(flush.state, FlushState::Off | FlushState::Skipped(_));
    if late { format!("{words}; a compaction comes before it, for the reserve is larger") } else { words }
}
