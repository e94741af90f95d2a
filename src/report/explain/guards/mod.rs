//! The guards before the failing call, and why each did not prevent the overflow. One row per guard, in the gateway's
//! order.

mod gates;

use crate::policy::Policy;
use crate::policy::guard::GuardLimits;
use crate::policy::prune::Gate;
use crate::replay::CallReplay;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::counts::{checks_between_turns, last_check};
use crate::report::explain::failure::Failure;
use crate::store::entry::EntryKind;
use crate::units::{Chars, Tokens};

pub use gates::{Comparison, GuardKind, GuardReason, GuardReport, GuardState, PruningInert};
pub(super) use gates::{GateResult, find_closed_pruning, find_pruning_inert, try_gates};

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
    guards.push(threshold_guard(case, failure));
    if !failure.overflow.is_truncated() {
        guards.push(recovery_guard(case, failure));
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

// Compaction as a guard: above its trigger before the call, and after the refusal.

fn threshold_guard(case: &OverflowCase<'_>, failure: &Failure) -> GuardReport {
    let new = |state, reason| GuardReport::new(GuardKind::Compaction, state, reason);
    let settings = failure.session.configured_settings.compaction;
    if !settings.enabled {
        return new(GuardState::Blocked, GuardReason::CompactionOff);
    }
    let trigger = failure.session.trigger_point_for(&failure.believed_window).tokens.max(Tokens::ZERO);
    let Some(check) = last_check(failure, &case.calls) else {
        return new(GuardState::NotDue, GuardReason::NothingToCompare { trigger });
    };
    let compared = |outcome| GuardReason::Compared { tokens: check.tokens, trigger, outcome };
    if check.tokens <= trigger {
        let repeats_in_run = checks_between_turns(&failure.session);
        return new(GuardState::NotDue, compared(Comparison::Below { repeats_in_run }))
            .with_missing_tokens(trigger - check.tokens, false)
            .with_entry(check.entry);
    }
    let index = &case.session.index;
    let after = check.entry.index() + 1..failure.overflow.entry.index();
    let acted = after.clone().any(|at| index.entries[at].kind == EntryKind::Compaction);
    let (state, outcome) = if acted {
        (GuardState::Acted, Comparison::Compacted)
    } else {
        (GuardState::Failed, Comparison::NotCompacted)
    };
    new(state, compared(outcome)).with_entry(check.entry)
}

fn recovery_guard(case: &OverflowCase<'_>, failure: &Failure) -> GuardReport {
    let own = failure.overflow.entry;
    let follows = |entry| entry > own || failure.overflow.is_compaction() && entry == own;
    let done = case.compactions.iter().filter(|it| follows(it.entry)).count();
    let after = GuardReason::CompactionsAfter(done, failure.overflow.kind);
    let (state, reason) = match (failure.overflow.recognised, done) {
        (Some(false), 0) => {
            (GuardState::Blocked, GuardReason::NotRecognised { release: case.session.gateway_release() })
        }
        (_, 0) => (GuardState::Failed, after),
        (_, _) => (GuardState::Acted, after),
    };
    GuardReport::new(GuardKind::Recovery, state, reason).with_entry(failure.overflow.entry)
}
