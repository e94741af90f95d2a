//! The guards before the failing call, and why each did not prevent the overflow. One row per guard, in the gateway's
//! order.

mod compaction;
mod gates;

use crate::gateway::ruleset::Guard as ContextGuard;
use crate::ids::EntryIx;
use crate::policy::prune::Gate;
use crate::replay::CallReplay;
use crate::report::explain::case::Case;
use crate::report::explain::failure::Failure;
use crate::report::explain::format::{format_count, format_estimate};

pub(super) use gates::{GateResult, try_gates};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardKind {
    /// The limit of turns.
    History,
    /// Pruning of old tool results.
    Pruning,
    /// The check for large results before every call.
    Context,
    /// Compaction above its trigger.
    Compaction,
    /// Compaction after the refusal.
    Recovery,
}

impl GuardKind {
    /// The name on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::History => "history limit",
            Self::Pruning => "pruning",
            Self::Context => "context guard",
            Self::Compaction => "compaction",
            Self::Recovery => "recovery",
        }
    }
}

/// The outcome of a guard at the failing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardState {
    /// It acted, but freed too little.
    Acted,
    /// Its threshold was not reached.
    NotDue,
    /// A gate, a setting or an unrecognised error kept it from acting.
    Blocked,
    /// It ran and found nothing to free.
    FreedNothing,
    /// It was due, but no compaction followed.
    Failed,
    /// It is not configured.
    NotSet,
}

impl GuardState {
    /// The words on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::NotDue => "not due",
            Self::Blocked => "blocked",
            Self::FreedNothing => "freed nothing",
            Self::Failed => "failed",
            Self::NotSet => "not set",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct GuardReport {
    pub kind: GuardKind,
    pub state: GuardState,
    /// The reason, in a few words.
    pub why: String,
    /// Tokens below its threshold.
    pub missing_tokens: Option<u64>,
    /// Keys of the gates that make every call fit when opened alone.
    pub opening_keys: Vec<&'static str>,
    /// The rule that kept it from acting.
    pub rule: &'static str,
    /// The entry that shows it.
    pub entry: Option<EntryIx>,
}

impl GuardReport {
    fn new(kind: GuardKind, state: GuardState, why: impl Into<String>) -> Self {
        Self {
            kind,
            state,
            why: why.into(),
            missing_tokens: None,
            opening_keys: Vec::new(),
            rule: "",
            entry: None,
        }
    }

    fn with_missing_tokens(self, tokens: f64) -> Self {
        Self { missing_tokens: Some(tokens.max(0.0) as u64), ..self }
    }

    fn with_entry(self, entry: impl Into<Option<EntryIx>>) -> Self {
        Self { entry: entry.into(), ..self }
    }
}

/// Reports every guard of the release, in its state at the failing call.
pub(super) fn report_guards(case: &Case<'_>, failure: &Failure, opened: &[GateResult]) -> Vec<GuardReport> {
    let sent = case.replays.as_ref().and_then(|rehearsal| rehearsal.recorded_call(failure.overflow.entry));
    let mut guards = vec![history_guard(failure, sent), pruning_guard(case, failure, sent, opened)];
    guards.extend(context_guard(failure, sent));
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
            let why = format!("left out {}", format_count(history.cleared as usize, "message"));
            GuardReport::new(GuardKind::History, GuardState::Acted, why)
        }
        None => GuardReport::new(
            GuardKind::History,
            GuardState::NotDue,
            format!("limit {limit} turns, fewer were sent"),
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
    let freed = sent.map_or(0.0, |sent| sent.pruned.tokens);
    let flipping: Vec<&'static str> =
        opened.iter().filter(|opened| opened.fits_all).map(|opened| opened.key).collect();
    let guard = match gate {
        Gate::Open { .. } if freed > 0.0 => {
            new(GuardState::Acted, format!("freed {}", format_estimate(freed as u64)))
        }
        Gate::Open { .. } => match flipping.first() {
            Some(key) => new(
                GuardState::Blocked,
                format!("{key} {} shields the results", gates::current_value(failure, key)),
            ),
            None => new(GuardState::FreedNothing, "nothing it may prune is there".to_owned()),
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

fn context_guard(failure: &Failure, sent: Option<&CallReplay>) -> Option<GuardReport> {
    let rules = failure.session.ruleset.id.rules();
    if rules.guard == ContextGuard::None {
        return None;
    }
    let freed = sent.map_or(0.0, |sent| sent.guarded.tokens);
    if freed > 0.0 {
        return Some(GuardReport::new(
            GuardKind::Context,
            GuardState::Acted,
            format!("freed {}", format_estimate(freed as u64)),
        ));
    }
    let share = failure.session.configured_settings.guard.budget_share;
    let budget = share * failure.believed_window.gateway.model_tokens;
    let estimate = failure.gateway_estimate().saturating_sub(failure.session.fixed_tokens()) as f64;
    let why = format!("acts above {} of messages by its estimate", format_estimate(budget as u64));
    Some(if estimate <= budget {
        GuardReport::new(GuardKind::Context, GuardState::NotDue, why).with_missing_tokens(budget - estimate)
    } else {
        GuardReport::new(GuardKind::Context, GuardState::FreedNothing, "no result was large enough to cut")
    })
}
