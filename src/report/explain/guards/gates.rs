//! The gates of pruning: each closed gate, and whether opening only it would have made every call fit.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::gateway::prune_setting::Unit;
use crate::gateway::pruning::SoftTrim;
use crate::gateway::ruleset::Ruleset;
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::prune::Gate;
use crate::policy::settings::PolicySetting;
use crate::replay::Settings;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::guards::reason::GuardReason;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::units::{Chars, Millis};

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
