//! The state of the gateway's memory flush for a session.

use crate::gateway::ruleset::MemoryFlush;
use crate::policy::memory_flush::{Flush, FlushInput, flush_status};
use crate::session::LoadedSession;
use crate::units::Tokens;

impl LoadedSession {
    /// Returns the state before a next message of unknown size, or `None` when no gateway runs the session.
    pub fn memory_flush(&self) -> Option<Flush> {
        let limits = &self.limits;
        let kind = self.ruleset.id.rules().memory_flush;
        let reads_transcript = !matches!(kind, MemoryFlush::StoredTotal { .. });
        let facts = FlushInput {
            window: limits.flush_window,
            reserve_tokens: self.configured_settings.compaction.reserve_tokens,
            stored_tokens: limits.stored_totals.total_tokens,
            fresh: limits.stored_totals.fresh,
            last_call: self.last_usage_of_file().map(|(_, call)| call).filter(|_| reads_transcript),
            message_tokens: Tokens::ZERO,
            bytes: self.index.file_bytes(),
            compactions: limits.stored_totals.compaction_count.unwrap_or(0.0),
            flushed_at: limits.stored_totals.flush_compaction_count,
            skipped: limits.flush_skip,
        };
        limits.is_gateway_run.then(|| flush_status(&limits.flush, &facts))
    }
}
