//! The state of the memory flush in one line.

use crate::format::{format_number, format_size};
use crate::policy::memory_flush::{Flush, FlushState, FlushTotal, FlushTrigger};
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
            let total = flush.total.map_or_else(String::new, |total| describe_total(total, limits));
            format!("due before the next message: {total} reached {threshold} tokens")
        }
        FlushState::Due(FlushTrigger::Bytes) => {
            let limit = format_size(limits.flush.force_bytes.value);
            format!("due before the next message: the transcript reached {limit}")
        }
        FlushState::Waiting { tokens } => {
            let total = flush
                .total
                .map_or_else(String::new, |total| format!(" from {}", describe_total(total, limits)));
            format!("at {threshold} tokens, {} to go{total}", format_number(tokens))
        }
        FlushState::NoTotal => format!("at {threshold} tokens; the current count is unknown"),
    };
    let late = flush.compacts_first && !matches!(flush.state, FlushState::Off | FlushState::Skipped(_));
    if late { format!("{words}; a compaction runs first, because its reserve is larger") } else { words }
}

/// Names the count that the gateway compares with the threshold (compaction 9.4, 9.5).
fn describe_total(total: FlushTotal, limits: &ContextLimits) -> String {
    let is_stored = limits.stored_totals.total_tokens == Some(total.tokens);
    let name = if is_stored { "the stored total" } else { "the last prompt with its answer" };
    format!("{name} ({})", format_number(total.tokens))
}
