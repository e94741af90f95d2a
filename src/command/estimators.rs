//! `clawscope context SESSION --estimators`: compares every token estimator with the provider's counts.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, print_session_header, session_json};
use crate::cli::{ContextViewArgs, StoreArgs};
use crate::context::tokens::calibration::Calibration;
use crate::context::tokens::script::Script;
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::js::Members;
use crate::report::estimators::{Estimates, Estimator, MeasuredCall, read};
use crate::session::LoadedSession;

/// Newest calls printed without `--all`.
const MAX_CALLS: usize = 20;

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
    let doc = estimates.doc(&session, if args.all { usize::MAX } else { MAX_CALLS });
    output.line(Tone::Strong, &doc.headline)?;
    output.doc(&doc)?;
    if !args.all && estimates.calls.len() > MAX_CALLS {
        output.line(Tone::Dim, "--all lists every call")?;
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
