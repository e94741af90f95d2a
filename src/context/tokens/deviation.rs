//! How far estimates are off from what a provider counted.

/// Errors of estimates against measured numbers, as shares of the measured ones: 0.1 is ten percent, and less
/// than 0 is too low.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// Pairs that were compared, at least one.
    pub count: usize,
    /// Mean of the errors without their sign.
    pub mean: f64,
    /// Mean of the errors with it: which way it leans.
    pub bias: f64,
    /// The largest error without its sign.
    pub max: f64,
    /// The error of the last pair.
    pub last: f64,
}

/// The error of one estimate; none where nothing was measured.
pub fn relative_error(estimate: f64, measured: f64) -> Option<f64> {
    (measured > 0.0 && estimate.is_finite()).then(|| (estimate - measured) / measured)
}

impl Deviation {
    /// Of pairs of an estimate and what was measured; none without a usable pair.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let errors = pairs.into_iter().filter_map(|(estimate, measured)| relative_error(estimate, measured));
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
    fn errors_that_cancel_out_are_no_bias_but_still_errors() {
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
