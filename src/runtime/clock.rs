//! The time of the state machine: the system's, or the demo's, whose sessions have always just ended.

use crate::commit::{Clock as _, SystemClock};
use crate::units::{Millis, Moment};

/// A clock at a fixed offset from the system's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    offset_ms: Millis,
}

impl Clock {
    /// Returns a clock that reads `now_ms` now; without it, the system's time.
    pub(super) fn starting_at(now_ms: Option<Moment>) -> Self {
        Self { offset_ms: now_ms.map_or(Millis::ZERO, |now_ms| now_ms - system_now_ms()) }
    }

    pub(super) fn now_ms(self) -> Moment {
        system_now_ms() + self.offset_ms
    }
}

/// The system's time. Locks use it even in the demo, whose clock differs.
pub(super) fn system_now_ms() -> Moment {
    SystemClock.now_ms()
}
