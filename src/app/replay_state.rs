//! The open session again under the tuned settings: what replays ask of it is read once for a reading, and each change of
//! a setting asks for one more replay. An answer is shown as soon as it is there; the newest settings are asked next.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::state::{App, Overlay};
use crate::app::target::{ReplayOutcome, Target};
use crate::app::timeline::TimelineScreen;
use crate::ids::{EntryIx, Epoch};
use crate::inspect::SessionViewKey;
use crate::inspect::replay_summary::ReplaySummary;
use crate::inspect::session_settings::CONTEXT_WINDOW;
use crate::inspect::setting_change::SettingChange;
use crate::inspect::simulated_settings::simulate_settings;
use crate::inspect::timeline::{RecordedSession, Timeline, TraceKind};
use crate::js::Value;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::replay::Settings;

/// Steps that only take part where a person switches them on. All others go on as they are in force, whether the tuning
/// pane shows them or not.
pub(super) const OPT_IN_POLICIES: [Policy; 3] = [Policy::Compact, Policy::Truncate, Policy::Clear];
/// A replay that takes longer than this is said to be on its way, ms.
const SLOW_REPLAY_MS: i64 = 150;
/// A session that grows is read again for replays at most so often, ms.
const MIN_READ_INTERVAL_MS: i64 = 1000;

/// What is known of replays of the open session.
#[derive(Debug, Clone, Default)]
pub struct ReplayState {
    /// What was read for them.
    pub recording: Option<Arc<RecordedSession>>,
    /// The reading that it was asked for last, and for which steps.
    requested_recording: Option<(SessionViewKey, PolicySet)>,
    /// When that was, ms.
    last_read_ms: i64,
    /// It grew since, and is read again at this moment, ms.
    next_read_ms: Option<i64>,
    /// The same in numbers, for the target of the main view.
    pub(super) outcome: Option<ReplayOutcome>,
    /// What was replayed last.
    pub timeline: Option<Arc<Timeline>>,
    /// What was asked for last.
    last_request: Option<ReplayRequest>,
    /// The request that was answered last, and the one that was made last.
    answered_id: u64,
    newest_id: u64,
    /// When that was made, ms.
    requested_ms: i64,
    /// Why there is none.
    pub error: Option<String>,
}

/// What a replay follows from. Settings hold numbers that are none, so that they are no measure of what is the same.
#[derive(Debug, Clone, PartialEq)]
struct ReplayRequest {
    subject: SessionViewKey,
    /// The steps of the replay and those that are switched on: pruning is a step of every replay, and its switch is the setting.
    tuned: Option<([PolicySet; 2], Vec<Value>, Vec<SettingChange>)>,
}

impl ReplayState {
    /// When the session is to be read again, ms.
    pub(super) fn next_read_ms(&self) -> Option<i64> {
        self.next_read_ms
    }

    /// Whether growth is read now, or has to wait a little: every reading is of the whole session. `known` is what there is to
    /// show meanwhile.
    fn defer_read(&mut self, known: bool, now_ms: i64) -> bool {
        let next = self.last_read_ms + MIN_READ_INTERVAL_MS;
        self.next_read_ms = (known && now_ms < next).then_some(next);
        if self.next_read_ms.is_none() {
            self.last_read_ms = now_ms;
        }
        self.next_read_ms.is_some()
    }

    /// When it is to be said that a replay is on its way, ms.
    pub(super) fn slow_at_ms(&self) -> Option<i64> {
        (self.answered_id < self.newest_id).then_some(self.requested_ms + SLOW_REPLAY_MS)
    }

    /// Whether what is known is not what was asked for.
    pub fn is_stale(&self) -> bool {
        self.answered_id < self.newest_id
    }

    /// Whether what is shown is not what was asked for, and has not been for a while.
    pub fn is_slow(&self, now_ms: i64) -> bool {
        self.slow_at_ms().is_some_and(|at| at <= now_ms)
    }
}

impl App {
    /// Whether something on the screen shows a replay.
    fn shows_replay(&self) -> bool {
        self.target != Target::NextCall || matches!(self.overlay, Some(Overlay::Timeline | Overlay::Compare))
    }

    /// Another session is open: what was known belongs to the one before.
    pub(super) fn reset_replays(&mut self) {
        let newest = self.replay_state.newest_id;
        self.replay_state = ReplayState { newest_id: newest, answered_id: newest, ..ReplayState::default() };
        self.timeline_screen = TimelineScreen::default();
    }

