//! Shares the tokens of a whole among its pieces without changing the sum.

use crate::context::tokens::chars4::estimate_chars;
use crate::units::Chars;

/// Shares `total` tokens among pieces with these chars. If `total` is the estimate of all chars, a piece ends at the
/// rounded-up sum of all chars up to and including it; a total on another scale is shared in proportion. The remainder
/// goes to the last piece with chars, or to the first piece if none has any. The shares add up to `total`; without
/// pieces the list is empty.
pub fn share_tokens(total: u64, chars: &[Chars]) -> Vec<u64> {
    let mut shares = Vec::with_capacity(chars.len());
    let all = chars.iter().fold(Chars::ZERO, |sum, piece| sum + *piece);
    // Thinking is rounded down, so the rest of its message may have one more.
    let is_estimate = estimate_chars(all).abs_diff(total) <= 1;
    let (mut sum, mut given) = (Chars::ZERO, 0_u64);
    for piece in chars {
        sum += *piece;
        let end = if is_estimate {
            estimate_chars(sum)
        } else {
            (sum.get() / all.get().max(1.0) * total as f64).round() as u64
        };
        let end = end.min(total);
        shares.push(end - given);
        given = end;
    }
    let last = chars.iter().rposition(|piece| *piece > Chars::ZERO).unwrap_or(0);
    if let Some(share) = shares.get_mut(last) {
        *share += total - given;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(total: u64, chars: &[u32]) -> Vec<u64> {
        share_tokens(total, &chars.iter().map(|chars| Chars::from(*chars)).collect::<Vec<Chars>>())
    }

    #[test]
    fn pieces_are_rounded_where_they_end_and_add_up() {
        // 10 + 3 + 2 chars are 4 tokens; rounding each piece up would give 5.
        assert_eq!(shares(4, &[10, 3, 2]), [3, 1, 0]);
        assert_eq!(shares(7, &[0, 5, 0]), [0, 7, 0]);
        assert_eq!(shares(1, &[0, 0]), [1, 0]);
        assert_eq!(shares(1, &[400, 400]), [1, 0]);
        assert_eq!(shares(9, &[]), Vec::<u64>::new());
    }

    #[test]
    fn a_total_on_another_scale_is_shared_in_proportion() {
        assert_eq!(shares(200, &[100, 300]), [50, 150]);
        assert_eq!(shares(40, &[100, 300]), [10, 30]);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_whole(total in 0_u64..10_000, chars in proptest::collection::vec(0_u32..5_000, 1..20)) {
            prop_assert_eq!(shares(total, &chars).iter().sum::<u64>(), total);
        }

        #[test]
        fn with_all_chars_present_no_piece_is_off_by_more_than_one(chars in proptest::collection::vec(0_u32..5_000, 1..20)) {
            let total = estimate_chars(Chars::from(chars.iter().sum::<u32>()));
            for (piece, tokens) in chars.iter().zip(shares(total, &chars)) {
                prop_assert!(tokens.abs_diff(estimate_chars(Chars::from(*piece))) <= 1);
            }
        }
    }
}
