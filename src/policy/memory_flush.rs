//! The memory flush: the silent turn in which the model writes notes to disk before a compaction summarises its history
//! (compaction 9). [`flush_status`] returns whether the next message triggers a flush, or how many tokens are missing.
//!
//! For a window of 200,000 and the default settings, the flush is due from 176,000 tokens on.

use schemars::JsonSchema;
use serde::Serialize;

use crate::gateway::memory_flush::FlushSettings;
use crate::units::{Bytes, Tokens};

/// The gateway reads the transcript if the stored total is within this many tokens of the threshold (compaction 9.5).
const READ_MARGIN: f64 = 8_192.0;

/// Tokens that the provider counted in the last recorded call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastCall {
    /// Input + cacheRead + cacheWrite.
    pub prompt_tokens: Tokens,
    pub output_tokens: Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlushInput {
    /// Window of the model as the flush looks it up, in tokens (compaction 9.3).
    pub window: Tokens,
    /// Reserve of the compaction, in tokens; decides whether the compaction comes before the flush.
    pub reserve_tokens: Tokens,
    /// `totalTokens` of the row.
    pub stored_tokens: Option<Tokens>,
    /// `totalTokensFresh` of the row; absent counts as fresh if only the stored total is used.
    pub fresh: Option<bool>,
    /// Last call of the transcript with a usage.
    pub last_call: Option<LastCall>,
    /// Tokens of the next message; 0 while unknown.
    pub message_tokens: Tokens,
    /// Size of the transcript, in bytes.
    pub bytes: Bytes,
    /// `compactionCount` of the row; 0 without a row.
    pub compactions: f64,
    /// `memoryFlushCompactionCount` of the row: the compaction count at the last flush.
    pub flushed_at: Option<f64>,
    pub skipped: Option<FlushSkip>,
}

/// Reason why the gateway never flushes a session (compaction 9.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushSkip {
    /// The store has no row for the session.
    NoRow,
    /// A command-line program runs the model.
    CliBackend,
    /// The sandbox may not write to the workspace.
    ReadOnlySandbox,
}

impl FlushSkip {
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoRow => "the store has no row for this session",
            Self::CliBackend => "a command-line program runs its model",
            Self::ReadOnlySandbox => "its sandbox may not write to the workspace",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushTrigger {
    /// The tokens reached the threshold (compaction 9.3).
    Tokens,
    /// The transcript reached its size limit (compaction 9.7).
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlushState {
    /// `memoryFlush.enabled` is false (compaction 9.1).
    Off,
    /// Reserve and soft threshold take the whole window (compaction 9.3).
    Never,
    /// (compaction 9.8)
    Skipped(FlushSkip),
    /// A flush already ran at this compaction count; the next one needs a compaction first (compaction 9.6).
    Flushed {
        /// Compaction count at the flush.
        at: f64,
    },
    /// The flush runs before the next message.
    Due(FlushTrigger),
    Waiting {
        /// Tokens until it is due, more than 0.
        tokens: Tokens,
    },
    /// No total is known, so the tokens decide nothing (compaction 9.4).
    NoTotal,
}

impl FlushState {
    /// Whether the token threshold applies to this session.
    pub fn is_on(self) -> bool {
        !matches!(self, Self::Off | Self::Never | Self::Skipped(_))
    }

    /// Returns the rule that decides.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Off => "compaction 9.1",
            Self::Never | Self::Due(FlushTrigger::Tokens) | Self::Waiting { .. } => "compaction 9.3",
            Self::Skipped(_) => "compaction 9.8",
            Self::Flushed { .. } => "compaction 9.6",
            Self::Due(FlushTrigger::Bytes) => "compaction 9.7",
            Self::NoTotal => "compaction 9.4",
        }
    }

    /// Returns the word used in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Never => "never",
            Self::Skipped(_) => "skipped",
            Self::Flushed { .. } => "flushed",
            Self::Due(_) => "due",
            Self::Waiting { .. } => "waiting",
            Self::NoTotal => "noTotal",
        }
    }
}

/// Total that is compared with the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FlushTotal {
    #[schemars(with = "Option<f64>")]
    pub tokens: Tokens,
    /// Projected from the transcript instead of stored (compaction 9.5).
    #[serde(rename = "projected")]
    pub is_projected: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flush {
    pub state: FlushState,
    /// Total from which a flush is due, in tokens (compaction 9.3).
    pub threshold: Tokens,
    pub total: Option<FlushTotal>,
    /// The compaction comes before the flush, because the reserve is larger than floor and soft threshold together
    /// (compaction 9.9).
    pub compacts_first: bool,
}

