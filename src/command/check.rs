//! `clawscope check SESSION --budget N|PCT`: checks for scripts whether every call fits. The exit code is the answer.

use super::amount::{parse_amount, resolve_amount};
use super::environment::Invocation;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::replay::format_prompt;
use super::replay_json::rounded_value;
use super::replay_report::{ReplayReport, replay_session};
use super::ruleset::ruleset_json;
use super::session_output::session_json;
use crate::cli::{CheckArgs, StoreArgs};
use crate::format::{format_count, format_number};
use crate::js::{Object, Value};
use crate::replay::ModelCall;

const BUDGET_OPTION: &str = "--budget";

/// Prints the verdict in one line and returns `CheckFailed` where a call is over the budget.
pub(super) fn run(
    args: &CheckArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let requested = parse_amount(BUDGET_OPTION, &args.budget)?;
    let replayed = replay_session(&args.target.session, None, &args.overrides, place, invocation)?;
    let budget = resolve_amount(requested, BUDGET_OPTION, replayed.inputs.provider_window)?;
    // A percentage applies to the window of the call's own model, which may change within a session.
    let own = |call: &ModelCall| {
        requested.tokens(replayed.inputs.provider_window_of(call)).unwrap_or(f64::INFINITY)
    };
    let is_over = |at: &usize| {
        let call = &replayed.replay.simulated[*at];
        call.expected > own(&replayed.replay.calls[*at]) || call.overflowed || call.failed
    };
    let is_one = replayed.replay.calls.iter().all(|call| own(call) == budget);
    let words = if is_one {
        format!("{} tokens", format_number(budget as u64))
    } else {
        format!("{} of the model's window", requested.text())
    };
    let over: Vec<usize> = (0..replayed.replay.calls.len()).filter(is_over).collect();
    if args.target.json {
        output.json(report_json(&replayed, budget, &over))?;
    } else {
        let tone = if over.is_empty() { Tone::Plain } else { Tone::Warning };
        output.line(tone, &verdict_line(&replayed, &words, &over))?;
    }
    if over.is_empty() { Ok(()) } else { Err(Failure::CheckFailed) }
}

fn verdict_line(replayed: &ReplayReport, budget: &str, over: &[usize]) -> String {
    let key = &replayed.inspection.item.key.0;
    let replay = &replayed.replay;
    let calls = format_count(replay.calls.len() as u64, "call", "calls");
    let Some(first) = over.first() else {
        let [_, simulated] = replay.totals();
        let largest = simulated.peak.1.and_then(|at| replay.simulated.get(at));
        let peak = largest.map_or_else(|| "0".to_owned(), format_prompt);
        return format!("{key}: {calls} within {budget}, the largest has {peak} tokens");
    };
    let call = &replay.simulated[*first];
    let entry = replayed.inspection.index.display_id(replay.calls[*first].entry);
    let count = format_number(over.len() as u64);
    let what = if call.has_size() { format!("with {}", format_prompt(call)) } else { format_prompt(call) };
    format!("{key}: {count} of {calls} over {budget}, the first at {entry} (#{first}) {what}")
}

fn report_json(replayed: &ReplayReport, budget: f64, over: &[usize]) -> Object {
    let replay = &replayed.replay;
    let [_, simulated] = replay.totals();
    let first = over.first().map_or(Value::Null, |at| {
        Value::from(Object::from([
            ("index", Value::from(*at)),
            ("entry", Value::from(replayed.inspection.index.display_id(replay.calls[*at].entry))),
            ("time", rounded_value(replay.calls[*at].started)),
            ("tokens", rounded_value(replay.simulated[*at].expected)),
        ]))
    });
    Object::from([
        ("session", session_json(&replayed.inspection.item)),
        ("ruleset", ruleset_json(&replayed.inspection.ruleset)),
        ("budget", rounded_value(budget)),
        ("fits", Value::from(over.is_empty())),
        ("over", Value::from(over.len())),
        ("peak", rounded_value(simulated.peak.0)),
        ("peakCall", Value::from(simulated.peak.1)),
        ("calls", Value::from(replay.calls.len())),
        ("first", first),
    ])
}