    /// Asks for what the screen shows: the recording first, then a replay under the settings as they are tuned.
    pub(super) fn request_replay(&mut self, effects: &mut Vec<Effect>) {
        let Some(inspection) = self.replayed_session().filter(|_| self.shows_replay()).map(Arc::clone) else {
            return;
        };
        let comparing = matches!(self.overlay, Some(Overlay::Compare));
        let steps = self.tuned_policies(inspection.gateway_policies());
        // Any cell may compact.
        let steps = steps.with(Policy::Compact, comparing || steps.has(Policy::Compact));
        let rules = inspection.ruleset.id.rules();
        let known = self.replay_state.recording.clone();
        let known = known.filter(|known| known.inputs.covers(steps, rules));
        let is_newest = known.as_ref().is_some_and(|known| known.session.view_key() == inspection.view_key());
        let asked = Some((inspection.view_key(), steps));
        if !is_newest
            && self.replay_state.requested_recording != asked
            && !self.replay_state.defer_read(known.is_some(), self.now_ms)
        {
            self.replay_state.requested_recording = asked;
            let known = self.extendable_recording().filter(|known| known.session.leaf == inspection.leaf);
            effects.push(Effect::ReadRecording { session: inspection, policies: steps, previous: known });
        }
        let Some(recording) = known.filter(|_| !comparing) else { return };
        let tuning = &self.tuning;
        let tuned = || ([steps, tuning.policies], tuning.values.clone(), tuning.assumed_changes.clone());
        let tuned = tuning.preview.then(tuned);
        let asked = Some(ReplayRequest { subject: recording.session.view_key(), tuned });
        if self.replay_state.last_request != asked {
            self.replay_state.last_request = asked;
            self.replay_state.newest_id += 1;
            self.replay_state.requested_ms = self.now_ms;
            let settings = self.tuning.preview.then(|| Box::new(self.simulated_settings(&recording)));
            effects.push(Effect::Replay { recording, settings, request_id: self.replay_state.newest_id });
        }
    }

    /// What was recorded of the open session, where entries were only added since.
    fn extendable_recording(&self) -> Option<Arc<RecordedSession>> {
        let since = self.transcript.as_ref()?.appended_since;
        self.replay_state.recording.clone().filter(|known| known.session.epoch >= since)
    }

    /// The steps of the simulated lane: those in force, and those that are switched on.
    pub(super) fn tuned_policies(&self, in_force: PolicySet) -> PolicySet {
        if !self.tuning.preview {
            return in_force;
        }
        let always = in_force.without(PolicySet::of(&OPT_IN_POLICIES));
        self.tuning.policies.iter().fold(always, |steps, step| steps.with(step, true))
    }

    /// The settings of the simulated lane, as tuned. A step that the provider's counts speak against stays left out, as in the
    /// record, unless it is what a person changed.
    fn simulated_settings(&self, recording: &RecordedSession) -> Settings {
        let (inspection, material) = (&recording.session, &recording.inputs);
        let doubted =
            material.contradicted_policies.iter().filter(|step| self.tuning.count_changed(*step) == 0);
        let left_out = doubted.fold(PolicySet::NONE, |steps, step| steps.with(step, true));
        let trigger_moved = self.tuning.assumed_changes.iter().any(|change| change.key == CONTEXT_WINDOW);
        let tuned = self.tuned_policies(material.recorded_settings.policies.enabled).without(left_out);
        let steps = PolicySettings {
            enabled: tuned.with(Policy::Compact, trigger_moved || tuned.has(Policy::Compact)),
            ..self.tuning.policy_settings(inspection)
        };
        let assumed =
            simulate_settings(inspection, &self.tuning.assumed_changes, steps.enabled).replay_settings();
        Settings { policies: steps, prune_on: self.tuning.policies.has(Policy::Prune), ..assumed }
    }

    /// Takes what was read for replays.
    pub(super) fn on_recording(&mut self, epoch: Epoch, recording: Result<Arc<RecordedSession>, String>) {
        if !self.is_current(epoch) {
            return;
        }
        match recording {
            Ok(recording) => {
                self.replay_state.error = None;
                self.replay_state.recording = Some(recording);
            }
            Err(error) => self.replay_state.error = Some(error),
        }
    }

    /// Takes a replay; one of another session, or older than what is shown, is dropped.
    pub(super) fn on_replayed(&mut self, request: u64, timeline: Arc<Timeline>) {
        if !self.is_current(timeline.session().epoch) || request <= self.replay_state.answered_id {
            return;
        }
        self.replay_state.answered_id = request;
        self.replay_state.outcome =
            Some(replay_outcome(&timeline, self.failed_overflow().map(|overflow| overflow.entry)));
        let before = self.replay_state.timeline.replace(timeline);
        self.keep_timeline_cursor(before.as_deref());
        self.scale_to_replay();
    }
}

/// The calls of both lanes together.
fn replay_outcome(timeline: &Timeline, failing: Option<EntryIx>) -> ReplayOutcome {
    let whole = |lane| ReplaySummary::from_trace(&timeline.recorded.trace, timeline.trace(lane), failing);
    ReplayOutcome {
        recorded: whole(TraceKind::Recorded),
        tuned: timeline.is_simulated().then(|| whole(TraceKind::Simulated)),
    }
}
