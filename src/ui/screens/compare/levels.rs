//! Levels of a measure: equal intervals with round ends that cover all values. For example, 71k to 170k has six levels
//! of 20k from 60k on, so the legend shows 80k, 100k and so on.

use crate::ui::theme::HEAT_LEVELS;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Levels {
    from: f64,
    step: f64,
}

impl Levels {
    /// Covers the finite values; with fewer than two distinct ones, everything is in the lowest level.
    pub(super) fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        if most <= least || !least.is_finite() {
            return Self { from: if least.is_finite() { least } else { 0.0 }, step: 0.0 };
        }
        let mut step = round_up((most - least) / HEAT_LEVELS as f64);
        // Rounding the start down may leave the largest value outside, so widen the levels until they cover it.
        while (least / step).floor() * step + step * HEAT_LEVELS as f64 <= most {
            step = round_up(step * 1.01);
        }
        Self { from: (least / step).floor() * step, step }
    }

    /// Returns the level of a value, from 0 to [`HEAT_LEVELS`] - 1.
    pub(super) fn level(&self, value: f64) -> usize {
        if self.step == 0.0 {
            return 0;
        }
        (((value - self.from) / self.step).max(0.0).floor() as usize).min(HEAT_LEVELS - 1)
    }

    pub(super) fn has_several(&self) -> bool {
        self.step > 0.0
    }

    pub(super) fn end(&self, level: usize) -> f64 {
        self.from + self.step * (level + 1) as f64
    }
}

/// Rounds up to 1, 2, 2.5 or 5 times a power of ten.
fn round_up(number: f64) -> f64 {
    let scale = 10_f64.powf(number.log10().floor());
    let sizes = [1.0, 2.0, 2.5, 5.0, 10.0];
    sizes
        .into_iter()
        .map(|size| size * scale)
        .find(|size| *size >= number * (1.0 - 1e-9))
        .unwrap_or(10.0 * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_round_ends_and_hold_everything() {
        let levels = Levels::from_values([71e3, 99e3, 128e3, 170e3].into_iter());
        assert_eq!((levels.end(0), levels.end(5)), (80e3, 180e3));
        assert_eq!([71e3, 79e3, 80e3, 170e3].map(|value| levels.level(value)), [0, 0, 1, 5]);
        // Steps of 0.5 from 6.5 would end at 9.5.
        let costs = Levels::from_values([6.71, 9.6].into_iter());
        assert_eq!((costs.end(0), costs.level(6.71), costs.level(9.6)), (7.0, 0, 3));
    }

    #[test]
    fn a_single_value_has_the_lowest_level() {
        for values in [&[][..], &[5.0], &[5.0, 5.0], &[f64::NAN]] {
            let levels = Levels::from_values(values.iter().copied());
            assert!(!levels.has_several() && levels.level(5.0) == 0, "{values:?}");
        }
    }
}
