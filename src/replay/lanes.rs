//! The two lanes of a replay, each by itself: the recorded one is made once, and any number of simulated ones beside it, at
//! once where there is more than one core. Between two calls each asks whether anybody still wants to know.

use crate::replay::calls::{Call, calls};
use crate::replay::lane::Lane;
use crate::replay::outcome::CallReplay;
use crate::replay::totals::Totals;
use crate::replay::{Replay, Session, Settings};

/// The calls of the record under the settings in force: what every simulated lane is held against.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedLane {
    /// The calls.
    pub calls: Vec<Call>,
    /// What became of each.
    pub lane: Vec<CallReplay>,
}

impl RecordedLane {
    /// All of it.
    fn new(session: &Session<'_>, settings: &Settings) -> Self {
        Self::until(session, settings, &|| true).0
    }

    /// As much as is wanted, and whether that is all.
    fn until(session: &Session<'_>, settings: &Settings, wanted: &dyn Fn() -> bool) -> (Self, bool) {
        let calls = calls(session.index, session.path, session.refused, session.runtime_window);
        let mut lane = Vec::with_capacity(calls.len());
        let done = run(session, settings, &calls, None, wanted, |call| lane.push(*call));
        (Self { calls, lane }, done)
    }

    /// What its calls come to.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.calls, &self.lane)
    }

    /// The two lanes of a session beside each other.
    pub fn beside(self, session: &Session<'_>, simulated: Vec<CallReplay>) -> Replay {
        let touches_recorded = !session.touches.is_empty();
        Replay { calls: self.calls, recorded: self.lane, simulated, touches_recorded }
    }
}

/// Replays a session under the settings in force and under others.
pub fn replay(session: &Session<'_>, recorded: &Settings, simulated: &Settings) -> Replay {
    let record = RecordedLane::new(session, recorded);
    let mut lane = Vec::with_capacity(record.calls.len());
    run(session, simulated, &record.calls, Some(&record.lane), &|| true, |call| lane.push(*call));
    record.beside(session, lane)
}

/// The recorded lane of a session; none once `wanted` says that nobody waits for it.
pub fn recorded_lane(
    session: &Session<'_>,
    settings: &Settings,
    wanted: &dyn Fn() -> bool,
) -> Option<RecordedLane> {
    let (record, done) = RecordedLane::until(session, settings, wanted);
    done.then_some(record)
}

/// The same calls under other settings; none once `wanted` says that nobody waits for them.
pub fn simulated_lane(
    session: &Session<'_>,
    settings: &Settings,
    record: &RecordedLane,
    wanted: &dyn Fn() -> bool,
) -> Option<Vec<CallReplay>> {
    let mut lane = Vec::with_capacity(record.calls.len());
    let done = run(session, settings, &record.calls, Some(&record.lane), wanted, |call| lane.push(*call));
    done.then_some(lane)
}

/// What the calls come to under other settings, without keeping each of them: a cell of a grid.
pub fn simulated_totals(
    session: &Session<'_>,
    settings: &Settings,
    record: &RecordedLane,
    wanted: &dyn Fn() -> bool,
) -> Option<Totals> {
    let mut totals = Totals::default();
    let done = run(session, settings, &record.calls, Some(&record.lane), wanted, |call| {
        totals = totals.with(call);
    });
    done.then_some(totals)
}

/// Goes over the path once and tells of every call; false once it is not wanted any more.
fn run(
    session: &Session<'_>,
    settings: &Settings,
    calls: &[Call],
    record: Option<&[CallReplay]>,
    wanted: &dyn Fn() -> bool,
    mut tell: impl FnMut(&CallReplay),
) -> bool {
    let mut lane = Lane::new(session, settings, record.is_some());
    let mut place = 0;
    for (at, call) in calls.iter().enumerate() {
        if !wanted() {
            return false;
        }
        (place..call.place).for_each(|place| lane.push(place));
        place = call.place;
        tell(&lane.call(call, record.and_then(|record| record.get(at))));
    }
    true
}
