//! The total that the gateway compares before a chat turn (releases R67): the stored counter of the session's row, the
//! transcript's last usage, or an estimate of its messages. The next message adds its own estimate.
//!
//! Under 2026.7.1, a row with 986,000 tokens of a window of 1,000,000 is compacted before the next message, even if
//! the last prompt had 22,000.

use crate::gateway::ruleset::{ChatPreflight, TranscriptTotal};
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
    pub transcript: TranscriptCount,
    /// The gateway's estimate of the new message; `None` for a blank one.
    pub message: Option<Tokens>,
    pub threshold: Tokens,
}

/// Numbers of a transcript, of which the release takes what its rule names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TranscriptCount {
    pub rule: TranscriptTotal,
    /// The last call with a usage.
    pub last_call: Option<LastCall>,
    /// Tokens of what follows its answer.
    pub tail: Tokens,
    /// The gateway's estimate of the messages.
    pub estimate: Tokens,
    /// A token per four bytes of the file.
    pub file: Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChatTotal {
    pub tokens: Tokens,
    /// Whether the counter of the row decides; otherwise the transcript does.
    pub is_stored: bool,
}

/// Returns the total; `None` if nothing is known.
pub fn chat_total(input: &ChatTotalInput) -> Option<ChatTotal> {
    let message = input.message.unwrap_or(Tokens::ZERO);
    let fresh = input.fresh_total();
    let is_read = match (input.rule, fresh, input.message) {
        (_, None, _) => true,
        (ChatPreflight::LargerTotal | ChatPreflight::WithinReserve, Some(tokens), Some(message)) => {
            tokens + message >= input.threshold - READ_MARGIN
        }
        _ => false,
    };
    let transcript = is_read.then(|| input.transcript.total()).flatten();
    let row = match input.rule {
        ChatPreflight::None => return None,
        ChatPreflight::IfStale if input.is_stored_known() && input.fresh != Some(false) => return None,
        ChatPreflight::IfStale | ChatPreflight::StoredTotal => {
            input.stored.filter(|_| !input.transcript.rule.is_estimate())
        }
        ChatPreflight::LargerTotal | ChatPreflight::WithinReserve => {
            let answer = if is_read { input.transcript.answer() } else { Tokens::ZERO };
            fresh.map(|tokens| tokens + answer + message)
        }
    };
    let row = row.map(|tokens| ChatTotal { tokens: tokens.floor(), is_stored: true });
    let transcript = transcript.map(|tokens| ChatTotal { tokens: tokens + message, is_stored: false });
    let larger = match (row, transcript) {
        (Some(row), Some(transcript)) if transcript.tokens > row.tokens => Some(transcript),
        (row, transcript) => row.or(transcript),
    };
    larger.filter(|total| total.tokens > Tokens::ZERO && total.tokens.is_finite())
}

impl ChatTotalInput {
    fn is_stored_known(&self) -> bool {
        self.stored.is_some_and(|tokens| tokens.is_finite() && tokens > Tokens::ZERO)
    }

    /// Returns the stored total, unless the row marks it as stale; one of 0 counts too.
    fn fresh_total(&self) -> Option<Tokens> {
        self.stored.filter(|tokens| tokens.is_finite() && *tokens >= Tokens::ZERO).filter(|_| {
            match self.rule {
                ChatPreflight::WithinReserve => self.fresh == Some(true) && self.is_versioned,
                _ => self.fresh != Some(false),
            }
        })
    }
}

impl TranscriptCount {
    /// Returns the last prompt with its answer and what follows, or the estimate of the messages where no provider
    /// counted a prompt; `None` for an empty transcript.
    fn total(&self) -> Option<Tokens> {
        let call = self.last_call.filter(|call| call.prompt_tokens > Tokens::ZERO);
        let is_known = |tokens: &Tokens| *tokens > Tokens::ZERO;
        let estimate = Some(self.estimate).filter(is_known);
        match self.rule {
            TranscriptTotal::AllMessages | TranscriptTotal::AllOfPath => estimate,
            TranscriptTotal::UsageOrFile => {
                let counted = call.map(|call| call.prompt_tokens + call.output_tokens);
                Some(counted.or(estimate)?.max(self.file))
            }
            TranscriptTotal::UsageAndTail { counts_line_end } => {
                let Some(call) = call else { return estimate.or(Some(self.file)).filter(is_known) };
                let is_last = !counts_line_end && self.tail == Tokens::ZERO && is_known(&call.output_tokens);
                let counted = call.prompt_tokens + self.tail;
                let counted = if is_last { counted } else { counted.max(self.estimate) };
                Some(counted + call.output_tokens)
            }
            TranscriptTotal::UsageOfPath => {
                let counted = call.map(|call| call.prompt_tokens + self.tail + call.output_tokens);
                Some(counted.unwrap_or(self.estimate))
            }
        }
    }

