//! The two lanes of a replay, each by itself: the recorded one is made once, and any number of simulated ones beside it, at
//! once where there is more than one core. Between two calls each asks whether anybody still wants to know.

use std::sync::Arc;

use crate::replay::calls::{Call, calls};
use crate::replay::ground::Ground;
use crate::replay::lane::Lane;
use crate::replay::outcome::CallReplay;
use crate::replay::totals::Totals;
use crate::replay::{Replay, Session, Settings};

/// The calls of the record under the settings in force: what every simulated lane is held against.
#[derive(Debug, Clone)]
pub struct RecordedLane {
    /// The calls.
    pub calls: Vec<Call>,
    /// What became of each.
    pub lane: Vec<CallReplay>,
    ground: Arc<Ground>,
}

impl RecordedLane {
    /// All of it, as long as it takes.
    pub fn new(session: &Session<'_>, settings: &Settings) -> Self {
        Self::until(session, settings, &|| true).0
    }

    /// As much as is wanted, and whether that is all.
    fn until(session: &Session<'_>, settings: &Settings, wanted: &dyn Fn() -> bool) -> (Self, bool) {
        let mut calls = calls(session.index, session.path, session.refused, session.doubted);
        for call in &mut calls {
            call.cut_short = session.cut.contains(&call.entry);
        }
        let mut record =
            Self { lane: Vec::with_capacity(calls.len()), calls, ground: Ground::new(session).into() };
        let mut lane = std::mem::take(&mut record.lane);
        let done = record.run(session, settings, false, wanted, |call| lane.push(*call));
        (Self { lane, ..record }, done)
    }

    /// Goes over the path once and tells of every call; false once it is not wanted any more.
    fn run(
        &self,
        session: &Session<'_>,
        settings: &Settings,
        simulated: bool,
        wanted: &dyn Fn() -> bool,
        mut tell: impl FnMut(&CallReplay),
    ) -> bool {
        let mut lane = Lane::new(session, &self.ground, settings, simulated);
        let (mut place, mut last) = (0, None::<CallReplay>);
        for (at, call) in self.calls.iter().enumerate() {
            if !wanted() {
                return false;
            }
            (place..call.place).for_each(|place| lane.push(place));
            place = call.place;
            let made = lane.call(call, self.lane.get(at).filter(|_| simulated));
            if let Some(before) = last.replace(made) {
                tell(&before);
            }
        }
        // A compaction behind the last call is one of the session too.
        (place..session.path.len()).for_each(|place| lane.push(place));
        if let Some(last) = last {
            let after = lane.compacted.filter(|done| done.recorded);
            tell(&CallReplay { compacted_after: after, ..last });
        }
        true
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
    record.run(session, simulated, true, &|| true, |call| lane.push(*call));
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
    let done = record.run(session, settings, true, wanted, |call| lane.push(*call));
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
    let done = record.run(session, settings, true, wanted, |call| totals = totals.with(call));
    done.then_some(totals)
}
