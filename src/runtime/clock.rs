//! The time that the state machine is given: this machine's, or the demo's, whose sessions have always
//! just ended.

use crate::commit::{Clock as _, SystemClock};

/// A clock that runs like the system's, at some distance from it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    offset_ms: i64,
}

impl Clock {
    /// A clock that shows `ms` (since 1970) at this moment; without it, the system's own time.
    pub(super) fn starting_at(ms: Option<i64>) -> Self {
        Self { offset_ms: ms.map_or(0, |ms| ms - system_now_ms()) }
    }

    /// Now, ms since 1970.
    pub(super) fn now_ms(self) -> i64 {
        system_now_ms() + self.offset_ms
    }
}

/// The system's time, ms since 1970: what locks are judged by.
pub(super) fn system_now_ms() -> i64 {
    SystemClock.now_ms()
}
