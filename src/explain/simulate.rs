//! The failing call under other settings: what each step would have freed, weighed by the provider's own count.

use std::sync::Arc;

use crate::context::build;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::explain::calls::Call;
use crate::explain::failure::Failure;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Compaction;
use crate::ids::EntryIx;
use crate::inspect::{Closer, Inspection};
use crate::plan::{Asked, Plan};
use crate::policy::prune::{Gate, gate_under};
use crate::policy::{Step, StepSet, StepSettings};
use crate::store::entry::Role;
use crate::transcript::Leaf;

/// What pruning would do if its gate were open; none where the runtime fails on a message.
pub(super) fn open_plan(inspection: &Inspection, settings: &PruneSettings) -> Option<Plan> {
    plan(inspection, settings, Gate::Open { idle_ms: settings.ttl_ms })
}

fn plan(inspection: &Inspection, prune: &PruneSettings, gate: Gate) -> Option<Plan> {
    let settings = StepSettings {
        prune: prune.clone(),
        steps: StepSet::of(&[Step::Prune]),
        ..inspection.configured.clone()
    };
    inspection.plan(&settings, gate).ok()
}

/// The gate at the failing call. A pruning earlier in the same run moves the touch in memory (pruning 4.6), so the calls
/// of the run are followed in turn.
pub(super) fn gate_then(failure: &Failure, on: bool, settings: &PruneSettings, touch: Option<f64>) -> Gate {
    let then = &failure.then;
    let rules = then.ruleset.ruleset.rules();
    let eligible = crate::gateway::eligible::eligible_under(rules, &then.provider, &then.model, &then.route);
    let gate = |touch: Option<f64>, at: f64| gate_under(rules, on.then_some(settings), eligible, touch, at);
    let mut touch = touch;
    let run = if failure.ahead { Vec::new() } else { calls_of_run(then) };
    for at in run {
        if gate(touch, at).is_open() {
            touch = Some(at);
        }
    }
    gate(touch, time_of_call(failure))
}

/// When the failing call was made: as what it answers was written. The next one is made now.
fn time_of_call(failure: &Failure) -> f64 {
    if failure.ahead {
        return failure.overflow.at;
    }
    let leaf = failure.then.context.leaf.map(|ix| failure.then.index.entry(ix).time);
    leaf.filter(|at| at.is_finite()).unwrap_or(failure.overflow.at)
}

/// When the calls of the last run were made that were answered, ms: as what each answers was written.
fn calls_of_run(then: &Inspection) -> Vec<f64> {
    let index = &then.index;
    let path = &then.context.path;
    let role = |ix: EntryIx| index.entry(ix).role();
    let asked = path.iter().rposition(|ix| role(*ix) == Some(Role::User)).unwrap_or(0);
    let answers = (asked + 1..path.len()).filter(|at| role(path[*at]) == Some(Role::Assistant));
    answers.map(|at| index.entry(path[at - 1]).time).collect()
}

/// Pruning at the failing call: the gate, and the tokens of the prompt where it is open.
pub(super) fn pruned(
    failure: &Failure,
    on: bool,
    settings: &PruneSettings,
    touch: Option<f64>,
) -> (Gate, u64) {
    let gate = gate_then(failure, on, settings, touch);
    let after = plan(&failure.then, settings, gate).map(|plan| tokens_after(failure, &plan));
    (gate, after.unwrap_or(failure.requested))
}

/// The prompt with only so many user turns (pruning 2). What a run is asked with comes behind the history that is limited.
pub(super) fn limited(failure: &Failure, turns: f64) -> u64 {
    let settings = StepSettings {
        history_limit: turns + if failure.ahead { 0.0 } else { 1.0 },
        steps: StepSet::of(&[Step::History]),
        ..failure.then.configured.clone()
    };
    let plan = failure.then.plan(&settings, Gate::Off).ok();
    plan.map_or(failure.requested, |plan| tokens_after(failure, &plan))
}

