//! The gates of pruning: each closed gate, and whether opening only it would have made every call fit.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::gateway::pruning::SoftTrim;
use crate::gateway::ruleset::Ruleset;
use crate::gateway::setting_value::Unit;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::prune::Gate;
use crate::policy::settings::PolicySetting;
use crate::replay::Settings;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, FindingClass, Found};
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::overflow::OverflowKind;
use crate::units::{Chars, Millis, Moment, Tokens};

/// A ttl shorter than any usual pause between two runs.
const SHORT_TTL_MS: Millis = Millis(60_000.0);
/// Protected assistant messages: the default, and the smallest useful value.
const KEEP_LAST: [f64; 2] = [3.0, 1.0];
/// The smallest soft trim: the length above which a result is trimmed, and the length kept, in chars.
const SMALLEST_TRIM: (Chars, Chars) = (Chars(400.0), Chars(150.0));

/// One gate to open.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GateTrial {
    key: &'static str,
    settings: Settings,
}

/// A gate that was opened in a replay, and the outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::report::explain) struct GateResult {
    /// The key of the gate, or its name if it has no key.
    pub key: &'static str,
    /// Whether every call of the replay fits.
    pub fits_all: bool,
}

/// Opens each gate of a configured pruner separately. A gate with several values to try fits if one of them makes every call
/// fit.
pub(in crate::report::explain) fn try_gates(runner: &ReplayRunner) -> Vec<GateResult> {
    if !runner.session.pruning_configured {
        return Vec::new();
    }
    let gates = gate_trials(runner);
    let keys: Vec<&'static str> = gates.iter().map(|gate| gate.key).collect();
    let fits: Vec<bool> =
        gates.into_par_iter().map(|gate| runner.run(&gate.settings).overflows == 0).collect();
    let mut opened: Vec<GateResult> = Vec::new();
    for (key, fits) in keys.into_iter().zip(fits) {
        match opened.iter_mut().find(|known| known.key == key) {
            Some(known) => known.fits_all |= fits,
            None => opened.push(GateResult { key, fits_all: fits }),
        }
    }
    opened
}

fn gate_trials(runner: &ReplayRunner) -> Vec<GateTrial> {
    let base = runner.settings_under(&[]);
    let gate = |key, change: &dyn Fn(&mut Settings)| {
        let mut settings = base.clone();
        settings.policies.enabled = settings.policies.enabled.with(Policy::Prune, true);
        change(&mut settings);
        GateTrial { key, settings }
    };
    let keep = base.policies.prune.keep_last_assistants;
    let fewer = KEEP_LAST.into_iter().filter(|fewer| *fewer < keep);
    let mut gates = vec![
        gate("provider", &|it| it.assumptions.prune_eligible = true),
        gate("version", &|it| {
            if !it.policies.ruleset.rules().pruner.is_active() {
                it.policies.ruleset = Ruleset::V2026_3_2;
            }
        }),
        gate("contextPruning.ttl", &|it| {
            it.policies.prune.ttl_ms = SHORT_TTL_MS.min(it.policies.prune.ttl_ms);
        }),
        gate("contextPruning.softTrimRatio", &|it| it.policies.prune.soft_trim_ratio = 0.0),
        gate("contextPruning.hardClearRatio", &|it| it.policies.prune.hard_clear_ratio = 0.0),
        gate("contextPruning.minPrunableToolChars", &|it| {
            it.policies.prune.min_prunable_tool_chars = Chars::ZERO;
        }),
        gate("contextPruning.softTrim.maxChars", &|it| {
            let (max_chars, kept) = SMALLEST_TRIM;
            let trim =
                SoftTrim { max_chars, head_chars: kept, tail_chars: kept, ..it.policies.prune.soft_trim };
            it.policies.prune.soft_trim = trim;
        }),
        gate("contextPruning.tools", &|it| {
            it.policies.prune.tools = Value::from(crate::js::Object::default());
        }),
    ];
    gates.extend(fewer.map(|fewer| {
        gate("contextPruning.keepLastAssistants", &|it| it.policies.prune.keep_last_assistants = fewer)
    }));
    gates.retain(|gate| gate.settings != base);
    gates
}

/// Returns the current value of a gate's key, and its unit.
pub(super) fn current_value(failure: &Failure, key: &str) -> Option<(Option<Unit>, Value)> {
    let mut rows = failure.session.setting_rows.iter().filter(|row| row.key().starts_with(key));
    let set = |row: &&PolicySetting| row.setting.value.as_array().is_none_or(|list| !list.is_empty());
    rows.rfind(set).map(|row| (row.setting.control.unit(), row.setting.value.clone()))
}

pub(super) fn gate_rule(gate: Gate) -> &'static str {
    match gate {
        Gate::Off => "pruning 3.3",
        Gate::NoPruner => "pruning 8",
        Gate::NotEligible => "pruning 3.6",
        Gate::NeverTouched => "pruning 4.3",
        Gate::Open { .. } | Gate::NoTtl | Gate::Warm { .. } => "pruning 4.2",
    }
}

