//! Divides messages for summarising: by share of the tokens, by a maximum, or by the window (compaction 5.9, 5.10,
//! 5.12, 5.14). A chunk may end between a tool call and its result. Tokens are estimates per message. NaN passes
//! through as in JavaScript, where every comparison with NaN is false.

use crate::units::Tokens;
use std::ops::Range;

/// Factor on every estimate, because estimates run low (compaction 1.14).
pub const SAFETY_MARGIN: f64 = 1.2;
/// Share of the window that one summary call may take (compaction 5.9).
pub const BASE_CHUNK_RATIO: f64 = 0.4;
/// Smallest share of the window for one summary call; large messages reduce it to this.
pub const MIN_CHUNK_RATIO: f64 = 0.15;
/// Tokens reserved for the instructions of a summary call (compaction 5.9).
pub const SUMMARY_OVERHEAD_TOKENS: f64 = 4096.0;
/// Default number of parts of a split history (compaction 5.8, 5.11).
pub const DEFAULT_PARTS: f64 = 2.0;

/// Average share of the window above which messages count as large (compaction 5.9).
const LARGE_SHARE: f64 = 0.1;
/// Share of the window above which a message is left out of the second attempt (compaction 5.14).
const OVERSIZED_SHARE: f64 = 0.5;

/// Returns how many parts `count` messages are split into: `parts`, but at least 1 and at most `count`.
pub fn normalized_parts(parts: f64, count: usize) -> usize {
    if !parts.is_finite() || parts <= 1.0 {
        return 1;
    }
    // A float-to-integer cast saturates.
    (parts as usize).clamp(1, count.max(1))
}

/// Splits messages into parts of about equal tokens (compaction 5.10). The last part takes the rest. There may be fewer
/// than `parts`; an empty list has none.
pub fn split_by_share(tokens: &[Tokens], parts: f64) -> Vec<Range<usize>> {
    let parts = normalized_parts(parts, tokens.len());
    let target = total_tokens(tokens) / parts as f64;
    let mut chunks = ChunkBuilder::default();
    for (at, tokens) in tokens.iter().enumerate() {
        if chunks.closed.len() + 1 < parts && chunks.tokens + *tokens > target {
            chunks.close_at(at);
        }
        chunks.tokens += *tokens;
    }
    chunks.finish(tokens.len())
}

/// Splits messages into chunks of at most `max_tokens` divided by the safety margin (compaction 5.12). A larger message
/// gets a chunk to itself.
pub fn split_by_max(tokens: &[Tokens], max_tokens: Tokens) -> Vec<Range<usize>> {
    let max = at_least_one((max_tokens / SAFETY_MARGIN).floor().get());
    let mut chunks = ChunkBuilder::default();
    for (at, tokens) in tokens.iter().enumerate() {
        if chunks.tokens + *tokens > Tokens(max) {
            chunks.close_at(at);
        }
        chunks.tokens += *tokens;
        if *tokens > Tokens(max) {
            chunks.close_at(at + 1);
        }
    }
    chunks.finish(tokens.len())
}

/// Sums the tokens; 0 for an empty list.
pub fn total_tokens(tokens: &[Tokens]) -> Tokens {
    // `Iterator::sum` returns -0 for an empty list.
    tokens.iter().fold(Tokens::ZERO, |sum, tokens| sum + *tokens)
}

#[derive(Default)]
struct ChunkBuilder {
    closed: Vec<Range<usize>>,
    start: usize,
    tokens: Tokens,
}

impl ChunkBuilder {
    /// Closes the open chunk before `end`; an empty chunk stays open.
    fn close_at(&mut self, end: usize) {
        if end > self.start {
            self.closed.push(self.start..end);
            self.start = end;
            self.tokens = Tokens::ZERO;
        }
    }

    fn finish(mut self, end: usize) -> Vec<Range<usize>> {
        self.close_at(end);
        self.closed
    }
}

/// Returns the share of the window for one summary call of `count` messages (compaction 5.9). Large messages reduce it,
/// and it jumps from 0.4 to about 0.2.
pub fn adaptive_ratio(total_tokens: Tokens, count: usize, window: Tokens) -> f64 {
    if count == 0 {
        return BASE_CHUNK_RATIO;
    }
    // The order of these operations is part of the rule.
    let share = total_tokens / count as f64 * SAFETY_MARGIN / window;
    if share > LARGE_SHARE {
        let reduction = (share * 2.0).min(BASE_CHUNK_RATIO - MIN_CHUNK_RATIO);
        (BASE_CHUNK_RATIO - reduction).max(MIN_CHUNK_RATIO)
    } else {
        BASE_CHUNK_RATIO
    }
}

