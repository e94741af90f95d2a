//! `clawscope context SESSION --estimators`: compares every token estimator with the provider's counts.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::session_output::{SessionJson, print_session_header, session_json};
use super::table::{Align, Cell, Table};
use crate::cli::{ContextViewArgs, StoreArgs};
use crate::context::tokens::calibration::Calibration;
use crate::context::tokens::script::Script;
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_deviation, format_number, format_signed_percent};
use crate::js::Members;
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
    let session = workspace.open_session(&named.session, output)?;
    let session = require_context(at_leaf(&workspace, session, args.context.leaf.as_deref())?)?;
    let estimates =
        read(&session, &mut |_, _| true).map_err(|error| Failure::unreadable(error.to_string()))?;
    if named.json {
        return Ok(output.json(&report_json(&session, &estimates))?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    output.line(Tone::Strong, &description::headline(&estimates))?;
    let lines = [description::describe_fixed(&estimates), description::describe_factors(&estimates)];
    for line in lines.into_iter().chain(description::describe_confidence(&estimates)) {
        output.line(Tone::Plain, &line)?;
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
        ("bias", Align::Right),
        ("worst", Align::Right),
        ("", Align::Left),
    ]);
    for estimator in Estimator::ALL {
        let deviation = estimates.deviation(estimator);
        let last = estimates.last_reliable_call().and_then(|call| call.error(estimator));
        let of = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".to_owned()));
        table.push(vec![
            estimator.name().into(),
            of(estimates.describe_next(estimator)),
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

/// Every token estimator compared with the provider's counts.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EstimatorsJson {
    session: SessionJson,
    leaf: Option<String>,
    provider: String,
    model: String,
    /// Tokens before the messages.
    fixed_tokens: Option<u64>,
    calibration: Option<CalibrationJson>,
    /// Chars of the context, by script.
    chars: Members<u64>,
    images: u64,
    /// Answers that are left out because they carry the usage of another branch.
    copies: usize,
    estimators: Vec<EstimatorJson>,
    /// The calls that a provider counted.
    calls: Vec<CountedCallJson>,
}

impl JsonOutput for EstimatorsJson {}

/// The estimates fitted to the provider's counts.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CalibrationJson {
    tokens_per_char: Members<f64>,
    /// Whether a script has a factor fitted to it alone.
    own_factor: Members<bool>,
    fixed_tokens: u64,
    /// Number of pairs of calls that it is fitted to.
    growths: usize,
    mean_error_percent: f64,
    max_error_percent: f64,
    /// Mean error at calls that it was not fitted to.
    ahead_error_percent: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EstimatorJson {
    name: &'static str,
    /// Tokens of the next prompt.
    now: Option<u64>,
    /// Number of calls behind the errors.
    calls: usize,
    mean_error_percent: Option<f64>,
    bias_percent: Option<f64>,
    max_error_percent: Option<f64>,
    last_error_percent: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct CountedCallJson {
    entry: String,
    /// Line in the file, from 1.
    line: u64,
    /// Tokens that the provider counted.
    measured: u64,
    /// Whether the count fell while the context grew.
    shrunk: bool,
    /// Tokens by estimator.
    estimates: Members<Option<u64>>,
}

fn report_json(session: &LoadedSession, estimates: &Estimates) -> EstimatorsJson {
    EstimatorsJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        provider: session.provider.clone(),
        model: session.model.clone(),
        fixed_tokens: estimates.fixed_tokens,
        calibration: estimates.calibration.as_ref().ok().map(calibration_json),
        chars: by_script(|script| estimates.chars.chars(script).whole()),
        images: estimates.images,
        copies: estimates.copies,
        estimators: Estimator::ALL.map(|estimator| estimator_json(estimates, estimator)).into(),
        calls: estimates.calls.iter().map(|call| call_json(session, call)).collect(),
    }
}

fn by_script<T>(value: impl Fn(Script) -> T) -> Members<T> {
    Script::ALL.map(|script| (script.name(), value(script))).into_iter().collect()
}

/// Converts a share to percent with one decimal.
fn percent(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}

fn calibration_json(fit: &Calibration) -> CalibrationJson {
    CalibrationJson {
        tokens_per_char: by_script(|script| (fit.factors[script as usize] * 1e6).round() / 1e6),
        own_factor: by_script(|script| fit.fitted_alone[script as usize]),
        fixed_tokens: fit.fixed_tokens.round() as u64,
        growths: fit.growths,
        mean_error_percent: percent(fit.deviation.mean),
        max_error_percent: percent(fit.deviation.max),
        ahead_error_percent: fit.holdout_error.map(percent),
    }
}

fn estimator_json(estimates: &Estimates, estimator: Estimator) -> EstimatorJson {
    let deviation = estimates.deviation(estimator);
    let last = estimates.last_reliable_call().and_then(|call| call.error(estimator));
    EstimatorJson {
        name: estimator.name(),
        now: estimates.next_prompt.get(estimator),
        calls: deviation.map_or(0, |deviation| deviation.count),
        mean_error_percent: deviation.map(|deviation| percent(deviation.mean)),
        bias_percent: deviation.map(|deviation| percent(deviation.bias)),
        max_error_percent: deviation.map(|deviation| percent(deviation.max)),
        last_error_percent: last.map(percent),
    }
}

fn call_json(session: &LoadedSession, call: &MeasuredCall) -> CountedCallJson {
    let estimates = Estimator::ALL.map(|estimator| (estimator.name(), call.estimates.get(estimator)));
    CountedCallJson {
        entry: session.index.display_id(call.entry),
        line: session.index.entry(call.entry).line,
        measured: call.measured,
        shrunk: call.shrunk,
        estimates: estimates.into_iter().collect(),
    }
}
