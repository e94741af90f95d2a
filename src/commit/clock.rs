//! The clock that writing needs: a lock stores its start, and the wait for one ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that a test can replace.
pub trait Clock {
    /// Returns the time in ms since 1970.
    fn now_ms(&self) -> i64;
    /// Waits about `ms`.
    fn pause(&self, ms: u64);
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that is passed in")]
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn pause(&self, ms: u64) {
        std::thread::park_timeout(Duration::from_millis(ms));
    }
}
