//! A replay as JSON.

use super::described::{number, session_value, window_value};
use super::replay::Replayed;
use super::ruleset::ruleset_value;
use super::spent::set_cost_origin;
use crate::js::{Object, Value};
use crate::policy::preflight::Route;
use crate::replay::{Call, CallReplay, Compacting, Fired, Often, PromptSize, Totals};

/// The whole answer.
pub(super) fn answer(replayed: &Replayed) -> Object {
    let Replayed { inspection, simulated, material, replay, record, written_by, .. } = replayed;
    let doubted = material.doubted;
    let calls = replay.calls.iter().enumerate().map(|(at, call)| call_value(replayed, at, call));
    let [recorded_total, simulated_total] = replay.totals();
    let totals = Object::from([
        ("recorded", totals_value(&recorded_total)),
        ("simulated", totals_value(&simulated_total)),
    ]);
    let steps = simulated.steps.steps.iter().map(|step| Value::from(step.word()));
    let touches = if replay.touches_recorded { "recorded" } else { "assumed" };
    let fit = material.fit_error.map_or(Value::Null, |error| Value::Number((error * 1000.0).round() / 10.0));
    Object::from([
        ("session", session_value(&inspection.session)),
        ("leaf", Value::from(inspection.context.leaf.map(|leaf| inspection.index.name(leaf)))),
        ("ruleset", ruleset_value(&inspection.ruleset)),
        ("recordedRuleset", ruleset_value(written_by.as_ref().unwrap_or(&inspection.ruleset))),
        ("window", window_value(inspection.window)),
        ("providerWindow", number(material.provider_window)),
        ("retention", Value::from(material.retention.word())),
        ("touches", Value::from(touches)),
        ("fitErrorPercent", fit),
        ("policy", Value::from(steps.collect::<Vec<_>>())),
        (
            "contradicted",
            Value::from(doubted.iter().map(|step| Value::from(step.word())).collect::<Vec<_>>()),
        ),
        ("calls", Value::from(calls.collect::<Vec<_>>())),
        ("totals", Value::from(totals)),
        (
            "log",
            Value::from(record.fired.iter().map(|fired| fired_value(replayed, fired)).collect::<Vec<_>>()),
        ),
        ("policies", Value::from(record.often.iter().map(often_value).collect::<Vec<_>>())),
    ])
}

/// Tokens as JSON: whole.
pub(super) fn whole(tokens: f64) -> Value {
    number(tokens.round())
}

fn usd(cost: Option<f64>) -> Value {
    cost.map_or(Value::Null, number)
}

fn call_value(replayed: &Replayed, at: usize, call: &Call) -> Value {
    let index = &replayed.inspection.index;
    let model = call.mind.model.and_then(|(provider, model)| {
        Some(format!("{}/{}", index.words.text(provider)?, index.words.text(model)?))
    });
    let measured = call.measured().map_or(Value::Null, whole);
    Value::from(Object::from([
        ("index", Value::from(at)),
        ("entry", Value::from(index.name(call.entry))),
        ("time", number(call.started)),
        ("idleMs", number(call.idle_ms)),
        ("model", Value::from(model)),
        ("recorded", lane_value(replayed, &replayed.replay.recorded[at], Some(measured))),
        ("simulated", lane_value(replayed, &replayed.replay.simulated[at], None)),
    ]))
}

