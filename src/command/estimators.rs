//! `clawscope context SESSION --estimators`: compares every token estimator with the provider's counts.

use std::io::Write as _;

use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::session_output::{print_session_header, session_json};
use super::table::{Align, Cell, Table};
use crate::cli::{ContextViewArgs, StoreArgs};
use crate::context::tokens::calibration::Calibration;
use crate::context::tokens::script::Script;
use crate::format::{
    format_count, format_deviation, format_estimate, format_number, format_signed_percent, with_commas,
};
use crate::js::{Object, Value};
use crate::report::estimators::{Estimates, Estimator, MeasuredCall, description, read};
use crate::session::LoadedSession;

/// Newest calls printed without `--all`.
const MAX_CALLS: usize = 20;
/// Relative error from which an estimate is highlighted.
const NOTABLE_ERROR: f64 = 0.1;

pub(super) fn run(
    args: &ContextViewArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = &args.context.target;
    let workspace = Workspace::for_session(&named.session, place, invocation)?;
    let session = workspace.open_session(&named.session)?;
    let session = require_context(at_leaf(&workspace, session, args.context.leaf.as_deref())?)?;
    let estimates =
        read(&session, &mut |_, _| true).map_err(|error| Failure::unreadable(error.to_string()))?;
    if named.json {
        return Ok(output.json(report_json(&session, &estimates))?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    output.line(Tone::Strong, &with_commas(&description::headline(&estimates)))?;
    let lines = [
        description::describe_fixed(&estimates),
        description::describe_tokenizer(&estimates, &session),
        description::describe_factors(&estimates),
    ];
    for line in lines.into_iter().chain(description::describe_confidence(&estimates)) {
        output.line(Tone::Plain, &with_commas(&line))?;
    }
    writeln!(output)?;
    estimator_table(&estimates).print(output, "")?;
    print_calls(&session, &estimates, args.all, output)
}

fn estimator_table(estimates: &Estimates) -> Table {
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
        let last = estimates.last_reliable_call().and_then(|call| call.error(estimator));
        let of = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".to_owned()));
        table.push(vec![
            estimator.name().into(),
            of(estimates.next_prompt.get(estimator).map(format_estimate)),
            error_cell(last),
            of(deviation.map(|deviation| format_deviation(deviation.mean))),
            of(deviation.map(|deviation| format_signed_percent(deviation.bias))),
            of(deviation.map(|deviation| format_deviation(deviation.max))),
            Cell::new(estimator.description(), Tone::Dim),
        ]);
    }
    table
}

fn error_cell(error: Option<f64>) -> Cell {
    let Some(error) = error else { return Cell::new("-", Tone::Dim) };
    let tone = if error.abs() > NOTABLE_ERROR { Tone::Warning } else { Tone::Plain };
    Cell::new(&format_signed_percent(error), tone)
}

fn print_calls(
    session: &LoadedSession,
    estimates: &Estimates,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let calls = &estimates.calls;
    if calls.is_empty() {
        return Ok(());
    }
    let shown = if all { calls.len() } else { MAX_CALLS.min(calls.len()) };
    writeln!(output)?;
    let count = format_count(calls.len() as u64, "call with a count", "calls with a count");
    let which = if shown < calls.len() {
        format!(", the last {shown} (--all shows every call)")
    } else {
        String::new()
    };
    output.line(Tone::Strong, &format!("{count}{which}; error of each estimator"))?;
    let mut columns = vec![("entry", Align::Left), ("counted", Align::Right)];
    columns.extend(Estimator::ALL.map(|estimator| (estimator.name(), Align::Right)));
    columns.push(("", Align::Left));
    let mut table = Table::new(&columns);
    for call in &calls[calls.len() - shown..] {
        let mut row = vec![session.index.display_id(call.entry).into(), format_number(call.measured).into()];
        row.extend(Estimator::ALL.map(|estimator| error_cell(call.error(estimator))));
        row.push(Cell::new(if call.shrunk { "shrunk" } else { "" }, Tone::Dim));
        table.push(row);
    }
    table.print(output, "")?;
    print_excluded_calls(estimates, output)
}

fn print_excluded_calls(estimates: &Estimates, output: &mut Output) -> Result<(), Failure> {
    if estimates.calls.iter().any(|call| call.shrunk) {
        let why = "shrunk: fewer tokens than the previous call although the context grew, for example because of pruning; \
                   not included in the errors above";
        output.line(Tone::Dim, why)?;
    }
    if estimates.copies > 0 {
        let copies = format_count(estimates.copies as u64, "answer", "answers");
        output.line(
            Tone::Dim,
            &format!("{copies} left out: copied to this branch with the usage of another branch"),
        )?;
    }
    Ok(())
}

fn report_json(session: &LoadedSession, estimates: &Estimates) -> Object {
    let calls = estimates.calls.iter().map(|call| call_value(session, call));
    let estimators = Estimator::ALL.map(|estimator| estimator_value(estimates, estimator));
    let tokenizer = Object::from([
        ("name", Value::from(estimates.bpe.vocabulary.name())),
        ("exact", Value::from(estimates.bpe.is_exact)),
    ]);
    let fit = estimates.calibration.as_ref().ok();
    Object::from([
        ("session", session_json(&session.item)),
        ("leaf", Value::from(session.context.leaf.map(|leaf| session.index.display_id(leaf)))),
        ("provider", Value::from(session.provider.as_str())),
        ("model", Value::from(session.model.as_str())),
        ("fixedTokens", Value::from(estimates.fixed_tokens)),
        ("tokenizer", Value::from(tokenizer)),
        ("calibration", fit.map_or(Value::Null, calibration_value)),
        ("chars", script_values(|script| Value::from(estimates.chars.chars(script)))),
        ("images", Value::from(estimates.images)),
        ("copies", Value::from(estimates.copies)),
        ("estimators", Value::from(estimators.to_vec())),
        ("calls", Value::from(calls.collect::<Vec<_>>())),
    ])
}

fn script_values(value: impl Fn(Script) -> Value) -> Value {
    Value::from(Script::ALL.map(|script| (script.name(), value(script))).into_iter().collect::<Object>())
}

/// Converts a share to percent with one decimal.
fn percent_value(share: f64) -> Value {
    Value::Number((share * 1000.0).round() / 10.0)
}

fn calibration_value(fit: &Calibration) -> Value {
    let factor = |script: Script| Value::Number((fit.factors[script as usize] * 1e6).round() / 1e6);
    Value::from(Object::from([
        ("tokensPerChar", script_values(factor)),
        ("ownFactor", script_values(|script| Value::from(fit.fitted_alone[script as usize]))),
        ("fixedTokens", Value::from(fit.fixed_tokens.round() as u64)),
        ("growths", Value::from(fit.growths)),
        ("meanErrorPercent", percent_value(fit.deviation.mean)),
        ("maxErrorPercent", percent_value(fit.deviation.max)),
        ("aheadErrorPercent", fit.holdout_error.map_or(Value::Null, percent_value)),
    ]))
}

fn estimator_value(estimates: &Estimates, estimator: Estimator) -> Value {
    let deviation = estimates.deviation(estimator);
    let last = estimates.last_reliable_call().and_then(|call| call.error(estimator));
    let of = |share: Option<f64>| share.map_or(Value::Null, percent_value);
    Value::from(Object::from([
        ("name", Value::from(estimator.name())),
        ("now", Value::from(estimates.next_prompt.get(estimator))),
        ("calls", Value::from(deviation.map_or(0, |deviation| deviation.count))),
        ("meanErrorPercent", of(deviation.map(|deviation| deviation.mean))),
        ("biasPercent", of(deviation.map(|deviation| deviation.bias))),
        ("maxErrorPercent", of(deviation.map(|deviation| deviation.max))),
        ("lastErrorPercent", of(last)),
    ]))
}

fn call_value(session: &LoadedSession, call: &MeasuredCall) -> Value {
    let numbers =
        Estimator::ALL.map(|estimator| (estimator.name(), Value::from(call.estimates.get(estimator))));
    Value::from(Object::from([
        ("entry", Value::from(session.index.display_id(call.entry))),
        ("line", Value::from(session.index.entry(call.entry).line)),
        ("measured", Value::from(call.measured)),
        ("shrunk", Value::from(call.shrunk)),
        ("estimates", Value::from(numbers.into_iter().collect::<Object>())),
    ]))
}
