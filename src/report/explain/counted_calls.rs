//! Calls of a path that a provider counted, with the estimate of the messages between each two.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::session::LoadedSession;
use crate::store::entry::{EntryKind, Role, StopReason};
use crate::store::intern::ValueIx;

/// Growth below this many tokens is noise: a provider's framing of a message weighs as much.
const MIN_GROWTH: u64 = 200;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CountedCall {
    pub entry: EntryIx,
    /// Counted prompt tokens: `input` + `cacheRead` + `cacheWrite` (store I7).
    pub prompt_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: f64,
    /// The total that the runtime compares with its trigger (compaction 1.10).
    pub context_tokens: f64,
    /// The reason why the reply ended.
    pub stop: StopReason,
    /// The time, ms.
    pub at_ms: f64,
    pub model: Option<(ValueIx, ValueIx)>,
    /// Estimated tokens of the messages since the previous call, its answer included; `None` after a compaction.
    pub estimated_since: Option<u64>,
    /// Images in those messages.
    pub images: u64,
    /// Estimated tokens of the tool results in those messages.
    pub result_tokens: u64,
}

impl Default for CountedCall {
    fn default() -> Self {
        Self {
            entry: EntryIx(0),
            prompt_tokens: 0,
            output_tokens: 0.0,
            context_tokens: f64::NAN,
            stop: StopReason::Other,
            at_ms: f64::NAN,
            model: None,
            estimated_since: None,
            images: 0,
            result_tokens: 0,
        }
    }
}

/// Returns the counted calls on a path, root first.
pub(super) fn counted_calls(session: &LoadedSession, path: &[EntryIx]) -> Vec<CountedCall> {
    let index = &session.index;
    let mut calls: Vec<CountedCall> = Vec::new();
    let mut next = CountedCall { estimated_since: None, ..CountedCall::default() };
    for ix in path {
        let entry = index.entry(*ix);
        if matches!(entry.kind, EntryKind::Compaction | EntryKind::Reset) {
            next = CountedCall::default();
        }
        let Some(size) = entry.message.filter(|_| entry.becomes_message()) else { continue };
        let usage = size.usage.filter(|usage| usage.prompt_tokens() >= 1.0 && usage.prompt_tokens() < 1e12);
        let sure = entry.is_model_call() && !session.partial_counts.contains(ix);
        let usage = usage.filter(|_| sure && session.overflow_at(*ix).is_none());
        if let Some(usage) = usage {
            calls.push(CountedCall {
                entry: *ix,
                prompt_tokens: usage.prompt_tokens() as u64,
                output_tokens: usage.output,
                context_tokens: usage.context_tokens,
                stop: size.stop_reason,
                at_ms: entry.time_ms,
                model: entry.model,
                ..next
            });
            next = CountedCall { estimated_since: Some(0), ..CountedCall::default() };
        }
        let tokens = estimate_or_zero(&size);
        next.estimated_since = next.estimated_since.map(|sum| sum + tokens);
        next.images += u64::from(size.images);
        next.result_tokens += if size.role == Role::ToolResult { tokens } else { 0 };
    }
    calls
}

/// Returns the provider's tokens per token of chars / 4. It sums the growth from prompt to prompt, so that the tokens
/// before the messages cancel out. `None` with fewer than four usable growths.
pub(super) fn token_ratio(calls: &[CountedCall]) -> Option<f64> {
    let growths = calls.windows(2).filter_map(|pair| {
        let estimated = pair[1].estimated_since.filter(|since| *since >= MIN_GROWTH)?;
        let same = pair[0].model == pair[1].model;
        let counted = pair[1].prompt_tokens.checked_sub(pair[0].prompt_tokens).filter(|_| same)?;
        Some((counted, estimated))
    });
    let (mut count, mut counted, mut estimated) = (0, 0, 0);
    for growth in growths {
        count += 1;
        counted += growth.0;
        estimated += growth.1;
    }
    (count >= 4 && counted > 0).then(|| counted as f64 / estimated as f64)
}
