//! How often the whole of a store is looked at while it changes: what takes long leaves long rests, so that a store of any
//! size takes but a share of one core.

use std::time::{Duration, Instant};

/// A rest is so many times as long as the work before it.
const REST: u32 = 4;

/// When the next look is due.
#[derive(Debug, Default)]
pub struct Pace {
    free_at: Option<Instant>,
    least: Duration,
}

impl Pace {
    /// One whose rests are at least so long.
    pub fn every(least: Duration) -> Self {
        Self { free_at: None, least }
    }

    /// Whether the rest is over.
    pub fn is_due(&self) -> bool {
        self.wait().is_zero()
    }

    /// How long the rest still takes.
    pub fn wait(&self) -> Duration {
        self.free_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Work ended just now, after so long.
    pub fn took(&mut self, time: Duration) {
        self.free_at = Some(Instant::now() + (time * REST).max(self.least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_followed_by_a_longer_rest_and_none_by_none() {
        let mut pace = Pace::default();
        assert!(pace.is_due());
        pace.took(Duration::from_hours(1));
        assert!(!pace.is_due() && pace.wait() > Duration::from_hours(3));
        pace.took(Duration::ZERO);
        assert!(pace.is_due());
    }
}