/// Returns the total from which a flush is due, in tokens; 0 if it never is (compaction 9.3).
pub fn threshold(settings: &FlushSettings, window: Tokens) -> Tokens {
    (window - settings.floor_tokens.value - settings.soft_tokens.value).max(Tokens::ZERO)
}

pub fn flush_status(settings: &FlushSettings, facts: &FlushInput) -> Flush {
    let threshold = threshold(settings, facts.window);
    let total = total(facts, threshold);
    let bytes = settings.force_bytes.value;
    let state = if !settings.enabled.value {
        FlushState::Off
    } else if let Some(skip) = facts.skipped {
        FlushState::Skipped(skip)
    } else if let Some(at) = facts.flushed_at.filter(|at| *at == facts.compactions) {
        FlushState::Flushed { at }
    } else if threshold > Tokens::ZERO && total.is_some_and(|total| total.tokens >= threshold) {
        FlushState::Due(FlushTrigger::Tokens)
    } else if bytes > Bytes::ZERO && facts.bytes >= bytes {
        FlushState::Due(FlushTrigger::Bytes)
    } else if threshold <= Tokens::ZERO {
        FlushState::Never
    } else {
        total.map_or(FlushState::NoTotal, |total| FlushState::Waiting { tokens: threshold - total.tokens })
    };
    let late = facts.reserve_tokens > settings.floor_tokens.value + settings.soft_tokens.value;
    Flush { state, threshold, total, compacts_first: late }
}

/// Returns the projected total; without one, the stored total unless it is marked stale (compaction 9.4).
fn total(facts: &FlushInput, threshold: Tokens) -> Option<FlushTotal> {
    let stored = facts.stored_tokens.filter(|tokens| tokens.is_finite() && *tokens >= Tokens::ZERO);
    let projected = projected_total(facts, stored, threshold).filter(|tokens| *tokens > Tokens::ZERO);
    let projected = projected.map(|tokens| FlushTotal { tokens: tokens.floor(), is_projected: true });
    projected.or_else(|| {
        let usable = stored.filter(|_| facts.fresh != Some(false));
        usable.map(|tokens| FlushTotal { tokens, is_projected: false })
    })
}