/// Returns a closed gate with the names that its description needs.
pub(super) fn closed_gate(case: &OverflowCase<'_>, failure: &Failure, gate: Gate) -> GuardReason {
    let provider = failure.model.and_then(|(provider, _)| case.session.index.values.text(provider));
    GuardReason::ClosedGate { gate, release: case.session.ruleset.id.display_name(), provider }
}

/// The reason for the state of a guard.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardReason {
    NoHistoryLimit,
    /// The history limit dropped this number of messages.
    DroppedMessages(usize),
    /// The call sent fewer turns than the history limit allows.
    FewerTurns {
        limit: f64,
    },
    PruningOff,
    /// Tokens that pruning or the context guard freed.
    Freed(u64),
    /// The gate of pruning was open, but the value of this key kept every result.
    KeptByValue {
        key: &'static str,
        value: Option<(Option<Unit>, Value)>,
    },
    NothingToPrune,
    /// A gate of pruning was closed.
    ClosedGate {
        gate: Gate,
        /// The gateway's release.
        release: &'static str,
        /// The provider of the call.
        provider: Option<String>,
    },
    /// The context guard acts above this number of estimated tokens of messages, in which results count twice.
    BelowBudget(u64),
    /// The size in estimated tokens above which the context guard acts on a single result.
    BelowSingle(u64),
    /// The context guard acts by its rule, but the provider's counts show that it had no effect.
    Contradicted,
    NoLargeResult,
    CompactionOff,
    /// No usage was reported yet that could be compared with the trigger.
    NothingToCompare {
        trigger: Tokens,
    },
    /// The runtime compared these tokens with its trigger.
    Compared {
        tokens: Tokens,
        trigger: Tokens,
        outcome: Comparison,
    },
    /// This release did not recognise the refusal as an overflow.
    NotRecognised {
        release: String,
    },
    /// So many compactions followed the overflow.
    CompactionsAfter(usize, OverflowKind),
}

/// The consequence of a comparison with the trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The tokens were below the trigger.
    Below {
        /// Whether the runtime compares again before each call of a run.
        repeats_in_run: bool,
    },
    Compacted,
    /// The tokens were above the trigger, but no compaction followed.
    NotCompacted,
}

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
    pub reason: GuardReason,
    /// Tokens below its threshold.
    pub missing_tokens: Option<u64>,
    /// Whether those follow from an estimate.
    pub missing_is_estimate: bool,
    /// Keys of the gates that each make every call fit when opened.
    pub opening_keys: Vec<&'static str>,
    /// The rule that kept it from acting.
    pub rule: &'static str,
    /// The entry that shows it.
    pub entry: Option<EntryIx>,
}

impl GuardReport {
    pub(super) fn new(kind: GuardKind, state: GuardState, reason: GuardReason) -> Self {
        Self {
            kind,
            state,
            reason,
            missing_tokens: None,
            missing_is_estimate: false,
            opening_keys: Vec::new(),
            rule: "",
            entry: None,
        }
    }

    pub(super) fn with_missing_tokens(self, tokens: Tokens, is_estimate: bool) -> Self {
        Self { missing_tokens: Some(tokens.whole()), missing_is_estimate: is_estimate, ..self }
    }

    pub(super) fn with_entry(self, entry: impl Into<Option<EntryIx>>) -> Self {
        Self { entry: entry.into(), ..self }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::with_failure;

    #[test]
    fn every_closed_gate_says_why_and_names_its_rule() {
        let said = |gate: Gate| {
            let reason =
                with_failure("u:9 a:9 r:75", 1_100, 0, |case, failure| closed_gate(case, failure, gate));
            (reason.description(), gate_rule(gate))
        };
        let own = |(why, rule): (&str, &'static str)| (why.to_owned(), rule);
        assert_eq!(said(Gate::Open { idle_ms: Millis::ZERO }), own(("open", "pruning 4.2")));
        assert_eq!(said(Gate::Off), own(("contextPruning.mode is off", "pruning 3.3")));
        assert_eq!(
            said(Gate::NeverTouched),
            own(("no run has written a cache-ttl entry yet", "pruning 4.3"))
        );
        assert_eq!(
            said(Gate::NoTtl),
            own(("contextPruning.ttl is 0, which turns pruning off", "pruning 4.2"))
        );
        let minute = Millis(60_000.0);
        assert_eq!(
            said(Gate::Warm { idle_ms: minute * 2.0, ttl_ms: minute * 5.0 }),
            own(("the cache was touched only 2m earlier (ttl 5m)", "pruning 4.2"))
        );
        let (why, rule) = said(Gate::NotEligible);
        assert!(
            why.starts_with("provider ") && why.ends_with("is not eligible for cache-ttl pruning"),
            "{why}"
        );
        assert_eq!(rule, "pruning 3.6");
        let (why, rule) = said(Gate::NoPruner);
        assert!(why.ends_with(" cannot load the pruner") && why.len() > 25, "{why}");
        assert_eq!(rule, "pruning 8");
    }
}
