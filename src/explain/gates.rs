//! What the pruner's gate said at the calls of a session (pruning 3.7, 4.2).

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::simulate::gate_then;
use crate::inspect::Inspection;
use crate::inspect::words::span;
use crate::policy::prune::Gate;

/// The gate at the call that failed, under the configured settings.
pub(super) fn at_failure(failure: &Failure) -> Gate {
    gate_then(failure, failure.then.configured_on, &failure.then.configured.prune, failure.then.last_touch)
}

/// The gate at the last counted call.
pub(super) fn at_last_call(case: &Case<'_>) -> Gate {
    let inspection = case.inspection;
    let Some(last) = case.calls.last() else {
        return inspection.gate(inspection.configured_on, &inspection.configured.prune, f64::NEG_INFINITY);
    };
    let touch = case.touches.iter().rev().find(|(entry, _)| *entry < last.entry).map(|(_, at)| *at);
    let then = Inspection { last_touch: touch, ..inspection.clone() };
    then.gate(inspection.configured_on, &inspection.configured.prune, last.at)
}

/// Whether any call of the path came after the ttl had passed.
pub(super) fn ever_open(case: &Case<'_>) -> bool {
    let ttl = case.inspection.configured.prune.ttl_ms;
    let mut touches = case.touches.iter().peekable();
    let mut touch = None;
    case.calls.iter().any(|call| {
        while let Some((_, at)) = touches.next_if(|(entry, _)| *entry < call.entry) {
            touch = Some(*at);
        }
        ttl > 0.0 && touch.is_some_and(|touch| call.at - touch >= ttl)
    })
}

/// The gate in words, where it is shut and pruning is configured.
pub(super) fn phrase(case: &Case<'_>, gate: Gate) -> Option<String> {
    let provider = &case.inspection.provider;
    Some(match gate {
        Gate::Open { .. } | Gate::Off => return None,
        Gate::NoPruner => "this version never prunes".to_owned(),
        Gate::NotEligible => {
            format!("{} cache-ttl markers, provider {provider} is not eligible", case.touches.len())
        }
        Gate::NeverTouched => "no cache-ttl marker was ever written, so the gate cannot open".to_owned(),
        Gate::NoTtl => "its ttl is 0, which switches it off".to_owned(),
        Gate::Warm { idle_ms, ttl_ms } => {
            let idle = if idle_ms > 0.0 { span(idle_ms) } else { "no time".to_owned() };
            if ever_open(case) {
                format!("the pruning gate was shut, {idle} of the ttl of {} had passed", span(ttl_ms))
            } else {
                format!("no gap >= ttl {} ever let pruning run ({idle} had passed)", span(ttl_ms))
            }
        }
    })
}

/// The rule that shuts it.
pub(super) fn rule(gate: Gate) -> &'static str {
    match gate {
        Gate::Off => "pruning 3.3",
        Gate::NoPruner => "pruning 8",
        Gate::NotEligible => "pruning 3.6",
        Gate::NeverTouched => "pruning 4.3",
        Gate::Open { .. } | Gate::NoTtl | Gate::Warm { .. } => "pruning 4.2",
    }
}
