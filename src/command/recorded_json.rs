//! JSON of `clawscope context SESSION --recorded`.

use super::recorded_verdict::describe_verdict;
use super::session_output::session_json;
use crate::js::{Object, Value};
use crate::report::recorded_context::{
    Difference, DifferenceCause, DifferingMessage, RecordedContext, RecordedRun, RecordingComparison,
    RunOutcome,
};
use crate::session::LoadedSession;

pub(super) fn report_json(session: &LoadedSession, recorded: &RecordedContext) -> Object {
    let mut answer = Object::from([
        ("session", session_json(&session.item)),
        ("verdict", Value::from(verdict_name(recorded))),
        ("message", Value::from(describe_verdict(recorded).replace('\u{a0}', " "))),
    ]);
    let elsewhere = match recorded {
        RecordedContext::Unreadable(path) => Some(path.to_string_lossy().into_owned()),
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
        RunOutcome::Compared(all) => comparison_value(session, run, all),
        _ => Value::Null,
    };
    answer.set("context", context);
    answer
}

fn verdict_name(recorded: &RecordedContext) -> String {
    let word = match recorded {
        RecordedContext::NoRecording => "missing",
        RecordedContext::Unreadable(_) => "elsewhere",
        RecordedContext::NoRun => "no run",
        RecordedContext::Run(run) => match &run.outcome {
            RunOutcome::NotCompiled => "not compiled",
            RunOutcome::LineTruncated(_) => "cut whole",
            RunOutcome::NoMessageList => "no messages recorded",
            RunOutcome::NoLeaf(_) => "leaf missing",
            RunOutcome::Compared(all) => return all.verdict(),
        },
    };
    word.to_owned()
}

fn run_value(run: &RecordedRun) -> Value {
    let text = |text: &Option<String>| Value::from(text.clone());
    Value::from(Object::from([
        ("number", Value::from(run.number)),
        ("of", Value::from(run.run_count)),
        ("id", Value::from(run.attempt.run_id.as_str())),
        ("started", Value::from(run.started.as_str())),
        ("place", Value::from(run.location.to_string())),
        ("provider", text(&run.attempt.provider)),
        ("model", text(&run.attempt.model)),
        ("gateway", text(&run.details.gateway_version)),
        ("trigger", text(&run.details.trigger)),
        ("status", text(&run.details.status)),
        ("submitted", Value::from(run.details.is_submitted)),
    ]))
}

fn comparison_value(session: &LoadedSession, run: &RecordedRun, all: &RecordingComparison) -> Value {
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
        ("mergedOrphan", Value::from(run.merged_orphan.map(|entry| session.index.display_id(entry)))),
        ("cuts", cuts.collect::<Vec<_>>().into()),
        ("redacted", text_values(&all.redacted)),
        ("difference", Value::from(all.difference.as_ref().map(|own| difference_value(session, run, own)))),
    ]))
}

fn difference_value(session: &LoadedSession, run: &RecordedRun, own: &Difference) -> Value {
    let side = |side: &Option<DifferingMessage>| {
        Value::from(side.as_ref().map(|side| {
            Object::from([
                ("entry", Value::from(side.entry.map(|entry| session.index.display_id(entry)))),
                ("role", Value::from(side.role.as_str())),
                ("chars", Value::from(side.chars)),
            ])
        }))
    };
    let names = own.only_rebuilt.iter().map(|entry| Value::from(session.index.display_id(*entry)));
    Value::from(Object::from([
        ("position", Value::from(own.position)),
        ("recorded", side(&own.recorded)),
        ("rebuilt", side(&own.rebuilt)),
        ("paths", text_values(&own.paths)),
        ("onlyRecorded", own.only_recorded.iter().map(|at| Value::from(*at)).collect::<Vec<_>>().into()),
        ("onlyRebuilt", names.collect::<Vec<_>>().into()),
        ("cause", Value::from(run.cause.map(DifferenceCause::as_str))),
    ]))
}

fn text_values(texts: &[String]) -> Value {
    texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>().into()
}
