//! JSON of `clawscope replay`.

use schemars::JsonSchema;
use serde::Serialize;

use super::replay_report::ReplayReport;
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{SessionJson, finite, rounded, session_json};
use crate::config::FiringLimits;
use crate::export::json::JsonOutput;
use crate::gateway::window::WindowInfo;
use crate::policy::Policy;
use crate::policy::preflight::Route;
use crate::replay::{
    CallReplay, CompactionEvent, CostOrigin, FiringStats, ModelCall, PolicyEvent, PromptSizeSource,
    TraceTotals,
};
use crate::units::{Millis, Moment, Tokens};

/// Every model call of a session, recorded and under other settings. Tokens are whole, costs are USD.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplayJson {
    session: SessionJson,
    leaf: Option<String>,
    ruleset: RulesetJson,
    /// The rules of the release that wrote the session.
    recorded_ruleset: RulesetJson,
    window: WindowInfo,
    /// Tokens that the provider takes.
    provider_window: Option<Tokens>,
    /// Lifetime of the provider's cache.
    retention: &'static str,
    /// The origin of the times of cache uses: recorded or assumed.
    touches: &'static str,
    /// Mean error of the estimates at the calls that calibrated them.
    fit_error_percent: Option<f64>,
    /// The policies that are on.
    policy: Vec<&'static str>,
    /// Policies that are off because the record shows no effect of them.
    contradicted: Vec<&'static str>,
    calls: Vec<CallJson>,
    totals: BothTotalsJson,
    /// The events of the policies.
    log: Vec<PolicyEventJson>,
    policies: Vec<FiringStatsJson>,
}