/// Returns the most message tokens of one summary call (compaction 5.9); at least 1.
pub fn max_chunk_tokens(window: Tokens, ratio: f64) -> Tokens {
    Tokens(at_least_one(((window * ratio).floor() - Tokens(SUMMARY_OVERHEAD_TOKENS)).get()))
}

/// Whether a message is left out after summarising all of them failed (compaction 5.14).
pub fn is_oversized(tokens: Tokens, window: Tokens) -> bool {
    tokens * SAFETY_MARGIN > window * OVERSIZED_SHARE
}

/// Acts as `Math.max(1, number)`: NaN stays NaN.
pub(super) fn at_least_one(number: f64) -> f64 {
    if number.is_nan() { number } else { number.max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lengths of the parts.
    fn share(tokens: &[Tokens], parts: f64) -> Vec<usize> {
        split_by_share(tokens, parts).iter().map(ExactSizeIterator::len).collect()
    }

    fn max(tokens: &[Tokens], max: f64) -> Vec<usize> {
        split_by_max(tokens, Tokens(max)).iter().map(ExactSizeIterator::len).collect()
    }

    #[test]
    fn parts_have_about_equal_tokens_and_the_last_takes_the_rest() {
        assert_eq!(share(&[Tokens(5.0); 4], 2.0), [2, 2]);
        assert_eq!(share(&[Tokens(100.0), Tokens(1.0), Tokens(1.0)], 2.0), [1, 2]);
        assert_eq!(share(&[Tokens(1.0), Tokens(1.0), Tokens(100.0)], 2.0), [2, 1]);
        assert_eq!(share(&[Tokens::ZERO; 3], 2.0), [3]);
        assert_eq!(share(&[], 2.0), [] as [usize; 0]);
        assert_eq!(share(&[Tokens(f64::NAN), Tokens(1.0)], 2.0), [2]);
    }

    #[test]
    fn invalid_part_counts_are_corrected() {
        for parts in [f64::NAN, f64::INFINITY, 0.0, -3.0, 1.0] {
            assert_eq!(normalized_parts(parts, 9), 1, "{parts}");
        }
        assert_eq!(
            (normalized_parts(2.9, 9), normalized_parts(50.0, 3), normalized_parts(5.0, 0)),
            (2, 3, 1)
        );
        assert_eq!(normalized_parts(1e300, 3), 3);
    }

    #[test]
    fn a_chunk_is_at_most_the_maximum_less_the_margin_or_one_large_message() {
        assert_eq!(max(&[Tokens(50.0), Tokens(50.0), Tokens(50.0)], 120.0), [2, 1]);
        assert_eq!(max(&[Tokens(50.0), Tokens(50.0), Tokens(50.0)], 119.0), [1, 1, 1]);
        assert_eq!(max(&[Tokens(1.0), Tokens(900.0), Tokens(1.0), Tokens(1.0)], 120.0), [1, 1, 2]);
        assert_eq!(max(&[Tokens::ZERO, Tokens(1.0), Tokens(1.0)], -5.0), [2, 1]);
        assert_eq!(max(&[], 10.0), [] as [usize; 0]);
    }

    #[test]
    fn the_ratio_falls_with_large_messages() {
        assert_eq!(adaptive_ratio(Tokens::ZERO, 0, Tokens(1000.0)), 0.4);
        assert_eq!(adaptive_ratio(Tokens(100.0), 10, Tokens(1000.0)), 0.4);
        assert_eq!(adaptive_ratio(Tokens(1000.0), 10, Tokens(1000.0)), 0.4 - 0.24);
        assert_eq!(adaptive_ratio(Tokens(1e9), 10, Tokens(1000.0)), 0.150_000_000_000_000_02);
    }

    #[test]
    fn a_window_of_0_divides_by_zero() {
        assert_eq!(adaptive_ratio(Tokens(5.0), 1, Tokens::ZERO), 0.150_000_000_000_000_02);
        assert_eq!(adaptive_ratio(Tokens::ZERO, 1, Tokens::ZERO), 0.4);
        assert_eq!(adaptive_ratio(Tokens(f64::NAN), 1, Tokens::ZERO), 0.4);
    }

    #[test]
    fn a_call_leaves_room_for_its_instructions() {
        assert_eq!(max_chunk_tokens(Tokens(200_000.0), 0.4), Tokens(75_904.0));
        assert_eq!(max_chunk_tokens(Tokens(10_240.0), 0.4), Tokens(1.0));
        assert!(max_chunk_tokens(Tokens(f64::NAN), 0.4).is_nan());
    }

    #[test]
    fn a_message_is_oversized_strictly_above_half_of_the_window() {
        assert!(!is_oversized(Tokens(500.0), Tokens(1200.0)) && is_oversized(Tokens(501.0), Tokens(1200.0)));
    }
}
