//! The plan under the tuned settings, made again with every key that moves a setting, and the values that the key
//! changed.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::layout::Pane;
use crate::app::plan_totals::{PlanTotals, count_failed_calls};
use crate::app::state::{App, Flash};
use crate::app::target::Target;
use crate::app::tuning::configured_policies;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Ruleset;
use crate::plan::{Plan, PlanError};
use crate::policy::prune::Gate;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::{ContextDetails, CountSource, LoadedSession};
use crate::units::{Millis, Moment};

/// The time for which a changed value is highlighted.
const FLASH_MS: Millis = Millis(400.0);
/// The most messages for which each key computes a slider's profile, which takes one plan per position. A policy that
/// reads texts takes as long as all others together.
const MAX_PROFILE_MESSAGES: usize = 3_000;

/// The gate of a plan that shows pruning as if it ran.
pub(super) const OPEN_GATE: Gate = Gate::Open { idle_ms: Millis(f64::NAN) };

/// A replayed prompt that differs from the plan by more than a sixth contains other messages: the replay compacted
/// earlier.
const DEVIATION_DIVISOR: u64 = 6;

impl App {
    /// Makes the plan again. `flash` highlights the differences from the previous plan.
    pub(super) fn replan(&mut self, flash: bool) {
        let before = self.preview.plan.take();
        let values = self.preview.planned_values.take();
        self.preview.waiting_policies = PolicySet::NONE;
        self.apply_assumed_settings();
        let Some(session) = self.planned_session().cloned() else { return };
        let gate =
            gate_at(&self.tuning.prune_settings(), &session, self.respects_gates(), self.call_time_ms());
        if self.tuning.preview {
            self.preview.left_out = self.compaction_left_out();
            let mut settings = self.tuning.policy_settings(&session);
            settings.enabled = settings.enabled.without(self.preview.left_out);
            let (plan, waiting) = plan_available_policies(&session, settings, gate);
            self.preview.waiting_policies = waiting;
            match plan {
                Ok(plan) => self.preview.plan = Some(Arc::new(self.with_summary_length(&session, plan))),
                Err(error) => self.show_toast(format!("cannot make a plan: {error}"), true),
            }
            self.update_profile(&session);
            self.preview.planned_values = Some(self.tuning.values.clone());
        }
        self.measure_policies(&session);
        let height = self.pane_height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.apply_plan(self.preview.plan.as_deref(), height);
        }
        let max_chars = self.tuning.prune_settings().soft_trim.max_chars;
        // The path is as long as the session, so its failed calls are counted once.
        let subject = session.view_key();
        let failed = match &self.failed_calls {
            Some((known, failed)) if *known == subject => *failed,
            _ => count_failed_calls(&session),
        };
        self.failed_calls = Some((subject, failed));
        self.preview.totals = PlanTotals {
            failed_calls: failed,
            ..PlanTotals::compute(&session, self.preview.plan.as_deref(), max_chars, self.call_time_ms())
        };
        self.scale_to_replay();
        if flash {
            let moved = values.is_some() && values != self.preview.planned_values;
            self.flash = self.changed_values(before.as_deref(), moved);
        }
        if self.preview.plan.is_some() != before.is_some() {
            self.keep_cursors_visible();
        }
    }

    /// Returns the compaction of the plan, if the replay shows that none comes before the failed call under these settings.
    /// Until a replay has finished, the last answer holds.
    pub(super) fn compaction_left_out(&self) -> PolicySet {
        let compact = PolicySet::of(&[Policy::Compact]);
        match self.replay_outcome().and_then(|outcome| outcome.tuned) {
            _ if self.target != Target::FailedCall => PolicySet::NONE,
            _ if self.replay_state.is_stale() => self.preview.left_out,
            Some(tuned) if !tuned.failing_call_compacted => compact,
            _ => PolicySet::NONE,
        }
    }

    /// Whether a closed gate prevents pruning in the plan. Only the next call may be previewed as if it were open.
    pub(super) fn respects_gates(&self) -> bool {
        self.tuning.respect_gates || self.target == Target::FailedCall
    }

    /// Scales the bars to the target's replay, once it is finished.
    pub(super) fn scale_to_replay(&mut self) {
        let Some((recorded, counted, tuned)) = self.target_tokens() else { return };
        // The replay takes the same tokens from the files, so only the rest of the prompt is scaled.
        let reduction = self.planned_session().map_or(0, |session| session.next_prompt.files_reduction);
        let totals = &mut self.preview.totals;
        totals.current = totals.current.scaled_to(recorded);
        if let Some((after, tuned)) = totals.after.zip(tuned) {
            let off = after.total().abs_diff(tuned);
            totals.parts_unknown = off * DEVIATION_DIVISOR > after.total().max(tuned);
            let whole = after.with_smaller_files(-reduction);
            let scaled = whole.scaled_behind(&totals.current, tuned.saturating_add_signed(reduction));
            totals.after = Some(scaled.with_smaller_files(reduction));
        }
        totals.count_source = if counted { CountSource::Measured } else { CountSource::Calibrated };
    }

    fn update_profile(&mut self, session: &LoadedSession) {
        // A replay decides whether the gateway compacts before a past call.
        let by_replay = self.target == Target::FailedCall && self.tuning.policy == Policy::Compact;
        if by_replay || self.target == Target::WholeSession {
            return self.tuning.clear_profile();
        }
        let rules = session.ruleset.id.rules();
        let details = self.tuning.policies.iter().filter(|step| step.needs_features(rules)).count();
        if session.context.messages.len() * (1 + details) <= MAX_PROFILE_MESSAGES {
            let (respects_gate, at) = (self.respects_gates(), self.call_time_ms());
            let gate = |settings: &PruneSettings| gate_at(settings, session, respects_gate, at);
            self.tuning.compute_profile(session, gate, self.preview.waiting_policies);
        } else {
            self.tuning.clear_profile();
        }
    }

    /// Returns the values that the last key changed, among the visible ones. `moved`: a setting changed.
    fn changed_values(&self, before: Option<&Plan>, moved: bool) -> Flash {
        let (Some(before), Some(after)) = (before, self.preview.plan.as_deref()) else {
            return Flash::default();
        };
        let differs = |at: &usize| before.tokens_after.get(*at) != after.tokens_after.get(*at);
        Flash {
            messages: self.visible_messages().into_iter().filter(differs).collect(),
            setting: self.tuning.focused_row().filter(|_| moved),
            total: before.total_after() != after.total_after(),
            until_ms: if self.options.motion { self.now_ms + FLASH_MS } else { Moment::NEVER },
        }
    }

    /// Returns the messages behind the visible rows.
    fn visible_messages(&self) -> Vec<usize> {
        let height = self.pane_height(Pane::Transcript);
        let Some(pane) = &self.transcript else { return Vec::new() };
        let rows = pane.rows.iter().skip(pane.scroll.top).take(height);
        rows.flat_map(|row| row.message.map(|first| first..first + row.messages as usize).unwrap_or_default())
            .collect()
    }
}

