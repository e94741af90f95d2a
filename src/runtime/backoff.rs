//! How often the whole of a store is looked at while it changes: what takes long leaves long rests, so that a store of any
//! size takes but a share of one core.

use std::time::{Duration, Instant};

/// A rest is so many times as long as the work before it.
const REST_FACTOR: u32 = 4;

/// When the next look is due.
#[derive(Debug, Default)]
pub struct Backoff {
    ready_at: Option<Instant>,
    min_rest: Duration,
}

impl Backoff {
    /// One whose rests are at least so long.
    pub fn with_min_rest(min_rest: Duration) -> Self {
        Self { ready_at: None, min_rest }
    }

    /// Whether the rest is over.
    pub fn is_due(&self) -> bool {
        self.remaining().is_zero()
    }

    /// How long the rest still takes.
    pub fn remaining(&self) -> Duration {
        self.ready_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Work ended just now, after so long.
    pub fn record(&mut self, time: Duration) {
        self.ready_at = Some(Instant::now() + (time * REST_FACTOR).max(self.min_rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_followed_by_a_longer_rest_and_none_by_none() {
        let mut pace = Backoff::default();
        assert!(pace.is_due());
        pace.record(Duration::from_hours(1));
        assert!(!pace.is_due() && pace.remaining() > Duration::from_hours(3));
        pace.record(Duration::ZERO);
        assert!(pace.is_due());
    }
}
