//! Pruning that is configured and never runs, with the gate that stayed shut.

use crate::explain::by_hand::{self, ByHand};
use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::gates;
use crate::explain::simulate::open_plan;
use crate::explain::words::{about, count};
use crate::inspect::words::{dollars, span};
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
    let gap = case.longest_gap();
    let best = matches!(gate, Gate::Warm { .. }).then(|| by_hand::best(case, limit)).flatten();
    let confidence = if case.failure.is_some() { Confidence::Likely } else { Confidence::Possible };
    let calls = Evidence::new(match gap {
        Some((gap, _)) => {
            format!("{}, longest idle gap {}", count(case.calls.len(), "counted call"), span(gap))
        }
        None => count(case.calls.len(), "counted call"),
    });
    let touches = Evidence::new(count(case.touches.len(), "cache-ttl marker"));
    let finding = Finding::new(Class::PruningInert, confidence, line(case, gate, freed, best)?)
        .by(gates::rule(gate))
        .seen(calls.at(gap.map(|(_, entry)| entry)).by("pruning 4.2"))
        .seen(touches.at(case.touches.last().map(|(entry, _)| *entry)).by("pruning 4.3"))
        .number("freed", freed as f64)
        .number("touches", case.touches.len() as f64)
        .number("turns", case.asked().len() as f64)
        .number("longestGapMs", gap.map_or(f64::NAN, |(gap, _)| gap));
    Some(match best {
        Some(best) => with_cut(finding, &best),
        None => finding,
    })
}

/// The verdict: the gate as it was, or that no run ever came late enough.
fn line(case: &Case<'_>, gate: Gate, freed: u64, best: Option<ByHand>) -> Option<String> {
    let Gate::Warm { ttl_ms, .. } = gate else {
        let phrase = gates::phrase(case, gate)?;
        return Some(format!(
            "contextPruning is configured but never ran: {phrase}; it would have freed {}",
            about(freed)
        ));
    };
    Some(format!(
        "No gap >= ttl {} in {}: cache-ttl pruning cannot fire; longest idle gap = {}; it would have freed {}{}",
        span(ttl_ms),
        count(case.asked().len(), "turn"),
        case.longest_gap().map_or_else(|| "-".to_owned(), |(gap, _)| span(gap)),
        about(freed),
        best.map(|best| format!("; {}", best.words())).unwrap_or_default(),
    ))
}

/// What a cut by hand would have come to.
fn with_cut(finding: Finding, best: &ByHand) -> Finding {
    let text = format!(
        "cutting by hand at turn {} frees {} tokens: {} more for the next call, as the cache is written again, and {} less for each call behind it",
        best.turn,
        about(best.freed),
        dollars(best.dearer),
        dollars(best.saves),
    );
    finding
        .seen(Evidence::new(text).at([best.entry]).by("compaction 10.11"))
        .number("turn", best.turn as f64)
        .number("breakEvenCalls", best.calls as f64)
}

/// Whether a session that fits is so large, and ran so often, that pruning should have.
fn is_worth_it(case: &Case<'_>) -> bool {
    let (share, runs) = AT_REST;
    let large = case.prompt().0 as f64 >= share * case.window() as f64;
    large && case.touches.len().max(case.asked().len()) >= runs
}
