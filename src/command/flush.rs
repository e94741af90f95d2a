//! The state of the memory flush in one line.

use crate::format::{format_number, format_size};
use crate::policy::memory_flush::{Flush, FlushState, FlushTrigger};
use crate::session::context_limits::ContextLimits;

pub(super) fn describe_flush(flush: &Flush, limits: &ContextLimits) -> String {
    let threshold = format_number(flush.threshold);
    let words = match flush.state {
        FlushState::Off => "off".to_owned(),
        FlushState::Never => {
            "never: the reserve floor and the soft threshold fill the whole window".to_owned()
        }
        FlushState::Skipped(skip) => format!("not run: {}", skip.reason()),
        FlushState::Flushed { at } => {
            format!(
                "done in this cycle (compaction count {}); the next one at {threshold} tokens",
                format_number(at)
            )
        }
        FlushState::Due(FlushTrigger::Tokens) => {
            let total = flush.total.map_or(0.0, |total| total.tokens.get());
            format!("due before the next message: {} tokens, threshold {threshold}", format_number(total))
        }
        FlushState::Due(FlushTrigger::Bytes) => {
            let limit = format_size(limits.flush.force_bytes.value);
            format!("due before the next message: the transcript reached {limit}")
        }
        FlushState::Waiting { tokens } => format!("at {threshold} tokens, {} to go", format_number(tokens)),
        FlushState::NoTotal => format!("at {threshold} tokens; the current count is unknown"),
    };
    let late = flush.compacts_first && !matches!(flush.state, FlushState::Off | FlushState::Skipped(_));
    if late { format!("{words}; a compaction runs first, because its reserve is larger") } else { words }
}
