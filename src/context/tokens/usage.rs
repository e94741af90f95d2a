//! Estimates a whole context, anchored on the last count that a provider reported (compaction 1.10–1.12).

use crate::context::build::ContextMessage;
use crate::context::tokens::chars4::estimate_message;
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
    let anchor = messages.iter().rposition(|message| message.size.usage.is_some());
    let usage = anchor.and_then(|at| messages[at].size.usage);
    let trailing = &messages[anchor.map_or(0, |at| at + 1)..];
    let trailing_tokens = sum_of_estimates(trailing)?;
    Ok(ContextEstimate {
        tokens: usage.map_or(trailing_tokens, |usage| usage.context_tokens_with(trailing_tokens)),
        usage_tokens: usage.map_or(Tokens::ZERO, |usage| usage.context_tokens),
        trailing_tokens,
        last_usage: anchor,
    })
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
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;
    use crate::transcript::{Leaf, Tree};

    #[test]
    fn everything_before_the_last_usage_is_what_the_provider_counted() {
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

    fn estimated(text: &str) -> ContextEstimate {
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        estimate_context(&context.messages).expect("measurable")
    }
}
