//! The finding about a configured pruner that one gate kept from preventing the overflow.

use crate::policy::prune::Gate;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::{Confidence, FindingClass, Found};
use crate::report::explain::guards::gates::gate_rule;
use crate::report::explain::guards::guard_report::{GuardKind, GuardReport, GuardState};
use crate::report::explain::guards::reason::GuardReason;
use crate::units::Moment;

/// A single gate of a configured pruner kept calls from fitting.
#[derive(Debug, Clone, PartialEq)]
pub struct PruningInert {
    /// The pruner with the gates that make every call fit; none if nothing overflowed.
    pub guard: GuardReport,
}

/// Returns configured pruning whose gate no pause will ever open, for a session without an overflow.
pub(in crate::report::explain) fn find_closed_pruning(
    case: &OverflowCase<'_>,
) -> Option<Found<PruningInert>> {
    let session = case.session;
    if !session.pruning_configured {
        return None;
    }
    let gate = session.gate(true, &session.configured_settings.prune, Moment::ZERO);
    if !matches!(gate, Gate::NoPruner | Gate::NotEligible) {
        return None;
    }
    let release = session.ruleset.id.display_name();
    let provider = Some(session.provider.clone());
    let reason = GuardReason::ClosedGate { gate, release, provider };
    let mut guard = GuardReport::new(GuardKind::Pruning, GuardState::Blocked, reason);
    guard.rule = gate_rule(gate);
    let found = Found::new(FindingClass::PruningInert, Confidence::Sure, PruningInert { guard });
    Some(found.with_rule(gate_rule(gate)))
}

/// Returns the finding if opening one gate makes every call fit.
pub(in crate::report::explain) fn find_pruning_inert(guards: &[GuardReport]) -> Option<Found<PruningInert>> {
    let guard =
        guards.iter().find(|guard| guard.kind == GuardKind::Pruning && !guard.opening_keys.is_empty())?;
    Some(
        Found::new(FindingClass::PruningInert, Confidence::Sure, PruningInert { guard: guard.clone() })
            .with_rule(guard.rule)
            .with_prevents_overflow(true),
    )
}
