//! Alerts when a session's next prompt crosses a share of its window: once per crossing, and again only after the
//! fullness fell well below that share, as a compaction makes it.

use crate::format::{format_number, format_percent};
use crate::ids::SessionKey;
use crate::session::SessionItem;
use crate::units::Moment;

/// The fall below a level after which it alerts again, as a share of the window. Estimates waver by less.
const REARM_MARGIN: f64 = 0.1;

/// Shares of the window that alert, ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlertLevels(Vec<f64>);

/// The levels that one session has crossed: the lowest `crossed` ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrossedLevels {
    crossed: usize,
}

impl AlertLevels {
    pub fn new(shares: &[f64]) -> Self {
        let mut levels: Vec<f64> = shares.iter().copied().filter(|share| share.is_finite()).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        Self(levels)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the state of a session that had this fullness before anyone watched.
    pub fn baseline(&self, fullness: f64) -> CrossedLevels {
        CrossedLevels { crossed: self.reached(fullness) }
    }

    /// Observes a fullness. Returns the new state, and the highest level that was crossed since the last one.
    pub fn observe(&self, before: CrossedLevels, fullness: f64) -> (CrossedLevels, Option<f64>) {
        if fullness.is_nan() {
            return (before, None);
        }
        let reached = self.reached(fullness);
        let crossed = reached.max(before.crossed.min(self.reached(fullness + REARM_MARGIN)));
        let level = (reached > before.crossed).then(|| reached.checked_sub(1)).flatten();
        (CrossedLevels { crossed }, level.and_then(|at| self.0.get(at)).copied())
    }

    fn reached(&self, fullness: f64) -> usize {
        self.0.partition_point(|level| *level <= fullness)
    }
}

/// A session that crossed a level.
#[derive(Debug, Clone, PartialEq)]
pub struct FullnessAlert {
    pub key: SessionKey,
    /// Tokens of the next prompt.
    pub tokens: u64,
    pub is_estimate: bool,
    pub window: u64,
    /// The crossed share of the window.
    pub level: f64,
    /// The time of the crossing.
    pub at_ms: Moment,
}

impl FullnessAlert {
    pub fn new(item: &SessionItem, level: f64, at_ms: Moment) -> Option<Self> {
        let count = item.tokens?;
        Some(Self {
            key: item.key.clone(),
            tokens: count.tokens,
            is_estimate: count.is_estimate(),
            window: item.window,
            level,
            at_ms,
        })
    }

    /// Returns the sentence that screens, terminals and programs show. It starts with a number, so that a program never
    /// takes it for an option.
    pub fn message(&self) -> String {
        let sign = if self.is_estimate { "~" } else { "" };
        format!(
            "{sign}{} full: {} ({sign}{} of {} tokens)",
            format_percent(self.tokens, self.window),
            self.key,
            format_number(self.tokens),
            format_number(self.window)
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Observes these values in order; returns the alerts with the index of their observation.
    fn alerts(levels: &AlertLevels, start: f64, fullness: &[f64]) -> Vec<(usize, f64)> {
        let mut state = levels.baseline(start);
        let mut raised = Vec::new();
        for (at, value) in fullness.iter().enumerate() {
            let (next, level) = levels.observe(state, *value);
            state = next;
            raised.extend(level.map(|level| (at, level)));
        }
        raised
    }

    #[test]
    fn a_level_alerts_once_and_again_after_a_compaction() {
        let levels = AlertLevels::new(&[0.95, 0.8]);
        let run = [0.5, 0.79, 0.81, 0.79, 0.82, 0.9, 0.96, 0.99, 0.3, 0.85];
        assert_eq!(alerts(&levels, 0.4, &run), [(2, 0.8), (6, 0.95), (9, 0.8)]);
        assert_eq!(alerts(&levels, 0.4, &[0.97]), [(0, 0.95)], "a jump over both levels is one alert");
        assert_eq!(alerts(&levels, 0.97, &[0.98, 0.97]), [], "what was full before is no news");
        assert_eq!(alerts(&levels, 0.97, &[0.84, 0.96]), [(1, 0.95)], "the upper level alone was re-armed");
        assert_eq!(alerts(&levels, 0.1, &[f64::NAN, 0.2]), []);
    }

    proptest! {
        #[test]
        fn no_alert_below_the_lowest_level(run in prop::collection::vec(0.0..0.7999_f64, 0..50)) {
            prop_assert!(alerts(&AlertLevels::new(&[0.8, 0.95]), 0.0, &run).is_empty());
        }

        #[test]
        fn two_alerts_of_a_level_need_a_fall_between_them(
            shares in prop::collection::vec(0.05..1.2_f64, 1..5),
            start in 0.0..1.5_f64,
            run in prop::collection::vec(0.0..1.5_f64, 0..80),
        ) {
            let levels = AlertLevels::new(&shares);
            let raised = alerts(&levels, start, &run);
            for (at, level) in &raised {
                prop_assert!(run[*at] >= *level);
                let earlier = raised.iter().rfind(|(before, other)| before < at && other >= level);
                let from = earlier.map_or(0, |(before, _)| *before);
                let fell = run[from..*at].iter().any(|value| *value < *level - REARM_MARGIN + 1e-9);
                prop_assert!(earlier.is_none() && start < *level || fell);
            }
        }

        #[test]
        fn every_crossing_raises_an_alert(
            start in 0.0..0.69_f64,
            rise in 0.8..1.5_f64,
        ) {
            prop_assert_eq!(alerts(&AlertLevels::new(&[0.8]), start, &[rise]), [(0, 0.8)]);
        }
    }
}