/// Tokens of the prompt under a plan of the failing context.
fn tokens_after(failure: &Failure, plan: &Plan) -> u64 {
    let pairs = plan.tokens_before.iter().zip(&plan.tokens_after).enumerate();
    let freed: f64 =
        pairs.map(|(at, (before, after))| failure.scaled(at, *before) - failure.scaled(at, *after)).sum();
    (failure.requested as f64 - freed + plan.tokens_made as f64).max(0.0) as u64
}

/// The last moment before the failing call at which the runtime looked whether to compact: before its run (compaction 2.9), or
/// right before the call where the runtime looks between the turns of a run too (store-pi-1.5 F2).
#[derive(Debug, Clone)]
pub(super) struct Check {
    /// The answer it looked at.
    pub entry: EntryIx,
    /// Tokens that it compared (compaction 2.11).
    pub tokens: f64,
    /// When, ms.
    pub at: f64,
}

/// That moment; none in a session's first run. Of the next call it is the last answer.
pub(super) fn last_check(failure: &Failure, calls: &[Call]) -> Option<Check> {
    let index = &failure.then.index;
    if looks_between_turns(&failure.then) && !failure.ahead {
        return check_before_call(failure, calls);
    }
    let mut path = failure.then.context.path.iter().rev();
    let asked = path.find(|ix| !failure.ahead && index.entry(**ix).role() == Some(Role::User));
    if asked.is_none() && !failure.ahead {
        return None;
    }
    let compacted = failure.then.context.compaction;
    let call = calls.iter().rev().find(|call| asked.is_none_or(|asked| call.entry < *asked))?;
    let tokens = call.context_tokens;
    let fresh = compacted.is_none_or(|compacted| compacted < call.entry) && tokens.is_finite();
    fresh.then_some(Check { entry: call.entry, tokens, at: call.at })
}

/// Whether the runtime looks at its window before every call.
pub(super) fn looks_between_turns(inspection: &Inspection) -> bool {
    inspection.ruleset.ruleset.rules().compaction == Compaction::Projected
}

/// What today's pi compared right before the failing call: the last count and chars / 4 of what came since (store-pi-1.5 E5).
fn check_before_call(failure: &Failure, calls: &[Call]) -> Option<Check> {
    let (index, context) = (&failure.then.index, &failure.then.context);
    let entry = context.path.last().copied()?;
    let compacted = context.compaction;
    let fresh = |call: &&Call| {
        call.entry < failure.overflow.entry
            && compacted.is_none_or(|compacted| compacted < call.entry)
            && call.context_tokens.is_finite()
    };
    let call = calls.iter().rev().find(fresh)?;
    let since = context.messages.iter().filter(|message| message.entry > call.entry);
    let tokens =
        call.context_tokens + since.map(|message| estimate_or_zero(&message.size) as f64).sum::<f64>();
    Some(Check { entry, tokens, at: index.entry(entry).time })
}

/// The prompt, had the session been compacted at a check; none where nothing is there to summarise.
pub(super) fn compacted(failure: &Failure, check: &Check, keep: f64) -> Option<u64> {
    let then = &failure.then;
    let index = &then.index;
    let leaf = Leaf::Id(index.entry(check.entry).id.map(|id| index.ids.text(id).to_owned())?);
    let context = build(index, &then.tree, &leaf).ok()?;
    let closer = Closer::read(&then.source, index, &context, then.ruleset.ruleset.rules()).ok()?;
    let mut settings = StepSettings { steps: StepSet::of(&[Step::Compact]), ..then.configured.clone() };
    settings.compaction.keep_recent_tokens = keep;
    let at_check = Inspection { context: Arc::new(context), leaf, ..then.clone() };
    let plan = Plan::new(&Asked {
        index,
        context: &at_check.context,
        branch: Some(closer.compacting()),
        textures: None,
        remembered: None,
        settings: &settings,
        window: at_check.window.tokens,
        guard_window: at_check.window.own,
        gate: Gate::Off,
    })
    .ok()?;
    plan.compaction?;
    Some(tokens_after(failure, &plan))
}
