//! The total that the gateway compares before a chat turn (releases R67): the stored counter of the session's row, the
//! transcript's last usage, or an estimate of its messages. The next message adds its own estimate.
//!
//! Under 2026.7.1, a row with 986,000 tokens of a window of 1,000,000 is compacted before the next message, even if
//! the last prompt had 22,000.

use crate::gateway::ruleset::ChatPreflight;
use crate::policy::memory_flush::LastCall;
use crate::units::Tokens;

/// The gateway reads the transcript if the stored total is within this many tokens of the threshold.
const READ_MARGIN: Tokens = Tokens(8_192.0);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChatTotalInput {
    pub rule: ChatPreflight,
    /// `totalTokens` of the row.
    pub stored: Option<Tokens>,
    /// `totalTokensFresh` of the row.
    pub fresh: Option<bool>,
    /// Whether `totalTokensVersion` of the row is 1.
    pub is_versioned: bool,
    /// The last call with a usage since the last compaction.
    pub last_call: Option<LastCall>,
    /// The gateway's estimate of the messages.
    pub estimate: Tokens,
    pub threshold: Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChatTotal {
    pub tokens: Tokens,
    /// Whether the counter of the row decides; otherwise the transcript does.
    pub is_stored: bool,
}

/// Returns the total without the next message; `None` if nothing is known.
pub fn chat_total(input: &ChatTotalInput) -> Option<ChatTotal> {
    let stored =
        input.stored.filter(|tokens| tokens.is_finite() && *tokens > Tokens::ZERO).map(Tokens::floor);
    let fresh = stored.filter(|_| match input.rule {
        ChatPreflight::WithinReserve => input.fresh == Some(true) && input.is_versioned,
        _ => input.fresh != Some(false),
    });
    let (from_row, from_transcript) = match input.rule {
        ChatPreflight::None => (None, None),
        ChatPreflight::IfStale { counts_usage: false } => {
            (None, input.known_estimate().filter(|_| fresh.is_none()))
        }
        ChatPreflight::IfStale { .. } if fresh.is_some() => (None, None),
        ChatPreflight::IfStale { .. } | ChatPreflight::StoredTotal => {
            (stored, transcript_total(input).filter(|_| fresh.is_none()))
        }
        ChatPreflight::LargerTotal | ChatPreflight::WithinReserve => {
            let is_read = fresh.is_none_or(|tokens| tokens >= input.threshold - READ_MARGIN);
            let call = input.last_call.filter(|_| is_read);
            let answer = call.map_or(Tokens::ZERO, |call| call.output_tokens);
            (fresh.map(|tokens| tokens + answer), transcript_total(input).filter(|_| is_read))
        }
    };
    let row = from_row.map(|tokens| ChatTotal { tokens, is_stored: true });
    let transcript = from_transcript.map(|tokens| ChatTotal { tokens, is_stored: false });
    match (row, transcript) {
        (Some(row), Some(transcript)) if transcript.tokens > row.tokens => Some(transcript),
        (row, transcript) => row.or(transcript),
    }
}

/// Returns the last prompt with its answer, or the estimate of the messages where no provider counted one.
fn transcript_total(input: &ChatTotalInput) -> Option<Tokens> {
    let counted = input.last_call.map(|call| (call.prompt_tokens, call.output_tokens));
    let counted =
        counted.filter(|(prompt, _)| *prompt > Tokens::ZERO).map(|(prompt, answer)| prompt + answer);
    counted.or(input.known_estimate())
}

impl ChatTotalInput {
    fn known_estimate(&self) -> Option<Tokens> {
        Some(self.estimate).filter(|tokens| *tokens > Tokens::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(rule: ChatPreflight) -> ChatTotalInput {
        ChatTotalInput {
            rule,
            stored: Some(Tokens(175_000.0)),
            fresh: Some(true),
            is_versioned: true,
            last_call: Some(LastCall { prompt_tokens: Tokens(30_000.0), output_tokens: Tokens(1_500.0) }),
            estimate: Tokens(20_000.0),
            threshold: Tokens(176_000.0),
        }
    }

    fn total(input: &ChatTotalInput) -> Option<(f64, bool)> {
        chat_total(input).map(|total| (total.tokens.get(), total.is_stored))
    }

    #[test]
    fn a_fresh_counter_decides_from_5_22_on_and_gets_the_last_answer_from_6_11_on() {
        assert_eq!(
            [false, true].map(|counts_usage| total(&input(ChatPreflight::IfStale { counts_usage }))),
            [None; 2]
        );
        assert_eq!(total(&input(ChatPreflight::StoredTotal)), Some((175_000.0, true)));
        assert_eq!(total(&input(ChatPreflight::LargerTotal)), Some((176_500.0, true)));
        let far = ChatTotalInput { stored: Some(Tokens(50_000.0)), ..input(ChatPreflight::LargerTotal) };
        assert_eq!(total(&far), Some((50_000.0, true)), "far below the threshold the transcript is not read");
    }

    #[test]
    fn a_stale_counter_leaves_the_transcript() {
        let stale = |rule| ChatTotalInput { fresh: Some(false), ..input(rule) };
        assert_eq!(total(&stale(ChatPreflight::IfStale { counts_usage: false })), Some((20_000.0, false)));
        assert_eq!(total(&stale(ChatPreflight::IfStale { counts_usage: true })), Some((175_000.0, true)));
        assert_eq!(total(&stale(ChatPreflight::StoredTotal)), Some((175_000.0, true)));
        assert_eq!(total(&stale(ChatPreflight::LargerTotal)), Some((31_500.0, false)));
        let uncounted = ChatTotalInput { last_call: None, stored: None, ..stale(ChatPreflight::LargerTotal) };
        assert_eq!(total(&uncounted), Some((20_000.0, false)));
    }

    #[test]
    fn from_8_1_on_a_counter_without_a_version_is_no_total() {
        let old = ChatTotalInput { is_versioned: false, ..input(ChatPreflight::WithinReserve) };
        assert_eq!(total(&old), Some((31_500.0, false)));
        let unmarked = ChatTotalInput { fresh: None, ..input(ChatPreflight::WithinReserve) };
        assert_eq!(total(&unmarked), Some((31_500.0, false)));
        assert_eq!(total(&input(ChatPreflight::WithinReserve)), Some((176_500.0, true)));
    }
}
