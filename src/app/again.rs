//! The open session again under the tuned settings: what replays ask of it is read once for a reading, and each change of
//! a setting asks for one more replay. An answer is shown as soon as it is there; the newest settings are asked next.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::app::target::{Outcome, Target};
use crate::app::timeline::TimelineScreen;
use crate::ids::{EntryIx, Epoch};
use crate::inspect::Subject;
use crate::inspect::change::Change;
use crate::inspect::session_settings::CONTEXT_WINDOW;
use crate::inspect::simulated::simulated;
use crate::inspect::timeline::{Lane, Recording, Timeline};
use crate::inspect::whole::Whole;
use crate::js::Value;
use crate::policy::{Step, StepSet, StepSettings};
use crate::replay::Settings;

/// Steps that only take part where a person switches them on. All others go on as they are in force, whether the tuning
/// pane shows them or not.
pub(super) const SWITCHED: [Step; 3] = [Step::Compact, Step::Truncate, Step::Clear];
/// A replay that takes longer than this is said to be on its way, ms.
const SLOW_MS: i64 = 150;
/// A session that grows is read again for replays at most so often, ms.
const READ_EVERY_MS: i64 = 1000;

/// What is known of replays of the open session.
#[derive(Debug, Clone, Default)]
pub struct Again {
    /// What was read for them.
    pub recording: Option<Arc<Recording>>,
    /// The reading that it was asked for last, and for which steps.
    asked_recording: Option<(Subject, StepSet)>,
    /// When that was, ms.
    read_ms: i64,
    /// It grew since, and is read again at this moment, ms.
    read_at: Option<i64>,
    /// The same in numbers, for the target of the main view.
    pub(super) outcome: Option<Outcome>,
    /// What was replayed last.
    pub timeline: Option<Arc<Timeline>>,
    /// What was asked for last.
    asked: Option<Asked>,
    /// The request that was answered last, and the one that was made last.
    answered: u64,
    newest: u64,
    /// When that was made, ms.
    since_ms: i64,
    /// Why there is none.
    pub error: Option<String>,
}

/// What a replay follows from. Settings hold numbers that are none, so that they are no measure of what is the same.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    subject: Subject,
    /// The steps of the replay and those that are switched on: pruning is a step of every replay, and its switch is the setting.
    tuned: Option<([StepSet; 2], Vec<Value>, Vec<Change>)>,
}

impl Again {
    /// When the session is to be read again, ms.
    pub(super) fn read_at(&self) -> Option<i64> {
        self.read_at
    }

    /// Whether growth is read now, or has to wait a little: every reading is of the whole session. `known` is what there is to
    /// show meanwhile.
    fn waits(&mut self, known: bool, now_ms: i64) -> bool {
        let next = self.read_ms + READ_EVERY_MS;
        self.read_at = (known && now_ms < next).then_some(next);
        if self.read_at.is_none() {
            self.read_ms = now_ms;
        }
        self.read_at.is_some()
    }

    /// When it is to be said that a replay is on its way, ms.
    pub(super) fn slow_at(&self) -> Option<i64> {
        (self.answered < self.newest).then_some(self.since_ms + SLOW_MS)
    }

    /// Whether what is known is not what was asked for.
    pub fn is_stale(&self) -> bool {
        self.answered < self.newest
    }

    /// Whether what is shown is not what was asked for, and has not been for a while.
    pub fn is_late(&self, now_ms: i64) -> bool {
        self.slow_at().is_some_and(|at| at <= now_ms)
    }
}

impl App {
    /// Whether something on the screen shows a replay.
    fn replays(&self) -> bool {
        self.target != Target::NextCall || matches!(self.overlay, Some(Overlay::Timeline | Overlay::Compare))
    }

    /// Another session is open: what was known belongs to the one before.
    pub(super) fn forget_replays(&mut self) {
        let newest = self.again.newest;
        self.again = Again { newest, answered: newest, ..Again::default() };
        self.timeline_screen = TimelineScreen::default();
    }

