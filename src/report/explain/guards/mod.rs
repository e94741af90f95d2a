//! The guards before the failing call, and why each did not prevent the overflow. One row per guard, in the gateway's
//! order.

mod compaction;
mod gates;
mod guard_report;
mod inert;
mod reason;

use crate::policy::Policy;
use crate::policy::guard::GuardLimits;
use crate::policy::prune::Gate;
use crate::replay::CallReplay;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::units::Chars;

pub(super) use gates::{GateResult, try_gates};
pub use guard_report::{GuardKind, GuardReport, GuardState};
pub use inert::PruningInert;
pub(super) use inert::{find_closed_pruning, find_pruning_inert};
pub use reason::{Comparison, GuardReason};

/// The guard's chars per token (pruning 6.30).
const GUARD_CHARS_PER_TOKEN: f64 = 4.0;
/// Times that the guard counts the chars of a result (pruning 6.32).
const RESULT_WEIGHT: f64 = 2.0;

/// Reports every guard of the release, in its state at the failing call.
pub(super) fn report_guards(
    case: &OverflowCase<'_>,
    failure: &Failure,
    opened: &[GateResult],
) -> Vec<GuardReport> {
    let sent = case.replays.as_ref().and_then(|runner| runner.recorded_call(failure.overflow.entry));
    let mut guards = vec![history_guard(failure, sent), pruning_guard(case, failure, sent, opened)];
    guards.extend(context_guard(case, failure, sent));
    guards.push(compaction::threshold_guard(case, failure));
    if !failure.overflow.is_truncated() {
        guards.push(compaction::recovery_guard(case, failure));
    }
    guards
}

fn history_guard(failure: &Failure, sent: Option<&CallReplay>) -> GuardReport {
    let new = |state, reason| GuardReport::new(GuardKind::History, state, reason);
    let limit = failure.session.configured_settings.history_limit;
    if limit <= 0.0 {
        return new(GuardState::NotSet, GuardReason::NoHistoryLimit);
    }
    match sent.map(|sent| sent.history_trim).filter(|history| history.cleared > 0) {
        Some(history) => new(GuardState::Acted, GuardReason::DroppedMessages(history.cleared as usize)),
        None => new(GuardState::NotDue, GuardReason::FewerTurns { limit }),
    }
}

fn pruning_guard(
    case: &OverflowCase<'_>,
    failure: &Failure,
    sent: Option<&CallReplay>,
    opened: &[GateResult],
) -> GuardReport {
    let new = |state, reason| GuardReport::new(GuardKind::Pruning, state, reason);
    if !failure.session.pruning_configured {
        return new(GuardState::NotSet, GuardReason::PruningOff);
    }
    let gate = sent.map_or(Gate::NeverTouched, |sent| sent.gate);
    let freed = sent.map_or(0.0, |sent| sent.pruned.tokens.get());
    let flipping: Vec<&'static str> =
        opened.iter().filter(|opened| opened.fits_all).map(|opened| opened.key).collect();
    let guard = match gate {
        Gate::Open { .. } if freed > 0.0 => new(GuardState::Acted, GuardReason::Freed(freed as u64)),
        Gate::Open { .. } => match flipping.first() {
            Some(key) => {
                let value = gates::current_value(failure, key);
                new(GuardState::Blocked, GuardReason::KeptByValue { key, value })
            }
            None => new(GuardState::FreedNothing, GuardReason::NothingToPrune),
        },
        gate => new(GuardState::Blocked, gates::closed_gate(case, failure, gate)),
    };
    let touch = case.touches.iter().rev().find(|(entry, _)| *entry < failure.overflow.entry);
    GuardReport {
        opening_keys: flipping,
        rule: gates::gate_rule(gate),
        ..guard.with_entry(touch.map(|(entry, _)| *entry))
    }
}

fn context_guard(
    case: &OverflowCase<'_>,
    failure: &Failure,
    sent: Option<&CallReplay>,
) -> Option<GuardReport> {
    let new = |state, reason| GuardReport::new(GuardKind::Context, state, reason);
    let session = &failure.session;
    let window = failure.believed_window.gateway.model_tokens;
    let limits = GuardLimits::under(session.ruleset.id.rules(), window, &session.configured_settings.guard)?;
    let freed = sent.map_or(0.0, |sent| sent.guarded.tokens.get());
    if freed > 0.0 {
        return Some(new(GuardState::Acted, GuardReason::Freed(freed as u64)));
    }
    let runner = case.replays.as_ref();
    if runner.is_some_and(|runner| runner.contradicts(Policy::Guard)) {
        return Some(new(GuardState::FreedNothing, GuardReason::Contradicted));
    }
    let tokens = |chars: Chars| chars.to_tokens(GUARD_CHARS_PER_TOKEN);
    if limits.budget == Chars::INFINITY {
        let single = tokens(limits.single / RESULT_WEIGHT).whole();
        return Some(new(GuardState::NotDue, GuardReason::BelowSingle(single)));
    }
    let budget = tokens(limits.budget);
    let not_due = new(GuardState::NotDue, GuardReason::BelowBudget(budget.whole()));
    Some(match runner.and_then(|runner| runner.guard_chars(&session.context.messages)).map(tokens) {
        Some(counted) if counted <= budget => not_due.with_missing_tokens(budget - counted, true),
        Some(_) => new(GuardState::FreedNothing, GuardReason::NoLargeResult),
        None => not_due,
    })
}
