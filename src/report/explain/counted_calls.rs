//! Calls of a path that a provider counted, with the estimate of the messages between each two.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::session::LoadedSession;
use crate::store::entry::{EntryKind, Role, StopReason};
use crate::store::intern::ValueIx;
use crate::units::{Moment, Tokens};

/// Growth below this many tokens is noise: a provider's framing of a message weighs as much.
const MIN_GROWTH: u64 = 200;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CountedCall {
    pub entry: EntryIx,
    /// Counted prompt tokens: `input` + `cacheRead` + `cacheWrite` (store I7).
    pub prompt_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: Tokens,
    /// The total that the runtime compares with its trigger (compaction 1.10).
    pub context_tokens: Tokens,
    /// The reason why the reply ended.
    pub stop: StopReason,
    pub at_ms: Moment,
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
            output_tokens: Tokens::ZERO,
            context_tokens: Tokens(f64::NAN),
            stop: StopReason::Other,
            at_ms: Moment(f64::NAN),
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
        let usage = size
            .usage
            .filter(|usage| usage.prompt_tokens() >= Tokens(1.0) && usage.prompt_tokens() < Tokens(1e12));
        let sure = entry.is_model_call() && !session.unreliable_counts.contains(ix);
        let usage = usage.filter(|_| sure && session.overflow_at(*ix).is_none());
        if let Some(usage) = usage {
            calls.push(CountedCall {
                entry: *ix,
                prompt_tokens: usage.prompt_tokens().whole(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::answer;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    fn grown(counted: u64, estimated: Option<u64>) -> CountedCall {
        CountedCall { prompt_tokens: counted, estimated_since: estimated, ..CountedCall::default() }
    }

    /// Calls that grow by these counted and estimated tokens.
    fn calls(growths: &[(u64, u64)]) -> Vec<CountedCall> {
        let mut calls = vec![grown(1_000, None)];
        for (counted, estimated) in growths {
            let before = calls[calls.len() - 1].prompt_tokens;
            calls.push(grown(before + counted, Some(*estimated)));
        }
        calls
    }

    #[test]
    fn the_ratio_is_that_of_all_growth_together_and_takes_four_growths_above_the_noise() {
        assert_eq!(token_ratio(&calls(&[(300, 200); 4])), Some(1.5));
        assert_eq!(token_ratio(&calls(&[(300, 200); 3])), None);
        assert_eq!(token_ratio(&calls(&[(300, 200), (300, 199), (300, 200), (300, 200)])), None, "noise");
        let mixed = [(9_000, 199), (1_000, 1_000), (300, 200), (200, 400), (900, 800)];
        assert_eq!(
            token_ratio(&calls(&mixed)),
            Some(2_400.0 / 2_400.0),
            "the small growth counts for nothing"
        );
        assert_eq!(token_ratio(&calls(&[(0, 200); 4])), None, "nothing was counted");
        assert_eq!(token_ratio(&calls(&[(0, 200), (1, 200), (0, 200), (0, 200)])), Some(1.0 / 800.0));
    }

    #[test]
    fn smaller_prompts_and_prompts_after_a_compaction_do_not_count_in_the_ratio() {
        let mut smaller = calls(&[(300, 200); 5]);
        smaller[2].prompt_tokens = 10;
        // A session that shrank to 10 tokens and then reached 1,900 has grown too.
        assert_eq!(token_ratio(&smaller), Some((300.0 + 1_890.0 + 300.0 + 300.0) / 800.0));
        let mut compacted = calls(&[(300, 200); 5]);
        compacted[3].estimated_since = None;
        assert_eq!(token_ratio(&compacted), Some(1.5));
        compacted[2].estimated_since = None;
        assert_eq!(token_ratio(&compacted), None, "three are left");
    }

    #[test]
    fn the_messages_since_the_previous_call_begin_with_its_answer() {
        let image = crate::session::testing::message(
            r#"{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"QUJD"}]}"#,
        );
        let entries = [
            user("go on"),
            answer(500),
            call("c", "exec", "{}"),
            result("c", "exec", &"x".repeat(4_000), ""),
            image,
            answer(2_000),
            user("more"),
            answer(2_100),
        ];
        let session = loaded_session(&transcript(&entries), 200_000.0);
        let counted = counted_calls(&session, &session.context.path);
        let seen: Vec<_> = counted
            .iter()
            .map(|call| (call.entry, call.prompt_tokens, call.result_tokens, call.images))
            .collect();
        assert_eq!(seen, [(EntryIx(1), 500, 0, 0), (EntryIx(5), 2_000, 1_000, 1), (EntryIx(7), 2_100, 0, 0)]);
        assert_eq!(counted[0].estimated_since, None, "nothing before the first");
        assert!(counted[1].estimated_since.is_some_and(|tokens| tokens > 1_000));
        assert!(counted[2].estimated_since.is_some_and(|tokens| (1..10).contains(&tokens)));
        assert_eq!(
            counted.iter().map(|call| call.context_tokens).collect::<Vec<_>>(),
            [510.0, 2_010.0, 2_110.0].map(Tokens)
        );
    }
}
