//! Replays of the open session under the tuned settings. The session is read for replays once per epoch; each changed
//! setting then requests one more replay. The screen shows every answer as it arrives and then requests the newest
//! settings, so that a moving slider stays responsive.

mod progress;

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::screens::timeline::TimelineScreen;
use crate::app::state::{App, Overlay};
use crate::app::target::{ReplayOutcome, Target};
use crate::ids::EntryIx;
use crate::policy::settings::SettingId;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::replay::Settings;
use crate::report::timeline::{RecordedSession, Timeline, TraceKind};
use crate::session::replay_summary::ReplaySummary;
use crate::session::simulated_settings::simulate_settings;
pub(super) use progress::ReplayRequest;
pub use progress::ReplayState;

/// Opt-in policies; all others follow the config, whether the tuning pane shows them or not.
pub(super) const OPT_IN_POLICIES: [Policy; 3] = [Policy::Compact, Policy::Truncate, Policy::Clear];

impl App {
    /// Whether the main screen or an open timeline shows a replay.
    fn shows_replay(&self) -> bool {
        self.target != Target::NextCall || self.views.iter().any(|view| matches!(view, Overlay::Timeline))
    }

    /// Whether a screen needs the session as read for replays.
    fn reads_recording(&self) -> bool {
        self.shows_replay() || self.is_comparing() || self.wants_regret()
    }

    /// Forgets the replays of the previous session.
    pub(super) fn reset_replays(&mut self) {
        let newest = self.replay_state.newest_id;
        self.replay_state = ReplayState { newest_id: newest, answered_id: newest, ..ReplayState::default() };
        self.timeline_screen = TimelineScreen::default();
        self.regret.reset();
    }

    /// Requests the input of the shown screen: first the recording, then a replay under the tuned settings.
    pub(super) fn request_replay(&mut self, effects: &mut Vec<Effect>) {
        let Some(session) = self.replayed_session().filter(|_| self.reads_recording()).map(Arc::clone) else {
            return;
        };
        let comparing = self.is_comparing();
        let steps = self.tuned_policies(session.gateway_policies());
        // Any cell may compact.
        let steps = steps.with(Policy::Compact, comparing || steps.has(Policy::Compact));
        let rules = session.ruleset.id.rules();
        let known = self.replay_state.recording.clone();
        let known = known.filter(|known| known.inputs.covers(steps, rules));
        let is_newest = known.as_ref().is_some_and(|known| known.session.view_key() == session.view_key());
        let requested = Some((session.view_key(), steps));
        if !is_newest
            && self.replay_state.requested_recording != requested
            && !self.replay_state.defer_read(known.is_some(), self.now_ms)
        {
            self.replay_state.requested_recording = requested;
            let known = self.extendable_recording().filter(|known| known.session.leaf == session.leaf);
            effects.push(Effect::ReadRecording { session, policies: steps, previous: known });
        }
        // A comparison hides the replay, which catches up when it shows again.
        let shown = self.shows_replay() && !matches!(self.page(), Some(Overlay::Compare));
        let Some(recording) = known else { return };
        let tuning = &self.tuning;
        let tuned = || ([steps, tuning.policies], tuning.values.clone(), tuning.assumed_changes.clone());
        let tuned = tuning.preview.then(tuned);
        let requested = ReplayRequest { subject: recording.session.view_key(), tuned };
        self.request_regret(&requested, effects);
        if shown && self.replay_state.last_request.as_ref() != Some(&requested) {
            self.replay_state.last_request = Some(requested);
            self.replay_state.newest_id += 1;
            self.replay_state.requested_ms = self.now_ms;
            let settings = self.tuning.preview.then(|| Box::new(self.simulated_settings(&recording)));
            effects.push(Effect::Replay { recording, settings, request_id: self.replay_state.newest_id });
        }
    }

    /// Returns the recording of the open session if entries were only added since.
    fn extendable_recording(&self) -> Option<Arc<RecordedSession>> {
        let since = self.transcript.as_ref()?.appended_since;
        self.replay_state.recording.clone().filter(|known| known.session.epoch >= since)
    }

    /// Returns the policies of the simulated trace: every enabled one, and all active ones that are not opt-in.
    pub(super) fn tuned_policies(&self, in_force: PolicySet) -> PolicySet {
        if !self.tuning.preview {
            return in_force;
        }
        let always = in_force.without(PolicySet::of(&OPT_IN_POLICIES));
        self.tuning.policies.iter().fold(always, |policies, policy| policies.with(policy, true))
    }

    /// Returns the tuned settings of the simulated trace. A policy that the provider's counts contradict stays off,
    /// as in the recorded trace, unless the person changed one of its settings.
    pub(super) fn simulated_settings(&self, recording: &RecordedSession) -> Settings {
        let (session, inputs) = (&recording.session, &recording.inputs);
        let doubted =
            inputs.contradicted_policies.iter().filter(|policy| self.tuning.count_changed(*policy) == 0);
        let left_out = doubted.fold(PolicySet::NONE, |steps, policy| steps.with(policy, true));
        let trigger_moved =
            self.tuning.assumed_changes.iter().any(|change| change.id == SettingId::ContextWindow);
        let tuned = self.tuned_policies(inputs.recorded_settings.policies.enabled).without(left_out);
        let steps = PolicySettings {
            enabled: tuned.with(Policy::Compact, trigger_moved || tuned.has(Policy::Compact)),
            ..self.tuning.policy_settings(session)
        };
        let assumed =
            simulate_settings(session, &self.tuning.assumed_changes, steps.enabled).replay_settings();
        Settings { policies: steps, prune_on: self.tuning.policies.has(Policy::Prune), ..assumed }
    }

    pub(super) fn on_recording(&mut self, recording: Result<Arc<RecordedSession>, EffectError>) {
        match recording {
            Ok(recording) => {
                self.replay_state.error = None;
                self.replay_state.recording = Some(recording);
            }
            Err(error) => self.replay_state.error = Some(error.to_string()),
        }
    }

    /// Shows a replay.
    pub(super) fn on_replayed(&mut self, request: u64, timeline: Arc<Timeline>) {
        self.replay_state.answered_id = request;
        self.replay_state.outcome =
            Some(replay_outcome(&timeline, self.failed_overflow().map(|overflow| overflow.entry)));
        let before = self.replay_state.timeline.replace(timeline);
        self.keep_timeline_cursor(before.as_deref());
        if self.tuning.preview && self.preview.left_out != self.compaction_left_out() {
            self.replan(false);
        } else {
            self.scale_to_replay();
        }
    }
}

/// Sums up the calls of each trace.
fn replay_outcome(timeline: &Timeline, failing: Option<EntryIx>) -> ReplayOutcome {
    let whole = |trace| ReplaySummary::from_trace(&timeline.recorded.trace, timeline.trace(trace), failing);
    ReplayOutcome {
        recorded: whole(TraceKind::Recorded),
        tuned: timeline.is_simulated().then(|| whole(TraceKind::Simulated)),
    }
}