/// Projects the total: the larger of the fresh stored total and the last prompt of the transcript, plus the last answer
/// and the next message (compaction 9.5). The transcript counts only if the gateway reads it.
fn projected_total(facts: &FlushInput, stored: Option<Tokens>, threshold: Tokens) -> Option<Tokens> {
    let fresh = stored.filter(|_| facts.fresh == Some(true));
    let near = |tokens: Tokens| {
        threshold > Tokens::ZERO && tokens + facts.message_tokens >= threshold - Tokens(READ_MARGIN)
    };
    let read = facts.last_call.filter(|_| fresh.is_none_or(near));
    let prompt = fresh.unwrap_or(Tokens::ZERO).max(read.map_or(Tokens::ZERO, |call| call.prompt_tokens));
    let answer = read.map_or(Tokens::ZERO, |call| call.output_tokens);
    (prompt > Tokens::ZERO).then_some(prompt + answer + facts.message_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::config::GatewayConfig;
    use crate::gateway::memory_flush::flush_settings;

    fn settings() -> FlushSettings {
        flush_settings(&GatewayConfig::empty())
    }

    fn facts() -> FlushInput {
        FlushInput {
            window: Tokens(200_000.0),
            reserve_tokens: Tokens(20_000.0),
            stored_tokens: Some(Tokens(100_000.0)),
            fresh: Some(true),
            last_call: None,
            message_tokens: Tokens::ZERO,
            bytes: Bytes(1_000),
            compactions: 0.0,
            flushed_at: None,
            skipped: None,
        }
    }

    fn state(facts: &FlushInput) -> FlushState {
        flush_status(&settings(), facts).state
    }

    #[test]
    fn with_the_defaults_a_flush_is_due_from_176000_tokens_on() {
        assert_eq!(flush_status(&settings(), &facts()).threshold, Tokens(176_000.0));
        assert_eq!(state(&facts()), FlushState::Waiting { tokens: Tokens(76_000.0) });
        let at = |tokens| state(&FlushInput { stored_tokens: Some(tokens), ..facts() });
        assert_eq!(at(Tokens(175_999.0)), FlushState::Waiting { tokens: Tokens(1.0) });
        assert_eq!(at(Tokens(176_000.0)), FlushState::Due(FlushTrigger::Tokens));
        assert_eq!(state(&FlushInput { window: Tokens(24_000.0), ..facts() }), FlushState::Never);
    }

    #[test]
    fn a_stale_total_is_replaced_by_the_last_call_of_the_transcript() {
        let stale = FlushInput { fresh: Some(false), ..facts() };
        assert_eq!(state(&stale), FlushState::NoTotal);
        let last_call = Some(LastCall { prompt_tokens: Tokens(150_000.0), output_tokens: Tokens(500.0) });
        let read = flush_status(&settings(), &FlushInput { last_call, ..stale });
        assert_eq!(read.total, Some(FlushTotal { tokens: Tokens(150_500.0), is_projected: true }));
        // An absent flag counts as fresh only while nothing is projected.
        let absent = flush_status(&settings(), &FlushInput { fresh: None, ..facts() });
        assert_eq!(absent.total, Some(FlushTotal { tokens: Tokens(100_000.0), is_projected: false }));
    }

    #[test]
    fn the_transcript_is_read_near_the_threshold_and_the_larger_prompt_counts() {
        let last_call = Some(LastCall { prompt_tokens: Tokens(172_000.0), output_tokens: Tokens(900.0) });
        let total = |stored: f64, message_tokens| {
            let facts =
                FlushInput { stored_tokens: Some(Tokens(stored)), last_call, message_tokens, ..facts() };
            flush_status(&settings(), &facts).total.map(|total| total.tokens)
        };
        assert_eq!(total(167_807.0, Tokens::ZERO), Some(Tokens(167_807.0)));
        assert_eq!(total(167_808.0, Tokens::ZERO), Some(Tokens(172_900.0)));
        assert_eq!(total(167_807.0, Tokens(1.0)), Some(Tokens(172_901.0)));
        assert_eq!(total(175_000.0, Tokens(100.0)), Some(Tokens(176_000.0)));
    }

    #[test]
    fn a_flush_happens_once_per_compaction_cycle() {
        let due = FlushInput { stored_tokens: Some(Tokens(190_000.0)), ..facts() };
        assert_eq!(state(&FlushInput { flushed_at: Some(0.0), ..due }), FlushState::Flushed { at: 0.0 });
        let next = FlushInput { flushed_at: Some(0.0), compactions: 1.0, ..due };
        assert_eq!(state(&next), FlushState::Due(FlushTrigger::Tokens));
    }

    #[test]
    fn a_large_transcript_is_flushed_once_per_cycle_at_any_token_count() {
        let large = FlushInput { bytes: Bytes(2_097_152), ..facts() };
        assert_eq!(state(&large), FlushState::Due(FlushTrigger::Bytes));
        assert_eq!(state(&FlushInput { bytes: Bytes(2_097_151), ..large }), state(&facts()));
        assert_eq!(state(&FlushInput { flushed_at: Some(0.0), ..large }), FlushState::Flushed { at: 0.0 });
        let mut unlimited = settings();
        unlimited.force_bytes.value = Bytes::ZERO;
        assert_eq!(flush_status(&unlimited, &large).state, FlushState::Waiting { tokens: Tokens(76_000.0) });
    }

    #[test]
    fn a_disabled_or_skipped_flush_is_never_due() {
        let due = FlushInput { stored_tokens: Some(Tokens(190_000.0)), ..facts() };
        let mut off = settings();
        off.enabled.value = false;
        assert_eq!(flush_status(&off, &due).state, FlushState::Off);
        let skipped = FlushInput { skipped: Some(FlushSkip::CliBackend), ..due };
        assert_eq!(state(&skipped), FlushState::Skipped(FlushSkip::CliBackend));
        assert_eq!(state(&skipped).rule(), "compaction 9.8");
    }

    #[test]
    fn a_large_reserve_makes_the_flush_late() {
        let late = |reserve_tokens| {
            flush_status(&settings(), &FlushInput { reserve_tokens, ..facts() }).compacts_first
        };
        assert_eq!((late(Tokens(24_000.0)), late(Tokens(24_001.0))), (false, true));
    }
}
