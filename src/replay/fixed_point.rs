//! Rounds fitted weights to a fraction of a token that a double holds exactly. Sums are then the same in any order, and
//! a difference of prefix sums equals the sum of its messages.

use crate::units::Tokens;

/// Fractions per token: 2^20. Sums stay exact up to 2^33 tokens.
const SCALE: f64 = 1_048_576.0;

/// Rounds to the nearest multiple of 2^-20; NaN stays NaN.
pub(super) fn fixed_point(tokens: Tokens) -> f64 {
    (tokens * SCALE).get().round() / SCALE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_same_forwards_and_backwards() {
        let tokens: Vec<f64> =
            (1..10_000).map(|n| fixed_point(Tokens(f64::from(n) * 1.234_567 / 3.7))).collect();
        let (forwards, backwards): (f64, f64) = (tokens.iter().sum(), tokens.iter().rev().sum());
        assert_eq!(forwards, backwards);
        assert!((fixed_point(Tokens(0.1)) - 0.1).abs() < 1e-6 && fixed_point(Tokens(f64::NAN)).is_nan());
        assert_eq!(fixed_point(Tokens(1200.0)), 1200.0);
    }
}
