//! `clawscope context SESSION --estimators`: every way to count tokens beside what the provider counted.

use std::io::Write as _;

use super::described::{print_head, session_value};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::scene::{Around, Scene, at_leaf, with_context};
use super::table::{Align, Cell, Table};
use super::words::{commas, counted, estimated, grouped};
use crate::cli::{ContextViewArgs, PlaceArgs};
use crate::context::tokens::calibrated::Calibration;
use crate::context::tokens::script::Script;
use crate::inspect::Inspection;
use crate::inspect::estimators::{Call, Estimates, Estimator, read, words};
use crate::js::{Object, Value};

/// Calls that are printed unless all are asked for: the newest.
const SHOWN: usize = 20;
/// An error above this share deserves a look.
const NOTABLE: f64 = 0.1;

/// Prints the estimators of a session.
pub(super) fn run(
    args: &ContextViewArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = &args.context.session;
    let scene = Scene::for_session(&named.session, place, around)?;
    let inspection = scene.open(&named.session)?;
    let inspection = with_context(at_leaf(&scene, inspection, args.context.leaf.as_deref())?)?;
    let estimates =
        read(&inspection, &mut |_, _| true).map_err(|error| Failure::unreadable(error.to_string()))?;
    if named.json {
        return Ok(output.json(answer(&inspection, &estimates))?);
    }
    print_head(output, &inspection, inspection.window)?;
    writeln!(output)?;
    output.line(Tone::Strong, &commas(&words::headline(&estimates)))?;
    let lines =
        [words::fixed(&estimates), words::tokenizer(&estimates, &inspection), words::factors(&estimates)];
    for line in lines.into_iter().chain(words::sureness(&estimates)) {
        output.line(Tone::Plain, &commas(&line))?;
    }
    writeln!(output)?;
    summary(&estimates).print(output, "")?;
    print_calls(&inspection, &estimates, args.all, output)
}

fn summary(estimates: &Estimates) -> Table {
    let mut table = Table::new(&[
        ("estimator", Align::Left),
        ("next prompt", Align::Right),
        ("last call", Align::Right),
        ("mean error", Align::Right),
        ("lean", Align::Right),
        ("worst", Align::Right),
        ("", Align::Flexible),
    ]);
    for estimator in Estimator::ALL {
        let deviation = estimates.deviation(estimator);
        let last = estimates.last().and_then(|call| call.error(estimator));
        let of = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".to_owned()));
        table.push(vec![
            estimator.name().into(),
            of(estimates.now.of(estimator).map(estimated)),
            error_cell(last),
            of(deviation.map(|deviation| words::unsigned(deviation.mean))),
            of(deviation.map(|deviation| words::signed(deviation.bias))),
            of(deviation.map(|deviation| words::unsigned(deviation.max))),
            Cell::new(estimator.words(), Tone::Dim),
        ]);
    }
    table
}

fn error_cell(error: Option<f64>) -> Cell {
    let Some(error) = error else { return Cell::new("-", Tone::Dim) };
    let tone = if error.abs() > NOTABLE { Tone::Warning } else { Tone::Plain };
    Cell::new(&words::signed(error), tone)
}

fn print_calls(
    inspection: &Inspection,
    estimates: &Estimates,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let calls = &estimates.calls;
    if calls.is_empty() {
        return Ok(());
    }
    let shown = if all { calls.len() } else { SHOWN.min(calls.len()) };
    writeln!(output)?;
    let count = counted(calls.len() as u64, "call with a count", "calls with a count");
    let which =
        if shown < calls.len() { format!(", the last {shown} (--all: every one)") } else { String::new() };
    output.line(Tone::Strong, &format!("{count}{which}; the errors of each estimator"))?;
    let mut columns = vec![("entry", Align::Left), ("counted", Align::Right)];
    columns.extend(Estimator::ALL.map(|estimator| (estimator.name(), Align::Right)));
    columns.push(("", Align::Left));
    let mut table = Table::new(&columns);
    for call in &calls[calls.len() - shown..] {
        let mut row = vec![inspection.index.name(call.entry).into(), grouped(call.measured).into()];
        row.extend(Estimator::ALL.map(|estimator| error_cell(call.error(estimator))));
        row.push(Cell::new(if call.shrunk { "shrunk" } else { "" }, Tone::Dim));
        table.push(row);
    }
    table.print(output, "")?;
    print_left_out(estimates, output)
}

