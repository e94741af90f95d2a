//! Estimates a whole context, anchored on the last count that a provider reported (compaction 1.10–1.12).

use crate::context::build::ContextMessage;
use crate::context::tokens::chars4::estimate_message;
use crate::gateway::ruleset::{Estimate, Rules};
use crate::ids::EntryIx;
use crate::js::JsException;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::units::Tokens;

/// An estimate of a context: measured up to the last usage, estimated after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextEstimate {
    /// All tokens; NaN for malformed usage.
    pub tokens: Tokens,
    /// Tokens that the provider counted at the anchor; 0 without one.
    pub usage_tokens: Tokens,
    /// Estimated tokens of the messages after the anchor.
    pub trailing_tokens: Tokens,
    /// Index of the anchor's message.
    pub last_usage: Option<usize>,
}

/// Estimates a list of messages. Ignores messages before the anchor (compaction 1.12).
pub fn estimate_context(messages: &[ContextMessage]) -> Result<ContextEstimate, JsException> {
    estimate_from(messages, Some, |at| estimate_message(&messages[at].size))
}

/// Estimates a list of messages under a version's rules. `tokens_of` estimates the message at a position (compaction 12,
/// row "Usage validity").
pub fn estimate_context_under(
    rules: &Rules,
    messages: &[ContextMessage],
    tokens_of: impl Fn(usize) -> Result<Tokens, JsException>,
) -> Result<ContextEstimate, JsException> {
    estimate_from(messages, |usage| valid_usage(rules, usage), tokens_of)
}

/// Estimates a list of messages from the last one with a usage that `read` accepts.
fn estimate_from(
    messages: &[ContextMessage],
    read: impl Fn(Usage) -> Option<Usage>,
    tokens_of: impl Fn(usize) -> Result<Tokens, JsException>,
) -> Result<ContextEstimate, JsException> {
    let usage_at = |at: usize| messages[at].size.usage.and_then(&read);
    let anchor = (0..messages.len()).rev().find(|at| usage_at(*at).is_some());
    let trailing = anchor.map_or(0, |at| at + 1)..messages.len();
    let trailing_tokens = trailing.into_iter().try_fold(Tokens::ZERO, |sum, at| Ok(sum + tokens_of(at)?))?;
    let usage = anchor.and_then(usage_at);
    Ok(ContextEstimate {
        tokens: usage.map_or(trailing_tokens, |usage| usage.context_tokens_with(trailing_tokens)),
        usage_tokens: usage.map_or(Tokens::ZERO, |usage| usage.context_tokens),
        trailing_tokens,
        last_usage: anchor,
    })
}

/// Returns a usage as a version reads it; `None` where it anchors no estimate. Some versions ignore a reported total of the
/// context, some a usage of 0.
fn valid_usage(rules: &Rules, usage: Usage) -> Option<Usage> {
    let reads_total = matches!(
        rules.estimate,
        Estimate::Weighted { .. } | Estimate::OwnRuntime { context_usage: true, .. }
    );
    let added = usage.prompt_tokens() + usage.output;
    let read = if usage.is_reported_total && !reads_total {
        Usage { context_tokens: added, ..usage }
    } else {
        usage
    };
    Some(read).filter(|usage| !rules.usage_above_zero || usage.context_tokens > Tokens::ZERO)
}

/// Sums the messages' own estimates, each rounded up (compaction 1.15).
pub fn sum_of_estimates(messages: &[ContextMessage]) -> Result<Tokens, JsException> {
    messages.iter().try_fold(0.0, |sum, message| Ok(sum + estimate_message(&message.size)?.get())).map(Tokens)
}

/// Returns the last valid usage of a path's `message` entries, including those that a compaction summarised (compaction
/// 1.13).
pub fn last_usage(index: &Index, path: &[EntryIx]) -> Option<(EntryIx, Usage)> {
    path.iter().rev().find_map(|ix| {
        let entry = index.entry(*ix);
        let message =
            entry.message.filter(|_| entry.kind == EntryKind::Message)?.for_release(index.pi_release);
        message.usage.map(|usage| (*ix, usage))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::build_context;
    use crate::gateway::ruleset::Ruleset;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;
    use crate::transcript::{Leaf, Tree};

    #[test]
    fn the_last_usage_covers_everything_before_it() {
        let text = concat!(
            r#"{"type":"session","version":3,"id":"s"}"#,
            "\n",
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"xxxxxxxxxxxx"}}"#,
            "\n",
            r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","stopReason":"stop","content":[],"usage":{"totalTokens":700}}}"#,
            "\n",
            r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"12345"}}"#,
            "\n",
        );
        let estimate = estimated(text);
        assert_eq!(
            (estimate.tokens, estimate.trailing_tokens, estimate.last_usage),
            (Tokens(702.0), Tokens(2.0), Some(1))
        );
        let as_text = estimated(&text.replace(":700}", ":\"700\"}"));
        assert_eq!(
            (as_text.usage_tokens, as_text.tokens),
            (Tokens(700.0), Tokens(7002.0)),
            "a sum with a text appends"
        );
    }

    #[test]
    fn a_usage_of_0_is_ignored_since_2026_8() {
        let answer = |id: &str, parent: &str, total: u32| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"assistant","stopReason":"stop","content":[{{"type":"text","text":"12345678"}}],"usage":{{"input":{total},"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":{total}}}}}}}"#
            )
        };
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        let first =
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"1234"}}"#;
        let text = [header, first, &answer("b", "a", 700), &answer("c", "b", 0), ""].join("\n");
        let messages = messages(&text);
        let anchor = |ruleset: Ruleset| {
            let of = |at: usize| estimate_message(&messages[at].size);
            let estimate = estimate_context_under(ruleset.rules(), &messages, of).expect("measurable");
            (estimate.last_usage, estimate.tokens)
        };
        assert_eq!(anchor(Ruleset::V2026_3_2), (Some(2), Tokens::ZERO));
        assert_eq!(anchor(Ruleset::V2026_9_6), (Some(1), Tokens(702.0)));
    }

    fn estimated(text: &str) -> ContextEstimate {
        estimate_context(&messages(text)).expect("measurable")
    }

    fn messages(text: &str) -> Vec<ContextMessage> {
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds").messages.to_vec()
    }
}
