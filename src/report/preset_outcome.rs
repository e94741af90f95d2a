//! A session under a person's settings, in the few numbers by which two presets are compared.

use std::sync::Arc;

use crate::policy::PolicySettings;
use crate::report::explain::failed_call;
use crate::report::timeline::{RecordedSession, Timeline, TraceKind};
use crate::session::replay_summary::ReplaySummary;
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::{default_replay_policies, left_out_policies, simulate_settings};
use crate::session::{ContextDetails, LoadedSession};
use crate::store::body::BodyError;
use crate::units::Moment;

/// The next call and the whole session under some settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PresetOutcome {
    /// Tokens of the next prompt; `None` if no plan can be made.
    pub next_call_tokens: Option<u64>,
    /// Every recorded call, replayed.
    pub replay: ReplaySummary,
    /// Whether the gateway refuses the window, so that every message fails.
    pub is_window_refused: bool,
}

/// Replays a session under changed settings; `None` once `wanted` returns `false`.
///
/// # Errors
/// When an entry cannot be read again.
pub fn preset_outcome(
    session: &Arc<LoadedSession>,
    changes: &[SettingChange],
    now_ms: Moment,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<PresetOutcome>, BodyError> {
    let policies = default_replay_policies(session, changes);
    let mut simulated = simulate_settings(session, changes, policies);
    let is_window_refused = simulated.refused_window.is_some();
    let next_call_tokens =
        next_call_tokens(session, &simulated.policies, simulated.prune_on, now_ms, wanted)?;
    let replayed = Arc::new(LoadedSession { window: simulated.window, ..LoadedSession::clone(session) });
    let recording = RecordedSession::read(replayed, policies, None, &|| wanted());
    let Some(recording) = recording? else { return Ok(None) };
    let left_out = left_out_policies(recording.inputs.contradicted_policies, changes);
    simulated.policies.enabled = simulated.policies.enabled.without(left_out);
    let settings = Some(simulated.replay_settings());
    let Some(timeline) = Timeline::new(Arc::new(recording), settings, &|| wanted()) else { return Ok(None) };
    let failing = failed_call(session).map(|overflow| overflow.entry);
    let trace = timeline.trace(TraceKind::Simulated);
    let replay = ReplaySummary::from_trace(&timeline.recorded.trace, trace, failing);
    Ok(Some(PresetOutcome { next_call_tokens, replay, is_window_refused }))
}

/// Returns the tokens of the next prompt. Texts are read, as some policies cannot decide by sizes.
fn next_call_tokens(
    session: &LoadedSession,
    settings: &PolicySettings,
    prune_on: bool,
    now_ms: Moment,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<u64>, BodyError> {
    let LoadedSession { source, index, context, .. } = session;
    let rules = session.ruleset.id.rules();
    let details = match &session.details {
        Some(details) => Some(Arc::clone(details)),
        None => {
            ContextDetails::read_while(source, index, context, rules, None, &mut || wanted())?.map(Arc::new)
        }
    };
    let session = LoadedSession { details, ..session.clone() };
    let plan = session.plan(settings, session.gate(prune_on, &settings.prune, now_ms)).ok();
    Ok(plan.map(|plan| session.next_budget_after(&plan).total()))
}