    /// Returns the tokens of the last answer, which a stored total lacks.
    fn answer(&self) -> Tokens {
        let counts =
            |call: &LastCall| call.prompt_tokens > Tokens::ZERO || self.rule == TranscriptTotal::UsageOfPath;
        self.last_call.filter(counts).map_or(Tokens::ZERO, |call| call.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: TranscriptTotal = TranscriptTotal::UsageAndTail { counts_line_end: false };

    fn input(rule: ChatPreflight, transcript: TranscriptTotal) -> ChatTotalInput {
        let last_call = LastCall { prompt_tokens: Tokens(30_000.0), output_tokens: Tokens(1_500.0) };
        ChatTotalInput {
            rule,
            stored: Some(Tokens(175_000.0)),
            fresh: Some(true),
            is_versioned: true,
            transcript: TranscriptCount {
                rule: transcript,
                last_call: Some(last_call),
                tail: Tokens::ZERO,
                estimate: Tokens(20_000.0),
                file: Tokens(25_000.0),
            },
            message: Some(Tokens(3.0)),
            threshold: Tokens(176_000.0),
        }
    }

    fn total(input: &ChatTotalInput) -> Option<(f64, bool)> {
        chat_total(input).map(|total| (total.tokens.get(), total.is_stored))
    }

    #[test]
    fn a_fresh_counter_decides_from_5_22_on_and_gets_message_and_answer_from_6_11_on() {
        assert_eq!(total(&input(ChatPreflight::IfStale, TranscriptTotal::AllMessages)), None);
        assert_eq!(total(&input(ChatPreflight::IfStale, TAIL)), None);
        assert_eq!(total(&input(ChatPreflight::StoredTotal, TAIL)), Some((175_000.0, true)));
        assert_eq!(total(&input(ChatPreflight::LargerTotal, TAIL)), Some((176_503.0, true)));
        let far =
            ChatTotalInput { stored: Some(Tokens(50_000.0)), ..input(ChatPreflight::LargerTotal, TAIL) };
        assert_eq!(total(&far), Some((50_003.0, true)), "far below the threshold the transcript is not read");
    }

    #[test]
    fn a_stale_counter_leaves_the_transcript() {
        let stale = |rule, transcript| ChatTotalInput { fresh: Some(false), ..input(rule, transcript) };
        let if_stale = |transcript| total(&stale(ChatPreflight::IfStale, transcript));
        assert_eq!(if_stale(TranscriptTotal::AllMessages), Some((20_003.0, false)));
        assert_eq!(if_stale(TranscriptTotal::UsageOrFile), Some((175_000.0, true)));
        assert_eq!(total(&stale(ChatPreflight::StoredTotal, TAIL)), Some((175_000.0, true)));
        assert_eq!(total(&stale(ChatPreflight::LargerTotal, TAIL)), Some((31_503.0, false)));
    }

    #[test]
    fn what_follows_the_last_usage_counts_and_brings_the_estimate_in() {
        let mut case = ChatTotalInput { stored: None, ..input(ChatPreflight::LargerTotal, TAIL) };
        case.transcript.estimate = Tokens(40_000.0);
        assert_eq!(total(&case), Some((31_503.0, false)));
        case.transcript.tail = Tokens(50.0);
        assert_eq!(total(&case), Some((41_503.0, false)), "the estimate is larger");
        case.transcript.last_call = None;
        assert_eq!(total(&case), Some((40_003.0, false)));
    }

    #[test]
    fn from_8_1_on_a_counter_without_a_version_is_no_total() {
        let now = input(ChatPreflight::WithinReserve, TranscriptTotal::UsageOfPath);
        assert_eq!(total(&ChatTotalInput { is_versioned: false, ..now }), Some((31_503.0, false)));
        assert_eq!(total(&ChatTotalInput { fresh: None, ..now }), Some((31_503.0, false)));
        assert_eq!(total(&now), Some((176_503.0, true)));
    }
}
