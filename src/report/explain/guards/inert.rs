//! The finding about a configured pruner that one gate kept from preventing the overflow.

use crate::report::explain::finding::{Confidence, FindingClass, Found};
use crate::report::explain::guards::guard_report::{GuardKind, GuardReport};

/// A single gate of a configured pruner kept calls from fitting.
#[derive(Debug, Clone, PartialEq)]
pub struct PruningInert {
    /// The pruner with the gates that make every call fit; never without one.
    pub guard: GuardReport,
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
