//! Replays the session through the failed call: as recorded, under changed settings, and with one measurement
//! corrected. `replay`, `check`, `sweep` and tuning use the same replay, so their results agree.

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::build::ContextMessage;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::policy::{Policy, PolicySet};
use crate::replay::{CallReplay, RecordedTrace, Settings, simulated_trace};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::replay_summary::ReplaySummary;
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::{default_replay_policies, left_out_policies, simulate_settings};
use crate::store::body::BodyError;
use crate::store::intern::ValueIx;
use crate::units::{Chars, Tokens};

/// A session with everything that its replays need.
#[derive(Debug)]
pub(super) struct ReplayRunner {
    /// The session at a leaf whose path includes the failing call.
    pub session: LoadedSession,
    pub recorded_trace: Arc<RecordedTrace>,
    /// Tokens before the messages.
    pub fixed_tokens: Tokens,
    inputs: ReplayInputs,
    weights: HashMap<EntryIx, Tokens>,
    failing_call: Option<EntryIx>,
}

impl ReplayRunner {
    /// Reads the input of replays. `failing` is the failed call; `None` replays the session without one. `known` are the
    /// inputs of the session at its own leaf.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub(super) fn read(
        loaded: &LoadedSession,
        failing: Option<EntryIx>,
        known: Option<&ReplayInputs>,
    ) -> Result<Self, BodyError> {
        let session = session_through(loaded, failing);
        let inputs = match known.filter(|_| session.leaf == loaded.leaf) {
            Some(known) => known.clone(),
            None => ReplayInputs::read(&session, PolicySet::NONE)?,
        };
        let record = inputs.recorded_trace(&session);
        inputs.check_bodies()?;
        let (fixed, weights) = inputs.calibrated_weights(&session);
        Ok(Self {
            session,
            recorded_trace: record,
            fixed_tokens: fixed,
            inputs,
            weights,
            failing_call: failing,
        })
    }

    /// Returns the tokens of each message in the provider's count.
    pub(super) fn weights_of(&self, messages: &[ContextMessage]) -> Vec<Tokens> {
        let weight = |message: &ContextMessage| {
            let known = self.weights.get(&message.entry).copied();
            known.unwrap_or_else(|| Tokens(estimate_or_zero(&message.size) as f64))
        };
        messages.iter().map(weight).collect()
    }

    /// Returns the recorded outcome of a call.
    pub(super) fn recorded_call(&self, entry: EntryIx) -> Option<&CallReplay> {
        let at = self.recorded_trace.calls.iter().position(|call| call.entry == entry)?;
        self.recorded_trace.trace.get(at)
    }

    /// Returns the tokens that a model's provider takes, if the recorded calls show it.
    pub(super) fn learned_limit(&self, model: Option<(ValueIx, ValueIx)>) -> Option<u64> {
        let other =
            model.and_then(|model| self.inputs.other_windows.get(&model)).map(|limits| limits.provider);
        Some(other.unwrap_or(self.inputs.provider_window))
            .filter(|limit| *limit > Tokens::ZERO)
            .map(Tokens::whole)
    }

    /// Whether pruning can act at all: the release has it, and the provider is eligible.
    pub(super) fn can_prune(&self) -> bool {
        self.inputs.can_prune(&self.session)
    }

    /// Whether the provider's counts show that a policy had no effect, although its rule acts.
    pub(super) fn contradicts(&self, policy: Policy) -> bool {
        self.inputs.contradicted_policies.has(policy)
    }

    /// Sums the chars of messages as the context guard counts them (pruning 6.32); `None` if the texts were not read.
    pub(super) fn guard_chars(&self, messages: &[ContextMessage]) -> Option<Chars> {
        let features = self.inputs.path_features()?;
        let by_entry: HashMap<EntryIx, Chars> = features
            .filter_map(|(entry, features)| Some((entry, features.guard.chars.value().ok()?)))
            .collect();
        Some(messages.iter().filter_map(|message| by_entry.get(&message.entry)).copied().sum())
    }

    pub(super) fn call_count(&self) -> usize {
        self.recorded_trace.calls.len()
    }

    /// Returns the totals of the recorded session.
    pub(super) fn run_recorded(&self) -> ReplaySummary {
        self.sum_calls(&self.recorded_trace.trace)
    }

    pub(super) fn settings_under(&self, changes: &[SettingChange]) -> Settings {
        let policies = default_replay_policies(&self.session, changes);
        let left_out = left_out_policies(self.inputs.contradicted_policies, changes);
        simulate_settings(&self.session, changes, policies.without(left_out)).replay_settings()
    }

    /// Replays the whole session under changed settings.
    pub(super) fn run_under(&self, changes: &[SettingChange]) -> ReplaySummary {
        self.run(&self.settings_under(changes))
    }

    /// Replays the whole session under any settings.
    pub(super) fn run(&self, settings: &Settings) -> ReplaySummary {
        let session = self.inputs.replay_session(&self.session);
        let trace = simulated_trace(&session, settings, &self.recorded_trace, &|| true).unwrap_or_default();
        self.sum_calls(&trace)
    }

    /// Whether the recorded gateway made no compaction at a trigger that it had reached.
    pub(super) fn lacks_due_compactions(&self) -> bool {
        let session = self.inputs.replay_session(&self.session);
        self.recorded_trace.lacks_due_compactions(&session, &|| true).unwrap_or_default()
    }

    fn sum_calls(&self, trace: &[CallReplay]) -> ReplaySummary {
        ReplaySummary::from_trace(&self.recorded_trace, trace, self.failing_call)
    }
}

pub(super) fn enable_compaction(settings: &mut Settings) {
    settings.policies.enabled = settings.policies.enabled.with(Policy::Compact, true);
    settings.assumptions.ideal_compaction = true;
}

/// Returns the session at a leaf whose path includes the call.
fn session_through(session: &LoadedSession, entry: Option<EntryIx>) -> LoadedSession {
    let off_path = entry.filter(|entry| !session.context.path.contains(entry));
    off_path.and_then(|entry| session.at_entry(entry)).unwrap_or_else(|| session.clone())
}
