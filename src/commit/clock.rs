//! The clock that writing needs: a lock stores its start, and the wait for one ends.

use std::time::{Duration, SystemTime};

use crate::units::{Millis, Moment};

/// A clock that a test can replace.
pub trait Clock {
    /// Returns the time.
    fn now_ms(&self) -> Moment;
    /// Waits about this long.
    fn pause(&self, duration: Millis);
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that is passed in")]
    fn now_ms(&self) -> Moment {
        Moment::from_system_time(SystemTime::now()).unwrap_or_default()
    }

    fn pause(&self, duration: Millis) {
        std::thread::park_timeout(Duration::from_millis(duration.whole()));
    }
}
