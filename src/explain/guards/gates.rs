//! The gates of pruning: what kept it shut, and which of them, opened alone, would have made every call fit.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::rehearsal::Rehearsal;
use crate::gateway::pruning::SoftTrim;
use crate::gateway::ruleset::Ruleset;
use crate::inspect::words::span;
use crate::js::Value;
use crate::policy::Step;
use crate::policy::prune::Gate;
use crate::policy::settings::StepSetting;
use crate::replay::Settings;

/// A ttl that every pause between two runs passes, ms.
const SHORT_TTL: f64 = 60_000.0;
/// Assistant messages that are protected by default, and the fewest worth protecting.
const KEEP: [f64; 2] = [3.0, 1.0];
/// The smallest soft trim: chars from which on a result is trimmed, and what stays of it.
const SHORT: (f64, f64) = (400.0, 150.0);

/// One gate, opened alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenedGate {
    key: &'static str,
    settings: Settings,
}

/// A gate that was opened, and whether every call fits then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::explain) struct Opened {
    /// Its key, or what else it is.
    pub key: &'static str,
    /// Every call fits, by replay.
    pub fits: bool,
}

/// Opens every gate of a configured pruner, each alone.
pub(in crate::explain) fn open_each(rehearsal: &Rehearsal) -> Vec<Opened> {
    if !rehearsal.inspection.configured_on {
        return Vec::new();
    }
    let gates = gates(rehearsal);
    let keys: Vec<&'static str> = gates.iter().map(|gate| gate.key).collect();
    let fits: Vec<bool> =
        gates.into_par_iter().map(|gate| rehearsal.run(&gate.settings).overflows == 0).collect();
    let mut opened: Vec<Opened> = Vec::new();
    for (key, fits) in keys.into_iter().zip(fits) {
        match opened.iter_mut().find(|known| known.key == key) {
            Some(known) => known.fits |= fits,
            None => opened.push(Opened { key, fits }),
        }
    }
    opened
}

fn gates(rehearsal: &Rehearsal) -> Vec<OpenedGate> {
    let base = rehearsal.settings(&[]);
    let gate = |key, change: &dyn Fn(&mut Settings)| {
        let mut settings = base.clone();
        settings.steps.steps = settings.steps.steps.with(Step::Prune, true);
        change(&mut settings);
        OpenedGate { key, settings }
    };
    let keep = base.steps.prune.keep_last_assistants;
    let fewer = KEEP.into_iter().filter(|fewer| *fewer < keep);
    let mut gates = vec![
        gate("provider", &|it| it.assumed.eligible = true),
        gate("version", &|it| {
            if !it.steps.ruleset.rules().pruner.is_active() {
                it.steps.ruleset = Ruleset::V2026_3_2;
            }
        }),
        gate("contextPruning.ttl", &|it| it.steps.prune.ttl_ms = SHORT_TTL.min(it.steps.prune.ttl_ms)),
        gate("contextPruning.softTrimRatio", &|it| it.steps.prune.soft_trim_ratio = 0.0),
        gate("contextPruning.hardClearRatio", &|it| it.steps.prune.hard_clear_ratio = 0.0),
        gate("contextPruning.minPrunableToolChars", &|it| it.steps.prune.min_prunable_tool_chars = 0.0),
        gate("contextPruning.softTrim.maxChars", &|it| {
            let (max_chars, kept) = SHORT;
            let trim = SoftTrim { max_chars, head_chars: kept, tail_chars: kept, ..it.steps.prune.soft_trim };
            it.steps.prune.soft_trim = trim;
        }),
        gate("contextPruning.tools", &|it| it.steps.prune.tools = Value::from(crate::js::Object::default())),
    ];
    gates.extend(fewer.map(|fewer| {
        gate("contextPruning.keepLastAssistants", &|it| it.steps.prune.keep_last_assistants = fewer)
    }));
    gates.retain(|gate| gate.settings != base);
    gates
}

/// The value of a gate's key.
pub(super) fn current(failure: &Failure, key: &str) -> String {
    let mut rows = failure.then.settings.iter().filter(|row| row.key().starts_with(key));
    let set = |row: &&StepSetting| row.row.value.as_array().is_none_or(|list| !list.is_empty());
    rows.rfind(set)
        .map(|row| crate::gateway::setting_value::plain_text(row.row.control.unit(), &row.row.value))
        .unwrap_or_default()
}

/// The rule that a gate follows.
pub(super) fn rule(gate: Gate) -> &'static str {
    match gate {
        Gate::Off => "pruning 3.3",
        Gate::NoPruner => "pruning 8",
        Gate::NotEligible => "pruning 3.6",
        Gate::NeverTouched => "pruning 4.3",
        Gate::Open { .. } | Gate::NoTtl | Gate::Warm { .. } => "pruning 4.2",
    }
}

/// Why a gate is shut, in a few words.
pub(super) fn why_shut(case: &Case<'_>, failure: &Failure, gate: Gate) -> String {
    let provider = failure.model.and_then(|(provider, _)| case.inspection.index.words.text(provider));
    match gate {
        Gate::Open { .. } => "open".to_owned(),
        Gate::Off => "contextPruning.mode is off".to_owned(),
        Gate::NoPruner => {
            format!(
                "{} cannot load the pruner, so this version never prunes",
                case.inspection.ruleset.ruleset.name()
            )
        }
        Gate::NotEligible => {
            format!("provider {} is not eligible for cache-ttl pruning", provider.unwrap_or_default())
        }
        Gate::NeverTouched => "no run has left a cache touch yet".to_owned(),
        Gate::NoTtl => "contextPruning.ttl is 0, which switches it off".to_owned(),
        Gate::Warm { idle_ms, ttl_ms } => {
            format!("cache is warm: {} of ttl {}", span(idle_ms.max(0.0)), span(ttl_ms))
        }
    }
}
