//! The last replay, the requests that were sent and the answers that arrived.

use std::sync::Arc;

use crate::app::target::ReplayOutcome;
use crate::js::Value;
use crate::policy::PolicySet;
use crate::report::timeline::{RecordedSession, Timeline};
use crate::session::SessionViewKey;
use crate::session::setting_change::SettingChange;
use crate::units::{Millis, Moment};

/// A replay that takes longer than this shows as in progress.
const SLOW_REPLAY_MS: Millis = Millis(150.0);
/// Minimum time between two readings of a growing session.
const MIN_READ_INTERVAL_MS: Millis = Millis(1000.0);

#[derive(Debug, Clone, Default)]
pub struct ReplayState {
    /// The session as read for replays.
    pub recording: Option<Arc<RecordedSession>>,
    /// The last requested reading: session view and policies.
    pub(super) requested_recording: Option<(SessionViewKey, PolicySet)>,
    /// The time of that request.
    pub(super) last_read_ms: Moment,
    /// The time to read the session again after it grew.
    pub(super) next_read_ms: Option<Moment>,
    /// The timeline in numbers, for the target of the main view.
    pub(in crate::app) outcome: Option<ReplayOutcome>,
    /// The last replay.
    pub timeline: Option<Arc<Timeline>>,
    pub(super) last_request: Option<ReplayRequest>,
    /// Ids of the last answered and the last sent request.
    pub(super) answered_id: u64,
    pub(super) newest_id: u64,
    /// The time of the last request.
    pub(super) requested_ms: Moment,
    /// The reason that there is no replay.
    pub error: Option<String>,
}

/// Cache key of a replay. Settings may hold NaN, which never equals itself, so the key compares the raw tuned values.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::app) struct ReplayRequest {
    pub(super) subject: SessionViewKey,
    /// The policies of the replay and the enabled ones, with the tuned values and assumed changes. Both sets are
    /// needed, as pruning is part of every replay and its switch is a setting.
    pub(super) tuned: Option<([PolicySet; 2], Vec<Value>, Vec<SettingChange>)>,
}

impl ReplayState {
    /// Returns when to read the session again.
    pub(in crate::app) fn next_read_ms(&self) -> Option<Moment> {
        self.next_read_ms
    }

    /// Whether growth must wait, as every reading covers the whole session. Waits only while there is an older
    /// recording to show (`known`).
    pub(super) fn defer_read(&mut self, known: bool, now_ms: Moment) -> bool {
        let next = self.last_read_ms + MIN_READ_INTERVAL_MS;
        self.next_read_ms = (known && now_ms < next).then_some(next);
        if self.next_read_ms.is_none() {
            self.last_read_ms = now_ms;
        }
        self.next_read_ms.is_some()
    }

    /// Returns when the pending replay shows as in progress.
    pub(in crate::app) fn slow_at_ms(&self) -> Option<Moment> {
        (self.answered_id < self.newest_id).then_some(self.requested_ms + SLOW_REPLAY_MS)
    }

    /// Whether this or a newer request is answered.
    pub(in crate::app) fn is_answered(&self, request_id: u64) -> bool {
        request_id <= self.answered_id
    }

    /// Whether a newer replay was requested than the one on display.
    pub fn is_stale(&self) -> bool {
        self.answered_id < self.newest_id
    }

    /// Whether the pending replay takes long enough to show as in progress.
    pub fn is_slow(&self, now_ms: Moment) -> bool {
        self.slow_at_ms().is_some_and(|at| at <= now_ms)
    }
}
