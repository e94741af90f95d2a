//! Pruning that would have run, and how much harder it would have had to cut.

use crate::explain::advice::{Advice, Change, change, settings_under};
use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::simulate::{last_check, pruned};
use crate::gateway::pruning::PruneSettings;
use crate::js::Value;
use crate::policy::prune::Gate;

/// Spans that people set, ms, the longest first.
const TTLS: [f64; 8] = [
    6.0 * 3_600_000.0,
    2.0 * 3_600_000.0,
    3_600_000.0,
    1_800_000.0,
    900_000.0,
    600_000.0,
    300_000.0,
    60_000.0,
];

/// How much harder to cut, tried in turn until the call fits.
const HARDER: [&[(&str, f64)]; 4] = [
    &[],
    &[("contextPruning.hardClearRatio", 0.3)],
    &[("contextPruning.keepLastAssistants", 1.0)],
    &[("contextPruning.hardClearRatio", 0.0), ("contextPruning.keepLastAssistants", 1.0)],
];

/// Pruning of the failing call: the change that opens its gate, alone and with harder cuts until it fits. A gate that no
/// setting opens leaves nothing to advise.
pub(super) fn advice(case: &Case<'_>, failure: &Failure) -> Vec<Advice> {
    let Some(opened) = opened(case, failure) else { return Vec::new() };
    let mut tried: Vec<Advice> = Vec::new();
    for harder in HARDER {
        let mut changes = opened.changes.clone();
        let added: Vec<Option<Change>> =
            harder.iter().map(|(key, value)| change(&failure.then, key, &Value::from(*value))).collect();
        if added.iter().any(Option::is_none) {
            continue;
        }
        changes.extend(added.into_iter().flatten().filter(|change| change.was != change.now));
        // Nothing is changed, or no more than what was tried.
        if changes.is_empty() || tried.iter().any(|known| known.changes == changes) {
            continue;
        }
        let (gate, after) =
            pruned(failure, true, &settings_under(&failure.then, &changes).prune, opened.touch);
        let advice = Advice::new(failure, changes, after, note(failure, gate, after));
        // With its gate open and nothing to cut, harder cuts find nothing either.
        let settled = advice.helps || gate.is_open() && after == failure.requested;
        tried.push(advice);
        if settled {
            break;
        }
    }
    tried.truncate(3);
    tried
}

/// What opens the gate at the failing call.
struct Opened {
    changes: Vec<Change>,
    touch: Option<f64>,
}

fn opened(case: &Case<'_>, failure: &Failure) -> Option<Opened> {
    let then = &failure.then;
    let on = then.configured_on;
    let mut changes = Vec::new();
    let mut touch = then.last_touch;
    if !on {
        changes.push(change(then, "contextPruning.mode", &Value::from("cache-ttl"))?);
        // Runs under it would have left a touch at their end (pruning 4.4).
        touch = last_check(failure, &case.calls).map(|check| check.at);
    }
    let gate = |prune: &PruneSettings| pruned(failure, true, prune, touch).0;
    match gate(&then.configured.prune) {
        Gate::Open { .. } => Some(Opened { changes, touch }),
        Gate::Warm { ttl_ms, .. } => {
            let opens = |ttl: &f64| {
                let prune = PruneSettings { ttl_ms: *ttl, ..then.configured.prune.clone() };
                *ttl < ttl_ms && gate(&prune).is_open()
            };
            let ttl = TTLS.into_iter().find(opens)?;
            changes.push(change(then, "contextPruning.ttl", &Value::from(ttl))?);
            Some(Opened { changes, touch })
        }
        _ => None,
    }
}

fn note(failure: &Failure, gate: Gate, after: u64) -> String {
    match gate {
        Gate::Open { .. } if after == failure.requested => "nothing that may be pruned is there".to_owned(),
        Gate::Open { .. } if !failure.fits(after) => "what it reaches is too little".to_owned(),
        Gate::Open { .. } => "the cache is written again from the first cleared result on".to_owned(),
        _ => "the gate stays shut".to_owned(),
    }
}
