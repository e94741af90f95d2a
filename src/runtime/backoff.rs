//! The pace of surveys while a store changes: long work is followed by a long rest, so that a store of any size takes
//! only a fraction of one core.

use std::time::{Duration, Instant};

/// A rest takes this many times as long as the work before it: 4 leaves a fifth of a core to the work.
const REST_FACTOR: u32 = 4;

#[derive(Debug, Default)]
pub struct Backoff {
    ready_at: Option<Instant>,
    min_rest: Duration,
}

impl Backoff {
    /// Creates a pace whose rests take at least `min_rest`.
    pub fn with_min_rest(min_rest: Duration) -> Self {
        Self { ready_at: None, min_rest }
    }

    pub fn is_due(&self) -> bool {
        self.remaining().is_zero()
    }

    pub fn remaining(&self) -> Duration {
        self.ready_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Starts a rest after work that took `time`.
    pub fn record(&mut self, time: Duration) {
        self.ready_at = Some(Instant::now() + (time * REST_FACTOR).max(self.min_rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_followed_by_a_longer_pause_and_no_work_by_none() {
        let mut pace = Backoff::default();
        assert!(pace.is_due());
        pace.record(Duration::from_hours(1));
        assert!(!pace.is_due() && pace.remaining() > Duration::from_hours(3));
        pace.record(Duration::ZERO);
        assert!(pace.is_due());
    }
}
