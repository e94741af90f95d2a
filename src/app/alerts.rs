//! The levels of fullness that each listed session has crossed.

use std::collections::HashMap;

use crate::ids::SessionKey;
use crate::session::SessionItem;
use crate::session::fullness_alert::{AlertLevels, CrossedLevels, FullnessAlert};
use crate::units::Moment;

/// The levels, and the state of each session whose fullness is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Alerts {
    levels: AlertLevels,
    sessions: HashMap<SessionKey, CrossedLevels>,
}

impl Alerts {
    pub(super) fn new(levels: AlertLevels) -> Self {
        Self { levels, sessions: HashMap::new() }
    }

    /// Forgets every session: another store, or other rules to count by.
    pub(super) fn reset(&mut self) {
        self.sessions.clear();
    }

    /// Expects a session that appeared while the program ran: it starts empty.
    pub(super) fn expect_new(&mut self, key: &SessionKey) {
        self.sessions.entry(key.clone()).or_default();
    }

    /// Observes a counted session. The first count of a known session is its baseline, not a crossing.
    pub(super) fn observe(&mut self, item: &SessionItem, now_ms: Moment) -> Option<FullnessAlert> {
        let fullness = item.fullness().filter(|_| item.entries.is_some() && !item.is_aside())?;
        let Some(state) = self.sessions.get_mut(&item.key) else {
            self.sessions.insert(item.key.clone(), self.levels.baseline(fullness));
            return None;
        };
        let (next, level) = self.levels.observe(*state, fullness);
        *state = next;
        FullnessAlert::new(item, level?, now_ms)
    }
}
