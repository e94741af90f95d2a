//! The deviation of estimates from a provider's counts.

use crate::units::Tokens;

/// Errors of estimates as a share of the measured number: 0.1 is 10% too high, a negative value is too low.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// Number of compared pairs, at least 1.
    pub count: usize,
    /// Mean of the absolute errors.
    pub mean: f64,
    /// Mean of the signed errors.
    pub bias: f64,
    /// Largest absolute error.
    pub max: f64,
    /// Signed error of the last pair.
    pub last: f64,
}

/// Returns the error of one estimate; `None` without a measured number.
pub fn relative_error(estimate: Tokens, measured: f64) -> Option<f64> {
    (measured > 0.0 && estimate.is_finite())
        .then(|| (estimate - Tokens(measured)) / measured)
        .map(Tokens::get)
}

impl Deviation {
    /// Compares pairs of an estimate and a measured number; `None` without a usable pair.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let errors =
            pairs.into_iter().filter_map(|(estimate, measured)| relative_error(Tokens(estimate), measured));
        let start = Self { count: 0, mean: 0.0, bias: 0.0, max: 0.0, last: 0.0 };
        let sum = errors.fold(start, |sum, error| Self {
            count: sum.count + 1,
            mean: sum.mean + error.abs(),
            bias: sum.bias + error,
            max: sum.max.max(error.abs()),
            last: error,
        });
        let count = sum.count as f64;
        (sum.count > 0).then(|| Self { mean: sum.mean / count, bias: sum.bias / count, ..sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_cancel_out_have_no_bias_but_a_mean() {
        let deviation = Deviation::from_pairs([
            (90.0, 100.0),
            (240.0, 200.0),
            (f64::NAN, 5.0),
            (3.0, 0.0),
            (90.0, 100.0),
        ]);
        let Deviation { count, mean, bias, max, last } = deviation.expect("three pairs");
        assert_eq!((count, max, last), (3, 0.2, -0.1));
        assert!((mean - 0.4 / 3.0).abs() < 1e-12 && bias.abs() < 1e-12);
        assert_eq!(Deviation::from_pairs([]), None);
    }
}
