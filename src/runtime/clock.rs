//! The time of the state machine: the system's, or the demo's, whose sessions have always just ended.

use crate::commit::{Clock as _, SystemClock};

/// A clock at a fixed offset from the system's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    offset_ms: i64,
}

impl Clock {
    /// Returns a clock that reads `ms` (since 1970) now; without it, the system's time.
    pub(super) fn starting_at(ms: Option<i64>) -> Self {
        Self { offset_ms: ms.map_or(0, |ms| ms - system_now_ms()) }
    }

    /// Now, ms since 1970.
    pub(super) fn now_ms(self) -> i64 {
        system_now_ms() + self.offset_ms
    }
}

/// The system's time, ms since 1970. Locks use it even in the demo, whose clock differs.
pub(super) fn system_now_ms() -> i64 {
    SystemClock.now_ms()
}
