//! JSON of `clawscope replay`.

use super::replay_report::ReplayReport;
use super::ruleset::ruleset_json;
use super::session_output::{number_value, session_json, window_value};
use super::usage_totals::set_cost_origin;
use crate::js::{Object, Value};
use crate::policy::preflight::Route;
use crate::replay::{
    CallReplay, CompactionEvent, FiringStats, ModelCall, PolicyEvent, PromptSizeSource, TraceTotals,
};

pub(super) fn report_json(replayed: &ReplayReport) -> Object {
    let ReplayReport {
        inspection: session,
        simulated,
        inputs: material,
        replay,
        policy_log: record,
        writer_ruleset: written_by,
        ..
    } = replayed;
    let doubted = material.contradicted_policies;
    let calls = replay.calls.iter().enumerate().map(|(at, call)| call_value(replayed, at, call));
    let [recorded_total, simulated_total] = replay.totals();
    let totals = Object::from([
        ("recorded", totals_value(&recorded_total)),
        ("simulated", totals_value(&simulated_total)),
    ]);
    let policies = simulated.policies.enabled.iter().map(|policy| Value::from(policy.word()));
    let touches = if replay.touches_recorded { "recorded" } else { "assumed" };
    let fit = material.fit_error.map_or(Value::Null, |error| Value::Number((error * 1000.0).round() / 10.0));
    Object::from([
        ("session", session_json(&session.item)),
        ("leaf", Value::from(session.context.leaf.map(|leaf| session.index.display_id(leaf)))),
        ("ruleset", ruleset_json(&session.ruleset)),
        ("recordedRuleset", ruleset_json(written_by.as_ref().unwrap_or(&session.ruleset))),
        ("window", window_value(session.window)),
        ("providerWindow", number_value(material.provider_window)),
        ("retention", Value::from(material.retention.as_str())),
        ("touches", Value::from(touches)),
        ("fitErrorPercent", fit),
        ("policy", Value::from(policies.collect::<Vec<_>>())),
        (
            "contradicted",
            Value::from(doubted.iter().map(|policy| Value::from(policy.word())).collect::<Vec<_>>()),
        ),
        ("calls", Value::from(calls.collect::<Vec<_>>())),
        ("totals", Value::from(totals)),
        (
            "log",
            Value::from(
                record.events.iter().map(|fired| policy_event_value(replayed, fired)).collect::<Vec<_>>(),
            ),
        ),
        ("policies", Value::from(record.stats.iter().map(firing_stats_value).collect::<Vec<_>>())),
    ])
}

/// Rounds tokens to a whole JSON number.
pub(super) fn rounded_value(tokens: f64) -> Value {
    number_value(tokens.round())
}

fn cost_value(cost: Option<f64>) -> Value {
    cost.map_or(Value::Null, number_value)
}

fn call_value(replayed: &ReplayReport, at: usize, call: &ModelCall) -> Value {
    let index = &replayed.inspection.index;
    let model = call.cache_key.model.and_then(|(provider, model)| {
        Some(format!("{}/{}", index.values.text(provider)?, index.values.text(model)?))
    });
    let measured = call.measured_tokens().map_or(Value::Null, rounded_value);
    Value::from(Object::from([
        ("index", Value::from(at)),
        ("entry", Value::from(index.display_id(call.entry))),
        ("time", number_value(call.started)),
        ("idleMs", number_value(call.idle_ms)),
        ("model", Value::from(model)),
        ("recorded", trace_value(replayed, &replayed.replay.recorded[at], Some(measured))),
        ("simulated", trace_value(replayed, &replayed.replay.simulated[at], None)),
    ]))
}

