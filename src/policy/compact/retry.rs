//! Limits and delays for retrying a summary call (compaction 5.15).

use crate::units::Millis;

pub const MAX_CALL_ATTEMPTS: u32 = 3;

/// First and shortest delay.
const MIN_WAIT: Millis = Millis(500.0);
/// Longest delay.
const MAX_WAIT: Millis = Millis(5000.0);
/// Largest relative change of a delay by jitter.
const JITTER: f64 = 0.2;

/// Returns the delay after failed attempt number `attempt` (from 1), doubled each time, varied by `jitter` (-1 to
/// 1), between 500 and 5,000 ms.
pub fn wait_ms(attempt: u32, jitter: f64) -> Millis {
    let plain = (MIN_WAIT * 2_f64.powi(attempt.saturating_sub(1).min(30) as i32)).min(MAX_WAIT);
    let varied = (plain * (1.0 + jitter.clamp(-1.0, 1.0) * JITTER) + Millis(0.5)).floor();
    varied.clamp(MIN_WAIT, MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_vary_by_a_fifth_but_never_fall_below_the_first() {
        assert_eq!([-1.0, 0.0, 1.0].map(|jitter| wait_ms(1, jitter).get()), [500.0, 500.0, 600.0]);
        assert_eq!([-1.0, 0.0, 1.0].map(|jitter| wait_ms(2, jitter).get()), [800.0, 1000.0, 1200.0]);
        assert_eq!([wait_ms(9, 1.0), wait_ms(u32::MAX, 0.0)], [MAX_WAIT; 2]);
    }
}
