//! Tokens that add up to the same sum in whatever order: fitted weights are rounded to a part of a token that a double holds
//! exactly, so that a difference of running sums is what adding one by one gives.

/// Parts of a token: 2^20. Sums stay exact up to 2^33 tokens.
const SCALE: f64 = 1_048_576.0;

/// The nearest number of tokens of which every sum is exact.
pub(super) fn fixed_point(tokens: f64) -> f64 {
    (tokens * SCALE).round() / SCALE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_same_forwards_and_backwards() {
        let tokens: Vec<f64> = (1..10_000).map(|n| fixed_point(f64::from(n) * 1.234_567 / 3.7)).collect();
        let (forwards, backwards): (f64, f64) = (tokens.iter().sum(), tokens.iter().rev().sum());
        assert_eq!(forwards, backwards);
        assert!((fixed_point(0.1) - 0.1).abs() < 1e-6 && fixed_point(f64::NAN).is_nan());
        assert_eq!(fixed_point(1200.0), 1200.0);
    }
}
