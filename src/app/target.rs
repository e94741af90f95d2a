//! The target of the main view: the prompt that it shows and that settings apply to. The next call is planned from
//! the active leaf; the failed call from the leaf at its time; the whole session shows a replay of every call.

mod prompt;

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::layout::{Pane, WidthClass};
use crate::app::state::{App, Overlay};
use crate::app::tuning_history::TuningState;
use crate::report::explain::failed_call;
use crate::session::LoadedSession;
use crate::session::overflow::{CallState, Overflow};
use crate::transcript::Leaf;
use crate::units::Moment;
pub use prompt::{ReplayOutcome, Target};

impl App {
    /// The open session at its own leaf, at any target of the main view.
    pub fn active_session(&self) -> Option<&Arc<LoadedSession>> {
        self.transcript.as_ref().map(|pane| &pane.active_session)
    }

    /// The explained overflow; `None` when no call overflowed.
    pub fn failed_overflow(&self) -> Option<&Overflow> {
        self.transcript.as_ref()?.failed_overflow.as_ref()
    }

    /// The displayed session, under the changed settings that belong to no policy.
    pub fn planned_session(&self) -> Option<&Arc<LoadedSession>> {
        self.preview.assumed_session.as_ref().or_else(|| self.displayed_session())
    }

    /// Applies the changed settings that belong to no policy, once per plan and not with every frame.
    pub(super) fn apply_assumed_settings(&mut self) {
        let changed = self.tuning.preview && !self.tuning.assumed_changes.is_empty();
        let session = self.displayed_session().filter(|_| changed);
        self.preview.assumed_session =
            session.map(|session| Arc::new(session.with_window_changes(&self.tuning.assumed_changes)));
    }

    /// The time of the displayed call: the recorded time of the failed call, otherwise now.
    pub fn call_time_ms(&self) -> Moment {
        let failed = self.failed_overflow().filter(|_| self.target == Target::FailedCall);
        let at = failed.map(|overflow| overflow.time_ms).filter(|at| at.is_finite());
        at.map_or(self.now_ms, Moment::to_whole)
    }

    /// The time of the call that the screen is about: on the timeline the one under the cursor.
    pub fn displayed_call_ms(&self) -> Moment {
        let timeline = self.timeline().filter(|_| matches!(self.overlay(), Some(Overlay::Timeline)));
        let call = timeline.and_then(|timeline| timeline.calls().get(self.timeline_screen.cursor));
        call.map_or_else(|| self.call_time_ms(), |call| call.started)
    }

    /// The replay of the target, once finished; `None` for the next call.
    pub fn replay_outcome(&self) -> Option<ReplayOutcome> {
        self.replay_state.outcome.filter(|_| self.target != Target::NextCall)
    }

    /// Tokens of the target's prompt as recorded, whether the provider counted them, and tokens under the tuned
    /// settings. `None` for the next call, and until the replay is finished.
    pub fn target_tokens(&self) -> Option<(u64, bool, Option<u64>)> {
        let ReplayOutcome { recorded, tuned } = self.replay_outcome()?;
        match self.target {
            Target::NextCall => None,
            Target::FailedCall => Some((
                recorded.failing_call_tokens?,
                recorded.failing_call_measured,
                tuned.and_then(|tuned| tuned.failing_call_tokens),
            )),
            Target::WholeSession => {
                Some((recorded.peak_tokens, recorded.peak_measured, tuned.map(|tuned| tuned.peak_tokens)))
            }
        }
    }

    /// Moves a preview that an event turned on to its first target: the call that failed, as long as that is the newest
    /// one or under the cursor. One that ended leaves the failed call. A preview of the next call with ignored gates
    /// stays there, as a past call keeps its gates.
    pub(super) fn follow_preview(&mut self, before: &TuningState) -> Vec<Effect> {
        let target = match (before.preview, self.tuning.preview) {
            (false, true)
                if self.target == Target::NextCall && self.tuning.respect_gates == before.respect_gates =>
            {
                self.preview_start()
            }
            (true, false) if self.target == Target::FailedCall => Target::NextCall,
            _ => self.target,
        };
        if target == self.target { Vec::new() } else { self.show_target(target) }
    }

    /// The target on which a preview starts; without one, the next call.
    pub(super) fn preview_start(&self) -> Target {
        let is_failed = self.tuning.preview && self.is_failed_call_at_hand();
        if is_failed { Target::FailedCall } else { Target::NextCall }
    }

