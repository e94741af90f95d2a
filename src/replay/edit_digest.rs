//! A digest of the edits of a prompt. Traces compare every call's edits, and lists of them for thousands of calls would
//! take more memory than the session.

use std::ops::{Add, Sub};

/// An edited message and its tokens after the edit. The index is the message's position on the path, or its position in
/// the list where that list is not a range of the path.
pub(super) type EditedMessage = (usize, u64);

/// A digest independent of the order of the edits; the digest of a range is the difference of two sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EditDigest {
    count: u64,
    sum: u64,
}

impl EditDigest {
    #[must_use]
    pub(super) fn with_edit(self, (at, after): EditedMessage) -> Self {
        self + Self { count: 1, sum: mix(mix(at as u64) ^ after) }
    }
}

impl Add for EditDigest {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { count: self.count + other.count, sum: self.sum.wrapping_add(other.sum) }
    }
}

impl Sub for EditDigest {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { count: self.count - other.count, sum: self.sum.wrapping_sub(other.sum) }
    }
}

/// The finisher of `splitmix64`: each input bit flips about half of the output bits.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_edits_ignores_order_and_detects_every_difference() {
        let of = |edits: &[EditedMessage]| {
            edits.iter().fold(EditDigest::default(), |digest, edit| digest.with_edit(*edit))
        };
        assert_eq!(of(&[(3, 9), (6, 4)]), of(&[(6, 4), (3, 9)]));
        assert_eq!(of(&[(3, 9), (6, 4)]) - of(&[(6, 4)]), of(&[(3, 9)]));
        for other in
            [&[(3, 9)][..], &[(3, 9), (6, 5)], &[(3, 4), (6, 9)], &[(3, 9), (7, 4)], &[(9, 3), (4, 6)]]
        {
            assert_ne!(of(&[(3, 9), (6, 4)]), of(other));
        }
    }
}