fn lane_value(replayed: &Replayed, call: &CallReplay, measured: Option<Value>) -> Value {
    let gate = call.gate.reason().map_or("open", |reason| reason.word());
    let first = call.first_changed.map(|ix| replayed.inspection.index.name(ix));
    let freed = call.pruned.tokens + call.guarded.tokens + call.cleared.tokens;
    let mut object = Object::from([
        ("tokens", whole(call.tokens)),
        ("expected", whole(call.expected)),
        ("size", Value::from(size_word(call.size))),
        ("overflow", Value::from(call.overflow)),
        ("failed", Value::from(call.failed)),
        ("messages", Value::from(call.messages)),
        ("gate", Value::from(gate)),
        ("cleared", Value::from(u64::from(call.cleared()))),
        ("trimmed", Value::from(u64::from(call.trimmed()))),
        ("freed", whole(freed)),
        ("history", Value::from(u64::from(call.history.cleared))),
        ("reduced", Value::from(u64::from(call.reduced.trimmed + call.reduced.cleared))),
        ("checked", Value::from(call.checked.map(Route::word))),
        ("compacted", written(call.compacted)),
        ("truncated", written(call.truncated)),
        ("firstChanged", Value::from(first)),
        ("cacheRead", whole(call.split.read)),
        ("cacheWrite", whole(call.split.write)),
        ("input", whole(call.split.input)),
        ("output", whole(call.split.output)),
        ("cost", usd(call.cost)),
        ("costFrom", Value::from(cost_from(call))),
        ("totalCost", number(call.total_cost)),
    ]);
    if let Some(measured) = measured {
        object.set("measured", measured);
    }
    Value::from(object)
}

/// Where the cost of a call comes from.
fn cost_from(call: &CallReplay) -> &'static str {
    match call.recorded_cost {
        Some(usd) if usd > 0.0 => "recorded",
        _ if call.measured => "list",
        _ => "model",
    }
}

/// Who says how large a prompt was.
fn size_word(size: PromptSize) -> &'static str {
    match size {
        PromptSize::Counted => "counted",
        PromptSize::Named => "named",
        PromptSize::Estimated => "estimated",
        PromptSize::Unknown => "unknown",
    }
}

fn written(done: Option<Compacting>) -> Value {
    let Some(done) = done else { return Value::Null };
    Value::from(Object::from([
        ("byOverflow", Value::from(done.by_overflow)),
        ("recorded", Value::from(done.recorded)),
        ("messages", Value::from(u64::from(done.messages))),
        ("tokens", whole(done.tokens)),
        ("before", done.before.map_or(Value::Null, |before| whole(before.tokens))),
        ("cost", usd(done.summary_cost)),
    ]))
}

fn totals_value(total: &Totals) -> Value {
    let mut object = Object::from([
        ("calls", Value::from(total.calls)),
        ("overflows", Value::from(total.overflows)),
        ("failed", Value::from(total.failed)),
        ("peak", whole(total.peak.0)),
        ("peakCall", Value::from(total.peak.1)),
        ("answeredPeak", peak_value(total.answered)),
        ("refusedPeak", peak_value(total.refused)),
        ("freed", whole(total.freed)),
        ("compactions", Value::from(total.compactions)),
        ("cost", usd(total.cost)),
        ("modelCost", usd(total.modelled)),
        ("summaryCost", number(total.summaries)),
        ("cacheRead", whole(total.read)),
        ("cacheWrite", whole(total.write)),
        ("input", whole(total.input)),
    ]);
    set_cost_origin(&mut object, &total.spent);
    Value::from(object)
}

/// The tokens of a peak; null where no call has one.
fn peak_value(peak: (f64, Option<usize>)) -> Value {
    peak.1.map_or(Value::Null, |_| whole(peak.0))
}

fn fired_value(replayed: &Replayed, fired: &Fired) -> Value {
    Value::from(Object::from([
        ("kind", Value::from(fired.kind.word())),
        ("call", Value::from(fired.call)),
        ("calls", Value::from(fired.calls)),
        ("time", number(fired.time)),
        ("messages", Value::from(u64::from(fired.messages))),
        ("first", Value::from(fired.first.map(|ix| replayed.inspection.index.name(ix)))),
        ("tokens", whole(fired.tokens)),
        ("cost", usd(fired.cost)),
    ]))
}

fn often_value(often: &Often) -> Value {
    Value::from(Object::from([
        ("kind", Value::from(often.kind.word())),
        ("times", Value::from(often.times)),
        ("every", number((often.every * 10.0).round() / 10.0)),
        ("tokens", whole(often.tokens)),
        ("cost", number(often.cost)),
        ("tooOften", Value::from(often.too_often)),
    ]))
}