    /// Asks for what the screen shows: the recording first, then a replay under the settings as they are tuned.
    pub(super) fn want_replay(&mut self, effects: &mut Vec<Effect>) {
        let Some(inspection) = self.replayed_session().filter(|_| self.replays()).map(Arc::clone) else {
            return;
        };
        let comparing = matches!(self.overlay, Some(Overlay::Compare));
        let steps = self.tuned_steps(inspection.gateway_steps());
        // Any cell may compact.
        let steps = steps.with(Step::Compact, comparing || steps.has(Step::Compact));
        let rules = inspection.ruleset.ruleset.rules();
        let known = self.again.recording.clone();
        let known = known.filter(|known| known.material.tells(steps, rules));
        let is_newest =
            known.as_ref().is_some_and(|known| known.inspection.subject() == inspection.subject());
        let asked = Some((inspection.subject(), steps));
        if !is_newest
            && self.again.asked_recording != asked
            && !self.again.waits(known.is_some(), self.now_ms)
        {
            self.again.asked_recording = asked;
            let known = self.grown_recording().filter(|known| known.inspection.leaf == inspection.leaf);
            effects.push(Effect::ReadRecording { inspection, steps, known });
        }
        let Some(recording) = known.filter(|_| !comparing) else { return };
        let tuning = &self.tuning;
        let tuned = || ([steps, tuning.steps], tuning.values.clone(), tuning.assumed.clone());
        let tuned = tuning.preview.then(tuned);
        let asked = Some(Asked { subject: recording.inspection.subject(), tuned });
        if self.again.asked != asked {
            self.again.asked = asked;
            self.again.newest += 1;
            self.again.since_ms = self.now_ms;
            let settings = self.tuning.preview.then(|| Box::new(self.simulated(&recording)));
            effects.push(Effect::Replay { recording, settings, request: self.again.newest });
        }
    }

    /// What was recorded of the open session, where entries were only added since.
    fn grown_recording(&self) -> Option<Arc<Recording>> {
        let since = self.transcript.as_ref()?.since;
        self.again.recording.clone().filter(|known| known.inspection.epoch >= since)
    }

    /// The steps of the simulated lane: those in force, and those that are switched on.
    pub(super) fn tuned_steps(&self, in_force: StepSet) -> StepSet {
        if !self.tuning.preview {
            return in_force;
        }
        let always = in_force.without(StepSet::of(&SWITCHED));
        self.tuning.steps.iter().fold(always, |steps, step| steps.with(step, true))
    }

    /// The settings of the simulated lane, as tuned. A step that the provider's counts speak against stays left out, as in the
    /// record, unless it is what a person changed.
    fn simulated(&self, recording: &Recording) -> Settings {
        let (inspection, material) = (&recording.inspection, &recording.material);
        let doubted = material.doubted.iter().filter(|step| self.tuning.changed(*step) == 0);
        let left_out = doubted.fold(StepSet::NONE, |steps, step| steps.with(step, true));
        let trigger_moved = self.tuning.assumed.iter().any(|change| change.key == CONTEXT_WINDOW);
        let tuned = self.tuned_steps(material.recorded.steps.steps).without(left_out);
        let steps = StepSettings {
            steps: tuned.with(Step::Compact, trigger_moved || tuned.has(Step::Compact)),
            ..self.tuning.step_settings(inspection)
        };
        let assumed = simulated(inspection, &self.tuning.assumed, steps.steps).replayed();
        Settings { steps, prune_on: self.tuning.steps.has(Step::Prune), ..assumed }
    }

    /// Takes what was read for replays.
    pub(super) fn take_recording(&mut self, epoch: Epoch, recording: Result<Arc<Recording>, String>) {
        if !self.fits(epoch) {
            return;
        }
        match recording {
            Ok(recording) => {
                self.again.error = None;
                self.again.recording = Some(recording);
            }
            Err(error) => self.again.error = Some(error),
        }
    }

    /// Takes a replay; one of another session, or older than what is shown, is dropped.
    pub(super) fn replayed(&mut self, request: u64, timeline: Arc<Timeline>) {
        if !self.fits(timeline.inspection().epoch) || request <= self.again.answered {
            return;
        }
        self.again.answered = request;
        self.again.outcome = Some(outcome(&timeline, self.failed_overflow().map(|overflow| overflow.entry)));
        let before = self.again.timeline.replace(timeline);
        self.follow_timeline(before.as_deref());
        self.recount();
    }
}

/// The calls of both lanes together.
fn outcome(timeline: &Timeline, failing: Option<EntryIx>) -> Outcome {
    let whole = |lane| Whole::of(&timeline.recording.lane, timeline.lane(lane), failing);
    Outcome {
        recorded: whole(Lane::Recorded),
        tuned: timeline.is_simulated().then(|| whole(Lane::Simulated)),
    }
}