/// Returns the pruner's gate at a time, or an open gate unless gates are respected.
fn gate_at(settings: &PruneSettings, session: &LoadedSession, respects_gate: bool, at_ms: Moment) -> Gate {
    let gate = session.gate(true, settings, at_ms);
    if respects_gate || gate.is_open() { gate } else { OPEN_GATE }
}

/// Returns the tokens that each configured policy would free alone with an open gate; `None` when that cannot be
/// measured.
pub(super) fn policy_savings(session: &LoadedSession) -> Vec<(Policy, Option<u64>)> {
    let steps = configured_policies(session).with(Policy::Prune, true);
    let freed = |step| {
        let settings =
            PolicySettings { enabled: PolicySet::of(&[step]), ..session.configured_settings.clone() };
        let plan = session.plan(&settings, OPEN_GATE).ok()?;
        Some(session.tokens_freed_by(&plan))
    };
    steps.iter().map(|step| (step, freed(step))).collect()
}

/// Returns the plan of the policies that need no texts or have them, and the policies that wait.
fn plan_available_policies(
    session: &LoadedSession,
    mut settings: PolicySettings,
    gate: Gate,
) -> (Result<Plan, PlanError>, PolicySet) {
    let mut waiting = PolicySet::NONE;
    loop {
        match session.plan(&settings, gate) {
            Err(PlanError::NeedsTexts(step)) if settings.enabled.has(step) => {
                settings.enabled = settings.enabled.with(step, false);
                waiting = waiting.with(step, true);
            }
            plan => return (plan, waiting),
        }
    }
}

/// Whether one of the policies needs more than sizes: texts, or the branch.
fn needs_details(steps: PolicySet, ruleset: Ruleset) -> bool {
    steps.uses_features(ruleset.rules()) || steps.has(Policy::Compact)
}

impl App {
    /// Requests the details once per session view, when a policy that needs them is shown.
    pub(super) fn request_details(&mut self, effects: &mut Vec<Effect>) {
        let Some(loaded) = self.displayed_session() else { return };
        let shown = self.tuning.preview && needs_details(self.tuning.policies, loaded.ruleset.id);
        if !shown && !self.shows_policies() {
            return;
        }
        if loaded.details.is_some() || self.requests.details.as_ref() == Some(&loaded.view_key()) {
            return;
        }
        let session = Arc::clone(loaded);
        self.requests.details = Some(session.view_key());
        effects.push(Effect::LoadDetails { session });
    }

    /// Stores the details and makes the plan again with every policy.
    pub(super) fn on_details(&mut self, context_details: Result<Arc<ContextDetails>, EffectError>) {
        match context_details {
            Ok(context_details) => {
                let Some(pane) = &mut self.transcript else { return };
                let session = LoadedSession { details: Some(context_details), ..(*pane.session).clone() };
                let is_own = pane.active_session.view_key() == session.view_key();
                pane.session = Arc::new(session);
                if is_own {
                    pane.active_session = Arc::clone(&pane.session);
                }
                self.replan(false);
            }
            Err(error) => {
                self.preview.details_failed = true;
                self.show_toast(error.to_string(), true);
            }
        }
    }
}