fn print_left_out(estimates: &Estimates, output: &mut Output) -> Result<(), Failure> {
    if estimates.calls.iter().any(|call| call.shrunk) {
        let why = "shrunk: fewer tokens than a call before while the context grew, as when it was pruned for this call; \
                   not in the errors above";
        output.line(Tone::Dim, why)?;
    }
    if estimates.copies > 0 {
        let copies = counted(estimates.copies as u64, "answer", "answers");
        output.line(
            Tone::Dim,
            &format!("{copies} left out: copied to this branch with the usage of another"),
        )?;
    }
    Ok(())
}

fn answer(inspection: &Inspection, estimates: &Estimates) -> Object {
    let calls = estimates.calls.iter().map(|call| call_value(inspection, call));
    let estimators = Estimator::ALL.map(|estimator| estimator_value(estimates, estimator));
    let tokenizer = Object::from([
        ("name", Value::from(estimates.bpe.vocabulary.name())),
        ("exact", Value::from(estimates.bpe.exact)),
    ]);
    let fit = estimates.calibration.as_ref().ok();
    Object::from([
        ("session", session_value(&inspection.session)),
        ("leaf", Value::from(inspection.context.leaf.map(|leaf| inspection.index.name(leaf)))),
        ("provider", Value::from(inspection.provider.as_str())),
        ("model", Value::from(inspection.model.as_str())),
        ("fixedTokens", Value::from(estimates.fixed)),
        ("tokenizer", Value::from(tokenizer)),
        ("calibration", fit.map_or(Value::Null, calibration_value)),
        ("chars", by_script(|script| Value::from(estimates.chars.chars(script)))),
        ("images", Value::from(estimates.images)),
        ("copies", Value::from(estimates.copies)),
        ("estimators", Value::from(estimators.to_vec())),
        ("calls", Value::from(calls.collect::<Vec<_>>())),
    ])
}

fn by_script(value: impl Fn(Script) -> Value) -> Value {
    Value::from(Script::ALL.map(|script| (script.name(), value(script))).into_iter().collect::<Object>())
}

/// A share in percent, to a tenth.
fn percent(share: f64) -> Value {
    Value::Number((share * 1000.0).round() / 10.0)
}

fn calibration_value(fit: &Calibration) -> Value {
    let factor = |script: Script| Value::Number((fit.factors[script as usize] * 1e6).round() / 1e6);
    Value::from(Object::from([
        ("tokensPerChar", by_script(factor)),
        ("ownFactor", by_script(|script| Value::from(fit.own[script as usize]))),
        ("fixedTokens", Value::from(fit.fixed.round() as u64)),
        ("growths", Value::from(fit.growths)),
        ("meanErrorPercent", percent(fit.deviation.mean)),
        ("maxErrorPercent", percent(fit.deviation.max)),
        ("aheadErrorPercent", fit.ahead.map_or(Value::Null, percent)),
    ]))
}

fn estimator_value(estimates: &Estimates, estimator: Estimator) -> Value {
    let deviation = estimates.deviation(estimator);
    let last = estimates.last().and_then(|call| call.error(estimator));
    let of = |share: Option<f64>| share.map_or(Value::Null, percent);
    Value::from(Object::from([
        ("name", Value::from(estimator.name())),
        ("now", Value::from(estimates.now.of(estimator))),
        ("calls", Value::from(deviation.map_or(0, |deviation| deviation.count))),
        ("meanErrorPercent", of(deviation.map(|deviation| deviation.mean))),
        ("biasPercent", of(deviation.map(|deviation| deviation.bias))),
        ("maxErrorPercent", of(deviation.map(|deviation| deviation.max))),
        ("lastErrorPercent", of(last)),
    ]))
}

fn call_value(inspection: &Inspection, call: &Call) -> Value {
    let numbers = Estimator::ALL.map(|estimator| (estimator.name(), Value::from(call.numbers.of(estimator))));
    Value::from(Object::from([
        ("entry", Value::from(inspection.index.name(call.entry))),
        ("line", Value::from(inspection.index.entry(call.entry).line)),
        ("measured", Value::from(call.measured)),
        ("shrunk", Value::from(call.shrunk)),
        ("estimates", Value::from(numbers.into_iter().collect::<Object>())),
    ]))
}
