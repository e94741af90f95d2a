//! One session replayed under the arguments: the values that the text and the JSON of `replay` are made from.

use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::learned_window::with_learned_window;
use super::output::Output;
use super::preview::replay_policies;
use super::ruleset::refuse_unsupported;
use crate::cli::{ReplaySettingsArgs, StoreArgs};
use crate::config::{self, FiringLimits};
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::EntryIx;
use crate::policy::{Policy, PolicySet};
use crate::replay::{FiringLog, Replay, firing_log};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::setting_change::{SettingChange, read_changes};
use crate::session::simulated_settings::{SimulatedSettings, left_out_policies, simulate_settings};
use crate::session::usage_totals::answers_besides;

/// A replay and its inputs.
#[derive(Debug)]
pub(super) struct ReplayReport {
    /// The session, with the window of the simulated settings.
    pub session: LoadedSession,
    pub simulated: SimulatedSettings,
    pub inputs: ReplayInputs,
    pub replay: Replay,
    /// Policy events of the simulated trace.
    pub policy_log: FiringLog,
    /// The limits above which a policy of it fires too often.
    pub firing_limits: FiringLimits,
    /// Ruleset of the recorded trace, if the simulated trace uses another one.
    pub writer_ruleset: Option<RulesetChoice>,
    /// The reason why both traces follow the ruleset from `--ruleset`, if that is unexpected.
    pub shared_rules: Option<SharedRules>,
}

/// Reasons why the recorded trace follows the ruleset from `--ruleset` too, and not the one that wrote the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SharedRules {
    /// The store does not name the version that wrote it.
    WriterUnknown,
    /// The two versions follow different paths through a damaged tree, so their calls are not the same.
    OtherPath,
}

/// A session under the ruleset that wrote it, with its replay inputs; or the reason why no comparison is possible.
type WriterSession = Result<Box<(LoadedSession, ReplayInputs)>, Option<SharedRules>>;

impl ReplayReport {
    /// Returns the number of answers in the file that are no calls of this branch.
    pub(super) fn calls_elsewhere(&self) -> usize {
        let own: Vec<EntryIx> = self.replay.calls.iter().map(|call| call.entry).collect();
        answers_besides(&self.session, &own).map_or(0, |others| others.calls)
    }
}

pub(super) fn replay_session(
    name: &str,
    leaf: Option<&str>,
    args: &ReplaySettingsArgs,
    (place, invocation): (&StoreArgs, &Invocation),
    output: &mut Output,
) -> Result<ReplayReport, Failure> {
    let changes: Vec<SettingChange> = read_changes(args.settings.as_deref(), &args.set)?;
    let workspace = Workspace::for_session(name, place, invocation)?;
    let session = require_context(at_leaf(&workspace, workspace.open_session(name, output)?, leaf)?)?;
    let changes = with_learned_window(args.window, changes, &session, output)?;
    refuse_unsupported(&changes, &session)?;
    let own = match place.ruleset {
        Some(_) => load_under_writer_ruleset(name, leaf, &session, place, invocation)?,
        None => Err(None),
    };
    let (own, shared_rules) = match own {
        Ok(own) => (Some(own), None),
        Err(shared) => (None, shared),
    };
    let mut policies = replay_policies(&args.policy, &changes, &session)?;
    if args.policy.is_empty() {
        // The other version would have compacted elsewhere, so its compaction is simulated too.
        policies = policies.with(Policy::Compact, policies.has(Policy::Compact) || own.is_some());
    }
    let simulated = simulate_settings(&session, &changes, policies);
    for warning in simulated.warnings() {
        output.note(&warning)?;
    }
    let inputs = read_inputs(&session, policies)?;
    let left_out = if args.policy.is_empty() {
        let doubted = own.as_ref().map_or(inputs.contradicted_policies, |own| own.1.contradicted_policies);
        left_out_policies(doubted, &changes)
    } else {
        PolicySet::NONE
    };
    let report = replay_inputs(session, inputs, simulated, left_out, own);
    report.inputs.check_bodies().map_err(|error| Failure::unreadable(error.to_string()))?;
    let config = config::load(&invocation.env).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(ReplayReport { shared_rules, firing_limits: config.too_often, ..report })
}

/// Replays a session as `clawscope replay --set …` does without `--policy` and `--ruleset`. `inputs` are read for the
/// policies of `policies` and perhaps more.
pub(super) fn replay_changes(
    session: &LoadedSession,
    inputs: &ReplayInputs,
    changes: &[SettingChange],
    policies: PolicySet,
) -> ReplayReport {
    let left_out = left_out_policies(inputs.contradicted_policies, changes);
    let simulated = simulate_settings(session, changes, policies);
    replay_inputs(session.clone(), inputs.clone(), simulated, left_out, None)
}

fn replay_inputs(
    session: LoadedSession,
    mut inputs: ReplayInputs,
    mut simulated: SimulatedSettings,
    left_out: PolicySet,
    own: Option<Box<(LoadedSession, ReplayInputs)>>,
) -> ReplayReport {
    simulated.policies.enabled = simulated.policies.enabled.without(left_out);
    let session = LoadedSession { window: simulated.window, ..session };
    let other = simulated.replay_settings();
    let replay = match &own {
        Some(own) => inputs.replay_beside(own, &session, &other),
        None => inputs.replay(&session, &other),
    };
    ReplayReport {
        policy_log: firing_log(&replay, inputs.provider_window),
        firing_limits: FiringLimits::default(),
        writer_ruleset: own.map(|own| own.0.ruleset),
        shared_rules: None,
        session,
        simulated,
        inputs,
        replay,
    }
}

pub(super) fn read_inputs(session: &LoadedSession, policies: PolicySet) -> Result<ReplayInputs, Failure> {
    ReplayInputs::read(session, policies).map_err(|error| Failure::unreadable(error.to_string()))
}

/// Loads the session under the version that wrote it, if `--ruleset` names another one: the replay then compares the
/// upgrade with the recorded run. Returns `Err(None)` for pi and for an unchanged ruleset, and `Err` with a reason if
/// the comparison is impossible.
fn load_under_writer_ruleset(
    name: &str,
    leaf: Option<&str>,
    session: &LoadedSession,
    place: &StoreArgs,
    invocation: &Invocation,
) -> Result<WriterSession, Failure> {
    let place = StoreArgs { ruleset: None, ..place.clone() };
    let workspace = Workspace::for_session(name, &place, invocation)?;
    let own = require_context(at_leaf(&workspace, workspace.open_item(&session.item)?, leaf)?)?;
    let (own_rules, rules) = (own.ruleset.id, session.ruleset.id);
    let unknown = own.ruleset.is_guess() && !rules.is_pi();
    if unknown || own_rules == rules || own_rules.is_pi() || rules.is_pi() {
        return Ok(Err(unknown.then_some(SharedRules::WriterUnknown)));
    }
    if own.context.path != session.context.path {
        return Ok(Err(Some(SharedRules::OtherPath)));
    }
    let inputs = read_inputs(&own, own.gateway_policies())?;
    Ok(Ok(Box::new((own, inputs))))
}
