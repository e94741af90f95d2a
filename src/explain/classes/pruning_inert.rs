//! Pruning that is configured and never runs, with the gate that stayed shut.

use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::gates;
use crate::explain::simulate::open_plan;
use crate::explain::words::{about, count};
use crate::inspect::words::span;
use crate::policy::prune::Gate;

/// Share of what fits that pruning must have freed to matter.
const LEAST_FREED: f64 = 0.05;
/// Share of the window from which that is worth a word without an overflow, and runs after which it never ran.
const AT_REST: (f64, usize) = (0.6, 8);

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    if !case.inspection.configured_on {
        return None;
    }
    let (gate, then, limit) = match &case.failure {
        Some(failure) => (gates::at_failure(failure), &failure.then, failure.limit),
        None if is_worth_it(case) => (gates::at_last_call(case), case.inspection, case.window()),
        None => return None,
    };
    if gate.is_open() {
        return None;
    }
    // What the gate was is only of interest where it never let anything through.
    if matches!(gate, Gate::Warm { .. }) && gates::ever_open(case) {
        return None;
    }
    let plan = open_plan(then, &then.configured.prune)?;
    let freed = then.budget().total().saturating_sub(then.budget_after(&plan).total());
    if (freed as f64) < LEAST_FREED * limit as f64 {
        return None;
    }
    let phrase = gates::phrase(case, gate)?;
    let line =
        format!("contextPruning is configured but never ran: {phrase}; it would have freed {}", about(freed));
    let confidence = if case.failure.is_some() { Confidence::Likely } else { Confidence::Possible };
    let gap = case.longest_gap();
    let calls = Evidence::new(match gap {
        Some((gap, _)) => {
            format!("{}, longest idle gap {}", count(case.calls.len(), "counted call"), span(gap))
        }
        None => count(case.calls.len(), "counted call"),
    });
    let touches = Evidence::new(count(case.touches.len(), "cache-ttl marker"));
    Some(
        Finding::new(Class::PruningInert, confidence, line)
            .by(gates::rule(gate))
            .seen(calls.at(gap.map(|(_, entry)| entry)).by("pruning 4.2"))
            .seen(touches.at(case.touches.last().map(|(entry, _)| *entry)).by("pruning 4.3"))
            .number("freed", freed as f64)
            .number("touches", case.touches.len() as f64)
            .number("longestGapMs", gap.map_or(f64::NAN, |(gap, _)| gap)),
    )
}

/// Whether a session that fits is so large, and ran so often, that pruning should have.
fn is_worth_it(case: &Case<'_>) -> bool {
    let (share, runs) = AT_REST;
    let large = case.prompt().0 as f64 >= share * case.window() as f64;
    large && case.touches.len().max(case.asked().len()) >= runs
}