fn trace_value(replayed: &ReplayReport, call: &CallReplay, measured: Option<Value>) -> Value {
    let gate = call.gate.reason().map_or("open", |reason| reason.word());
    let first = call.first_changed.map(|ix| replayed.inspection.index.display_id(ix));
    let freed = call.pruned.tokens + call.guarded.tokens + call.cleared.tokens;
    let mut object = Object::from([
        ("tokens", rounded_value(call.tokens)),
        ("expected", rounded_value(call.expected)),
        ("size", Value::from(size_source(call.size_source))),
        ("overflow", Value::from(call.overflowed)),
        ("failed", Value::from(call.failed)),
        ("messages", Value::from(call.messages)),
        ("gate", Value::from(gate)),
        ("cleared", Value::from(u64::from(call.cleared_count()))),
        ("trimmed", Value::from(u64::from(call.trimmed_count()))),
        ("freed", rounded_value(freed)),
        ("history", Value::from(u64::from(call.history_trim.cleared))),
        ("reduced", Value::from(u64::from(call.reduce_trim.trimmed + call.reduce_trim.cleared))),
        ("checked", Value::from(call.checked.map(Route::as_str))),
        ("compacted", compaction_event_value(call.compacted)),
        ("truncated", compaction_event_value(call.truncated)),
        ("firstChanged", Value::from(first)),
        ("cacheRead", rounded_value(call.split.read)),
        ("cacheWrite", rounded_value(call.split.write)),
        ("input", rounded_value(call.split.input)),
        ("output", rounded_value(call.split.output)),
        ("cost", cost_value(call.cost)),
        ("costFrom", Value::from(cost_source(call))),
        ("totalCost", number_value(call.total_cost)),
    ]);
    if let Some(measured) = measured {
        object.set("measured", measured);
    }
    Value::from(object)
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

fn compaction_event_value(done: Option<CompactionEvent>) -> Value {
    let Some(done) = done else { return Value::Null };
    Value::from(Object::from([
        ("byOverflow", Value::from(done.by_overflow)),
        ("recorded", Value::from(done.is_recorded)),
        ("messages", Value::from(u64::from(done.messages))),
        ("tokens", rounded_value(done.tokens)),
        ("before", done.tokens_before.map_or(Value::Null, |before| rounded_value(before.tokens))),
        ("cost", cost_value(done.summary_cost)),
    ]))
}

fn totals_value(total: &TraceTotals) -> Value {
    let mut object = Object::from([
        ("calls", Value::from(total.calls)),
        ("overflows", Value::from(total.overflows)),
        ("failed", Value::from(total.failed)),
        ("peak", rounded_value(total.peak.0)),
        ("peakCall", Value::from(total.peak.1)),
        ("answeredPeak", peak_value(total.answered)),
        ("refusedPeak", peak_value(total.refused)),
        ("freed", rounded_value(total.freed_tokens)),
        ("compactions", Value::from(total.compactions)),
        ("cost", cost_value(total.cost)),
        ("modelCost", cost_value(total.modelled_cost)),
        ("summaryCost", number_value(total.summary_cost)),
        ("cacheRead", rounded_value(total.cache_read)),
        ("cacheWrite", rounded_value(total.cache_write)),
        ("input", rounded_value(total.input)),
    ]);
    set_cost_origin(&mut object, &total.cost_breakdown);
    Value::from(object)
}

/// Returns the tokens of a peak; null if no call has one.
fn peak_value(peak: (f64, Option<usize>)) -> Value {
    peak.1.map_or(Value::Null, |_| rounded_value(peak.0))
}

fn policy_event_value(replayed: &ReplayReport, fired: &PolicyEvent) -> Value {
    Value::from(Object::from([
        ("kind", Value::from(fired.kind.word())),
        ("call", Value::from(fired.call)),
        ("calls", Value::from(fired.calls)),
        ("time", number_value(fired.time)),
        ("messages", Value::from(u64::from(fired.messages))),
        ("first", Value::from(fired.first.map(|ix| replayed.inspection.index.display_id(ix)))),
        ("tokens", rounded_value(fired.tokens)),
        ("cost", cost_value(fired.cost)),
    ]))
}

fn firing_stats_value(often: &FiringStats) -> Value {
    Value::from(Object::from([
        ("kind", Value::from(often.kind.word())),
        ("times", Value::from(often.times)),
        ("every", number_value((often.call_interval * 10.0).round() / 10.0)),
        ("tokens", rounded_value(often.tokens)),
        ("cost", number_value(often.cost)),
        ("tooOften", Value::from(often.is_too_frequent)),
    ]))
}
