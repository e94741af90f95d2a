//! Why the overflow was not prevented: one row for each guard before the failing call, in the order in which the gateway
//! asks them.

mod compaction;
mod gates;

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::words::{about, count};
use crate::gateway::ruleset::Guard as ContextGuard;
use crate::ids::EntryIx;
use crate::policy::prune::Gate;
use crate::replay::CallReplay;

pub(super) use gates::{Opened, open_each};

/// Which guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardKind {
    /// The limit of turns.
    History,
    /// Pruning of old tool results.
    Pruning,
    /// The guard of every call against large results.
    Context,
    /// Compaction above its trigger.
    Compaction,
    /// Compaction after the refusal.
    Recovery,
}

impl GuardKind {
    /// The name on screen and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::History => "history limit",
            Self::Pruning => "pruning",
            Self::Context => "context guard",
            Self::Compaction => "compaction",
            Self::Recovery => "recovery",
        }
    }
}

/// What became of a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardState {
    /// It acted, and that was not enough.
    Acted,
    /// Its threshold was not reached.
    NotDue,
    /// Something kept it from acting.
    Blocked,
    /// It ran and found nothing to free.
    FreedNothing,
    /// It was due and left nothing.
    Failed,
    /// It is not configured.
    NotSet,
}

impl GuardState {
    /// The words on screen and in JSON.
    pub fn word(self) -> &'static str {
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

/// One guard.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// Which.
    pub kind: GuardKind,
    /// What became of it.
    pub state: GuardState,
    /// Why, in a few words.
    pub why: String,
    /// Tokens that were missing to its threshold.
    pub due_by: Option<u64>,
    /// The keys of the gates of which each, opened alone, makes every call fit.
    pub opens: Vec<&'static str>,
    /// The rule that kept it from acting.
    pub rule: &'static str,
    /// Where it is seen.
    pub entry: Option<EntryIx>,
}

impl Guard {
    fn new(kind: GuardKind, state: GuardState, why: impl Into<String>) -> Self {
        Self { kind, state, why: why.into(), due_by: None, opens: Vec::new(), rule: "", entry: None }
    }

    fn due_by(self, tokens: f64) -> Self {
        Self { due_by: Some(tokens.max(0.0) as u64), ..self }
    }

    fn at(self, entry: impl Into<Option<EntryIx>>) -> Self {
        Self { entry: entry.into(), ..self }
    }
}

/// Every guard of the version, as it was at the failing call.
pub(super) fn guards(case: &Case<'_>, failure: &Failure, opened: &[Opened]) -> Vec<Guard> {
    let sent = case.rehearsal.as_ref().and_then(|rehearsal| rehearsal.recorded(failure.overflow.entry));
    let mut guards = vec![history(failure, sent), pruning(case, failure, sent, opened)];
    guards.extend(context_guard(failure, sent));
    guards.push(compaction::threshold(case, failure));
    guards.push(compaction::recovery(case, failure));
    guards
}

fn history(failure: &Failure, sent: Option<&CallReplay>) -> Guard {
    let limit = failure.then.configured.history_limit;
    if limit <= 0.0 {
        return Guard::new(GuardKind::History, GuardState::NotSet, "no historyLimit for this session");
    }
    match sent.map(|sent| sent.history).filter(|history| history.cleared > 0) {
        Some(history) => {
            let why = format!("left out {}", count(history.cleared as usize, "message"));
            Guard::new(GuardKind::History, GuardState::Acted, why)
        }
        None => Guard::new(
            GuardKind::History,
            GuardState::NotDue,
            format!("limit {limit} turns, fewer were sent"),
        ),
    }
}

fn pruning(case: &Case<'_>, failure: &Failure, sent: Option<&CallReplay>, opened: &[Opened]) -> Guard {
    let new = |state, why: String| Guard::new(GuardKind::Pruning, state, why);
    if !failure.then.configured_on {
        return new(GuardState::NotSet, "contextPruning.mode is off".to_owned());
    }
    let gate = sent.map_or(Gate::NeverTouched, |sent| sent.gate);
    let freed = sent.map_or(0.0, |sent| sent.pruned.tokens);
    let flipping: Vec<&'static str> =
        opened.iter().filter(|opened| opened.fits).map(|opened| opened.key).collect();
    let guard = match gate {
        Gate::Open { .. } if freed > 0.0 => new(GuardState::Acted, format!("freed {}", about(freed as u64))),
        Gate::Open { .. } => match flipping.first() {
            Some(key) => new(
                GuardState::Blocked,
                format!("{key} {} shields the results", gates::current(failure, key)),
            ),
            None => new(GuardState::FreedNothing, "nothing it may prune is there".to_owned()),
        },
        gate => new(GuardState::Blocked, gates::why_shut(case, failure, gate)),
    };
    let touch = case.touches.iter().rev().find(|(entry, _)| *entry < failure.overflow.entry);
    Guard { opens: flipping, rule: gates::rule(gate), ..guard.at(touch.map(|(entry, _)| *entry)) }
}

fn context_guard(failure: &Failure, sent: Option<&CallReplay>) -> Option<Guard> {
    let rules = failure.then.ruleset.ruleset.rules();
    if rules.guard == ContextGuard::None {
        return None;
    }
    let freed = sent.map_or(0.0, |sent| sent.guarded.tokens);
    if freed > 0.0 {
        return Some(Guard::new(
            GuardKind::Context,
            GuardState::Acted,
            format!("freed {}", about(freed as u64)),
        ));
    }
    let share = failure.then.configured.guard.budget_share;
    let budget = share * failure.believed.gateway.own;
    let estimate = failure.estimate().saturating_sub(failure.then.fixed_tokens()) as f64;
    let why = format!("acts above {} of messages by its estimate", about(budget as u64));
    Some(if estimate <= budget {
        Guard::new(GuardKind::Context, GuardState::NotDue, why).due_by(budget - estimate)
    } else {
        Guard::new(GuardKind::Context, GuardState::FreedNothing, "no result was large enough to cut")
    })
}