impl JsonOutput for ReplayJson {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallJson {
    /// From 0.
    index: usize,
    entry: String,
    /// Start, ms since 1970.
    time: Option<Moment>,
    /// Time since the cache was used, ms.
    idle_ms: Option<Millis>,
    /// Provider and model.
    model: Option<String>,
    pub(super) recorded: RecordedTraceJson,
    pub(super) simulated: TraceJson,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct RecordedTraceJson {
    #[serde(flatten)]
    trace: TraceJson,
    /// Tokens that the provider counted.
    pub(super) measured: Option<Tokens>,
}

/// One call in one of the two traces.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TraceJson {
    /// Tokens of the prompt.
    tokens: Option<Tokens>,
    /// Tokens that the provider would count.
    expected: Option<Tokens>,
    /// The origin of the size.
    size: &'static str,
    overflow: bool,
    /// Whether the last try did not fit either.
    failed: bool,
    messages: usize,
    /// `open`, or why pruning waits.
    gate: &'static str,
    /// Cleared messages.
    cleared: u32,
    /// Trimmed messages.
    trimmed: u32,
    /// Tokens that the policies of this call removed.
    freed: Option<Tokens>,
    /// Messages that the turn limit left out.
    history: u32,
    /// Messages that were reduced before the prompt.
    reduced: u32,
    /// The result of the check before the prompt.
    checked: Option<&'static str>,
    compacted: Option<CompactionEvent>,
    truncated: Option<CompactionEvent>,
    /// The first changed entry.
    first_changed: Option<String>,
    /// Prompt tokens read from the cache.
    cache_read: Option<Tokens>,
    /// Prompt tokens written to the cache.
    cache_write: Option<Tokens>,
    /// Prompt tokens neither read nor written.
    input: Option<Tokens>,
    output: Option<Tokens>,
    cost: Option<f64>,
    /// The origin of the cost.
    cost_from: &'static str,
    /// Cost of all calls up to this one.
    total_cost: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct BothTotalsJson {
    recorded: TotalsJson,
    simulated: TotalsJson,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TotalsJson {
    calls: usize,
    /// Calls whose prompt did not fit at first.
    overflows: usize,
    /// Calls whose last try did not fit either.
    failed: usize,
    /// The largest prompt in tokens.
    peak: Option<Tokens>,
    /// Index of its call.
    peak_call: Option<usize>,
    /// The largest prompt of an answered call.
    answered_peak: Option<Tokens>,
    /// The largest prompt of a call that failed in the end.
    refused_peak: Option<Tokens>,
    /// Tokens that policies removed, counted once for each call.
    freed: Option<Tokens>,
    compactions: usize,
    cost: Option<f64>,
    /// Cost by the cache model.
    model_cost: Option<f64>,
    summary_cost: Option<f64>,
    cache_read: Option<Tokens>,
    cache_write: Option<Tokens>,
    input: Option<Tokens>,
    #[serde(flatten)]
    origin: CostOrigin,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct PolicyEventJson {
    kind: &'static str,
    /// Index of the first call.
    call: usize,
    /// Number of consecutive calls with the same change.
    calls: usize,
    /// Start of the first call, ms since 1970.
    time: Option<Moment>,
    /// Messages changed.
    messages: u32,
    /// The first changed entry.
    pub(super) first: Option<String>,
    /// Tokens freed at the first call.
    tokens: Option<Tokens>,
    /// Cost that the event added.
    cost: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FiringStatsJson {
    kind: &'static str,
    times: usize,
    /// Calls per event, on average.
    every: Option<f64>,
    /// Tokens freed in total.
    tokens: Option<Tokens>,
    cost: Option<f64>,
    /// Whether it fires often and frees little each time, by `[too-often]` of config.toml.
    too_often: bool,
}

pub(super) fn report_json(replayed: &ReplayReport) -> ReplayJson {
    let ReplayReport {
        session,
        simulated,
        inputs,
        replay,
        policy_log: record,
        writer_ruleset: written_by,
        ..
    } = replayed;
    let calls = replay.calls.iter().enumerate().map(|(at, call)| call_json(replayed, at, call));
    let [recorded, simulated_total] = replay.totals();
    ReplayJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        ruleset: ruleset_json(&session.ruleset),
        recorded_ruleset: ruleset_json(written_by.as_ref().unwrap_or(&session.ruleset)),
        window: session.window,
        provider_window: finite(inputs.provider_window),
        retention: inputs.retention.as_str(),
        touches: if replay.touches_recorded { "recorded" } else { "assumed" },
        fit_error_percent: inputs.fit_error.map(|error| (error * 1000.0).round() / 10.0),
        policy: simulated.policies.enabled.iter().map(Policy::word).collect(),
        contradicted: inputs.contradicted_policies.iter().map(Policy::word).collect(),
        calls: calls.collect(),
        totals: BothTotalsJson { recorded: totals_json(&recorded), simulated: totals_json(&simulated_total) },
        log: record.events.iter().map(|fired| policy_event_json(replayed, fired)).collect(),
        policies: record.stats.iter().map(|stats| firing_stats_json(stats, replayed.firing_limits)).collect(),
    }
}

pub(super) fn call_json(replayed: &ReplayReport, at: usize, call: &ModelCall) -> CallJson {
    let index = &replayed.session.index;
    let model = call.cache_key.model.and_then(|(provider, model)| {
        Some(format!("{}/{}", index.values.text(provider)?, index.values.text(model)?))
    });
    CallJson {
        index: at,
        entry: index.display_id(call.entry),
        time: finite(call.started),
        idle_ms: finite(call.idle_ms),
        model,
        recorded: RecordedTraceJson {
            trace: trace_json(replayed, &replayed.replay.recorded[at]),
            measured: call.measured_tokens().and_then(rounded),
        },
        simulated: trace_json(replayed, &replayed.replay.simulated[at]),
    }
}

fn trace_json(replayed: &ReplayReport, call: &CallReplay) -> TraceJson {
    TraceJson {
        tokens: rounded(call.tokens),
        expected: rounded(call.expected),
        size: size_source(call.size_source),
        overflow: call.overflowed,
        failed: call.failed,
        messages: call.messages,
        gate: call.gate.reason().map_or("open", |reason| reason.word()),
        cleared: call.cleared_count(),
        trimmed: call.trimmed_count(),
        freed: rounded(call.pruned.tokens + call.guarded.tokens + call.cleared.tokens),
        history: call.history_trim.cleared,
        reduced: call.reduce_trim.trimmed + call.reduce_trim.cleared,
        checked: call.checked.map(Route::as_str),
        compacted: call.compacted.as_deref().copied(),
        truncated: call.truncated.as_deref().copied(),
        first_changed: call.first_changed.map(|ix| replayed.session.index.display_id(ix)),
        cache_read: rounded(call.split.read),
        cache_write: rounded(call.split.write),
        input: rounded(call.split.input),
        output: rounded(call.split.output),
        cost: call.cost,
        cost_from: cost_source(call),
        total_cost: finite(call.total_cost),
    }
}

fn cost_source(call: &CallReplay) -> &'static str {
    match call.recorded_cost {
        Some(usd) if usd > 0.0 => "recorded",
        _ if call.is_measured => "list",
        _ => "model",
    }
}

fn size_source(size: PromptSizeSource) -> &'static str {
    match size {
        PromptSizeSource::Counted => "counted",
        PromptSizeSource::FromRefusal => "named",
        PromptSizeSource::Estimated => "estimated",
        PromptSizeSource::Unknown => "unknown",
    }
}

fn totals_json(total: &TraceTotals) -> TotalsJson {
    // A peak without a call is not a peak.
    let peak = |(tokens, call): (Tokens, Option<usize>)| call.and_then(|_| rounded(tokens));
    TotalsJson {
        calls: total.calls,
        overflows: total.overflows,
        failed: total.failed,
        peak: rounded(total.peak.0),
        peak_call: total.peak.1,
        answered_peak: peak(total.answered),
        refused_peak: peak(total.refused),
        freed: rounded(total.freed_tokens),
        compactions: total.compactions,
        cost: total.cost,
        model_cost: total.modelled_cost,
        summary_cost: finite(total.summary_cost),
        cache_read: rounded(total.cache_read),
        cache_write: rounded(total.cache_write),
        input: rounded(total.input),
        origin: CostOrigin::from(&total.cost_breakdown),
    }
}

pub(super) fn policy_event_json(replayed: &ReplayReport, fired: &PolicyEvent) -> PolicyEventJson {
    PolicyEventJson {
        kind: fired.kind.word(),
        call: fired.call,
        calls: fired.calls,
        time: finite(fired.time),
        messages: fired.messages,
        first: fired.first.map(|ix| replayed.session.index.display_id(ix)),
        tokens: rounded(fired.tokens),
        cost: fired.cost,
    }
}

fn firing_stats_json(often: &FiringStats, limits: FiringLimits) -> FiringStatsJson {
    FiringStatsJson {
        kind: often.kind.word(),
        times: often.times,
        every: finite((often.call_interval * 10.0).round() / 10.0),
        tokens: rounded(often.tokens),
        cost: finite(often.cost),
        too_often: often.is_too_frequent(limits),
    }
}
