//! The JSON of `clawscope context SESSION --recorded`.

use super::described::session_value;
use super::recorded::verdict_words;
use crate::inspect::Inspection;
use crate::inspect::recorded_context::{
    Cause, Comparison, Difference, Outcome, RecordedContext, RecordedRun, Side,
};
use crate::js::{Object, Value};

/// The answer.
pub(super) fn answer(inspection: &Inspection, recorded: &RecordedContext) -> Object {
    let mut answer = Object::from([
        ("session", session_value(&inspection.session)),
        ("verdict", Value::from(verdict(recorded))),
        ("message", Value::from(verdict_words(recorded).replace('\u{a0}', " "))),
    ]);
    let elsewhere = match recorded {
        RecordedContext::Elsewhere(path) => Some(path.to_string_lossy().into_owned()),
        _ => None,
    };
    answer.set("elsewhere", Value::from(elsewhere));
    let RecordedContext::Run(run) = recorded else {
        answer.set("run", Value::Null);
        answer.set("context", Value::Null);
        return answer;
    };
    answer.set("run", run_value(run));
    let context = match &run.outcome {
        Outcome::Compared(all) => comparison_value(inspection, run, all),
        _ => Value::Null,
    };
    answer.set("context", context);
    answer
}

/// The verdict, for scripts.
fn verdict(recorded: &RecordedContext) -> String {
    let word = match recorded {
        RecordedContext::NoRecording => "missing",
        RecordedContext::Elsewhere(_) => "elsewhere",
        RecordedContext::NoRun => "no run",
        RecordedContext::Run(run) => match &run.outcome {
            Outcome::NotCompiled => "not compiled",
            Outcome::CutWhole(_) => "cut whole",
            Outcome::NoList => "no messages recorded",
            Outcome::NoLeaf(_) => "leaf missing",
            Outcome::Compared(all) => return all.verdict(),
        },
    };
    word.to_owned()
}

fn run_value(run: &RecordedRun) -> Value {
    let text = |text: &Option<String>| Value::from(text.clone());
    Value::from(Object::from([
        ("number", Value::from(run.number)),
        ("of", Value::from(run.of)),
        ("id", Value::from(run.attempt.run.as_str())),
        ("started", Value::from(run.started.as_str())),
        ("place", Value::from(run.place.to_string())),
        ("provider", text(&run.attempt.provider)),
        ("model", text(&run.attempt.model)),
        ("gateway", text(&run.details.gateway)),
        ("trigger", text(&run.details.trigger)),
        ("status", text(&run.details.status)),
        ("submitted", Value::from(run.details.submitted)),
    ]))
}

fn comparison_value(inspection: &Inspection, run: &RecordedRun, all: &Comparison) -> Value {
    let repair =
        |name: &str, count: usize| Object::from([("name", Value::from(name)), ("count", Value::from(count))]);
    let repairs = all.repairs.iter().map(|own| Value::from(repair(own.name, own.count)));
    let cuts = all.cuts.iter().map(|cut| {
        let (path, reason) = (cut.path.as_str(), cut.reason.as_str());
        Value::from(Object::from([("path", path), ("reason", reason)]))
    });
    Value::from(Object::from([
        ("recorded", Value::from(all.recorded)),
        ("atStart", Value::from(all.at_start)),
        ("rebuilt", Value::from(all.rebuilt)),
        ("repaired", Value::from(all.repaired)),
        ("repairs", repairs.collect::<Vec<_>>().into()),
        ("unrepaired", Value::from(all.unrepaired)),
        ("mergedOrphan", Value::from(run.merged_orphan.map(|entry| inspection.index.name(entry)))),
        ("cuts", cuts.collect::<Vec<_>>().into()),
        ("redacted", texts(&all.redacted)),
        (
            "difference",
            Value::from(all.difference.as_ref().map(|own| difference_value(inspection, run, own))),
        ),
    ]))
}

fn difference_value(inspection: &Inspection, run: &RecordedRun, own: &Difference) -> Value {
    let side = |side: &Option<Side>| {
        Value::from(side.as_ref().map(|side| {
            Object::from([
                ("entry", Value::from(side.entry.map(|entry| inspection.index.name(entry)))),
                ("role", Value::from(side.role.as_str())),
                ("chars", Value::from(side.chars)),
            ])
        }))
    };
    let names = own.only_rebuilt.iter().map(|entry| Value::from(inspection.index.name(*entry)));
    Value::from(Object::from([
        ("position", Value::from(own.position)),
        ("recorded", side(&own.recorded)),
        ("rebuilt", side(&own.rebuilt)),
        ("paths", texts(&own.paths)),
        ("onlyRecorded", own.only_recorded.iter().map(|at| Value::from(*at)).collect::<Vec<_>>().into()),
        ("onlyRebuilt", names.collect::<Vec<_>>().into()),
        ("cause", Value::from(run.cause.map(Cause::word))),
    ]))
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>().into()
}