    fn is_failed_call_at_hand(&self) -> bool {
        let (Some(own), Some(overflow)) = (self.active_session(), self.failed_overflow()) else {
            return false;
        };
        let is_newest = own.last_calls().state == CallState::Overflow && own.fits_since_commit().is_none();
        is_newest || self.selected_entry() == Some(overflow.entry)
    }

    /// The targets that the session has, in the order of their tabs.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        let has_failed = self.failed_overflow().is_some();
        Target::ALL.into_iter().filter(move |target| has_failed || *target != Target::FailedCall)
    }

    /// Shows the next target; skips the failed call when no call overflowed.
    pub(super) fn select_next_target(&mut self) -> Vec<Effect> {
        if self.active_session().is_none() {
            self.show_note("no session is open".into());
            return Vec::new();
        }
        let mut target = self.target.next();
        if target == Target::FailedCall && self.failed_overflow().is_none() {
            target = target.next();
        }
        self.show_target(target)
    }

    /// Shows a target. A toast names it where neither the tabs nor the header of a narrow screen do, unless another one
    /// says what the key did, such as an undo that ended the preview.
    pub(super) fn show_target(&mut self, target: Target) -> Vec<Effect> {
        self.target = target;
        let layout = self.layout();
        let is_in_header = layout.width_class < WidthClass::Medium
            && !self.zoom
            && (target != Target::NextCall || self.tuning.preview);
        let is_free = self.overlay().is_none() && self.toast.is_none();
        if layout.legend.is_empty() && !is_in_header && is_free {
            self.show_toast(format!("Showing the {}", target.label()), false);
        }
        let effects = self.load_target();
        self.replan(false);
        effects
    }

    /// Requests the session as of the target's call, or displays it at its own leaf. The caller makes the plan again.
    pub(super) fn load_target(&mut self) -> Vec<Effect> {
        let Some(own) = self.active_session().cloned() else { return Vec::new() };
        if let Some(overflow) = self.overflow_to_load() {
            return vec![Effect::LoadSessionAtCall { session: own, overflow: Box::new(overflow) }];
        }
        self.display_session(own);
        Vec::new()
    }

    /// Returns the failed call when the target needs the session as of that call.
    fn overflow_to_load(&self) -> Option<Overflow> {
        let overflow = self.failed_overflow()?;
        let on_path = || self.active_session().is_some_and(|own| own.context.path.contains(&overflow.entry));
        let elsewhere = match self.target {
            Target::NextCall => false,
            Target::FailedCall => true,
            Target::WholeSession => !on_path(),
        };
        elsewhere.then(|| overflow.clone())
    }

    /// Displays the session as of the failed call, if that is still the target.
    pub(super) fn on_session_at_call(&mut self, session: Option<Arc<LoadedSession>>) {
        let Some(overflow) = self.overflow_to_load() else { return };
        let Some(session) = session else {
            self.target = Target::NextCall;
            self.show_toast("the failed call is not in the tree".into(), true);
            return;
        };
        self.display_session(session);
        self.replan(false);
        let height = self.pane_height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.reveal(overflow.entry, height);
        }
    }

    fn display_session(&mut self, session: Arc<LoadedSession>) {
        let height = self.pane_height(Pane::Transcript);
        let Some(pane) = &mut self.transcript else { return };
        if !Arc::ptr_eq(&pane.session, &session) {
            pane.refresh(session, height);
            self.preview.details_failed = false;
        }
    }

    /// The session to replay: its path contains the failed call, if one is shown.
    pub(super) fn replayed_session(&self) -> Option<&Arc<LoadedSession>> {
        let overflow = self.failed_overflow().filter(|_| self.target != Target::NextCall);
        let own = self.active_session()?;
        if overflow.is_none_or(|overflow| own.context.path.contains(&overflow.entry)) {
            return Some(own);
        }
        self.displayed_session().filter(|shown| shown.leaf != Leaf::Own)
    }

    /// Finds the failed call again after the session was read again.
    pub(super) fn update_failed_call(&mut self) {
        if let Some(pane) = &mut self.transcript {
            pane.failed_overflow = failed_call(&pane.active_session).cloned();
            if pane.failed_overflow.is_none() && self.target == Target::FailedCall {
                self.target = Target::NextCall;
            }
        }
    }
}
