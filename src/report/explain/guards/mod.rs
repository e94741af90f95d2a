//! The guards before the failing call, and why each did not prevent the overflow. One row per guard, in the gateway's
//! order.

mod compaction;
mod gates;
mod guard_report;

use crate::format::{format_short_estimate, quantity};
use crate::policy::Policy;
use crate::policy::guard::GuardLimits;
use crate::policy::prune::Gate;
use crate::replay::CallReplay;
use crate::report::explain::case::Case;
use crate::report::explain::failure::Failure;
use crate::units::Tokens;

pub(super) use gates::{GateResult, try_gates};
pub use guard_report::{GuardKind, GuardReport, GuardState};

/// The guard's chars per token (pruning 6.30).
const GUARD_CHARS_PER_TOKEN: f64 = 4.0;
/// Times that the guard counts the chars of a result (pruning 6.32).
const RESULT_WEIGHT: f64 = 2.0;

/// Reports every guard of the release, in its state at the failing call.
pub(super) fn report_guards(case: &Case<'_>, failure: &Failure, opened: &[GateResult]) -> Vec<GuardReport> {
    let sent = case.replays.as_ref().and_then(|runner| runner.recorded_call(failure.overflow.entry));
    let mut guards = vec![history_guard(failure, sent), pruning_guard(case, failure, sent, opened)];
    guards.extend(context_guard(case, failure, sent));
    guards.push(compaction::threshold_guard(case, failure));
    guards.push(compaction::recovery_guard(case, failure));
    guards
}

fn history_guard(failure: &Failure, sent: Option<&CallReplay>) -> GuardReport {
    let limit = failure.session.configured_settings.history_limit;
    if limit <= 0.0 {
        return GuardReport::new(GuardKind::History, GuardState::NotSet, "no historyLimit for this session");
    }
    match sent.map(|sent| sent.history_trim).filter(|history| history.cleared > 0) {
        Some(history) => {
            let why = format!("dropped {}", quantity(history.cleared as usize, "message"));
            GuardReport::new(GuardKind::History, GuardState::Acted, why)
        }
        None => GuardReport::new(
            GuardKind::History,
            GuardState::NotDue,
            format!("the call sent fewer than {limit} turns"),
        ),
    }
}

fn pruning_guard(
    case: &Case<'_>,
    failure: &Failure,
    sent: Option<&CallReplay>,
    opened: &[GateResult],
) -> GuardReport {
    let new = |state, why: String| GuardReport::new(GuardKind::Pruning, state, why);
    if !failure.session.pruning_configured {
        return new(GuardState::NotSet, "contextPruning.mode is off".to_owned());
    }
    let gate = sent.map_or(Gate::NeverTouched, |sent| sent.gate);
    let freed = sent.map_or(0.0, |sent| sent.pruned.tokens.get());
    let flipping: Vec<&'static str> =
        opened.iter().filter(|opened| opened.fits_all).map(|opened| opened.key).collect();
    let guard = match gate {
        Gate::Open { .. } if freed > 0.0 => {
            new(GuardState::Acted, format!("freed {}", format_short_estimate(freed as u64)))
        }
        Gate::Open { .. } => match flipping.first() {
            Some(key) => new(
                GuardState::Blocked,
                format!("{key} {} keeps the results", gates::current_value(failure, key)),
            ),
            None => new(GuardState::FreedNothing, "there was nothing to prune".to_owned()),
        },
        gate => new(GuardState::Blocked, gates::why_shut(case, failure, gate)),
    };
    let touch = case.touches.iter().rev().find(|(entry, _)| *entry < failure.overflow.entry);
    GuardReport {
        opening_keys: flipping,
        rule: gates::gate_rule(gate),
        ..guard.with_entry(touch.map(|(entry, _)| *entry))
    }
}

fn context_guard(case: &Case<'_>, failure: &Failure, sent: Option<&CallReplay>) -> Option<GuardReport> {
    let new = |state, why: String| GuardReport::new(GuardKind::Context, state, why);
    let session = &failure.session;
    let window = failure.believed_window.gateway.model_tokens;
    let limits = GuardLimits::under(session.ruleset.id.rules(), window, &session.configured_settings.guard)?;
    let freed = sent.map_or(0.0, |sent| sent.guarded.tokens.get());
    if freed > 0.0 {
        return Some(new(GuardState::Acted, format!("freed {}", format_short_estimate(freed as u64))));
    }
    if case.replays.as_ref().is_some_and(|runner| runner.contradicts(Policy::Guard)) {
        let why = "due by its rule, but the provider's counts show no effect";
        return Some(new(GuardState::FreedNothing, why.to_owned()));
    }
    let tokens = |chars: f64| Tokens(chars / GUARD_CHARS_PER_TOKEN);
    if limits.budget.is_infinite() {
        let single = format_short_estimate(tokens(limits.single / RESULT_WEIGHT).whole());
        return Some(new(GuardState::NotDue, format!("acts on a single result above {single} tokens")));
    }
    let budget = tokens(limits.budget);
    let counted = case.replays.as_ref().and_then(|runner| runner.guard_chars(&session.context.messages));
    let why = format!(
        "acts above {} tokens of messages, by its estimate, in which results count twice",
        format_short_estimate(budget.whole())
    );
    Some(match counted.map(tokens) {
        Some(counted) if counted <= budget => {
            new(GuardState::NotDue, why).with_missing_tokens(budget - counted, true)
        }
        Some(_) => new(GuardState::FreedNothing, "no result was large enough to cut".to_owned()),
        None => new(GuardState::NotDue, why),
    })
}
