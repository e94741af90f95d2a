//! `clawscope check SESSION --budget N|PCT`: whether every call fits, for scripts.

use super::amount::{amount_tokens, parse_amount};
use super::described::session_value;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::replay::{Replayed, make, prompt};
use super::replay_json::whole;
use super::ruleset::ruleset_value;
use super::scene::Around;
use super::words::{counted, grouped};
use crate::cli::{CheckArgs, PlaceArgs};
use crate::js::{Object, Value};
use crate::replay::Call;

/// The option of the budget.
const BUDGET: &str = "--budget";

/// Answers in one line and by the exit code.
pub(super) fn run(
    args: &CheckArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let asked = parse_amount(BUDGET, &args.budget)?;
    let replayed = make(&args.session.session, None, &args.with, place, around)?;
    let budget = amount_tokens(asked, BUDGET, replayed.material.provider_window)?;
    // A share is one of the window that the call was made with.
    let own = |call: &Call| asked.tokens(replayed.material.window_of(call)).unwrap_or(f64::INFINITY);
    let is_over = |at: &usize| {
        let call = &replayed.replay.simulated[*at];
        call.expected > own(&replayed.replay.calls[*at]) || call.overflow || call.failed
    };
    let is_one = replayed.replay.calls.iter().all(|call| own(call) == budget);
    let words = if is_one {
        format!("{} tokens", grouped(budget as u64))
    } else {
        format!("{} of the window of its model", asked.text())
    };
    let over: Vec<usize> = (0..replayed.replay.calls.len()).filter(is_over).collect();
    if args.session.json {
        output.json(answer(&replayed, budget, &over))?;
    } else {
        let tone = if over.is_empty() { Tone::Plain } else { Tone::Warning };
        output.line(tone, &line(&replayed, &words, &over))?;
    }
    if over.is_empty() { Ok(()) } else { Err(Failure::No) }
}

fn line(replayed: &Replayed, budget: &str, over: &[usize]) -> String {
    let key = &replayed.inspection.session.key.0;
    let replay = &replayed.replay;
    let calls = counted(replay.calls.len() as u64, "call", "calls");
    let Some(first) = over.first() else {
        let [_, simulated] = replay.totals();
        let largest = simulated.peak.1.and_then(|at| replay.simulated.get(at));
        let peak = largest.map_or_else(|| "0".to_owned(), prompt);
        return format!("{key}: {calls}, the largest {peak} tokens: all within {budget}");
    };
    let call = &replay.simulated[*first];
    let entry = replayed.inspection.index.name(replay.calls[*first].entry);
    let count = grouped(over.len() as u64);
    let what = if call.is_sized() { format!("with {}", prompt(call)) } else { prompt(call) };
    format!("{key}: {count} of {calls} over {budget}, the first at {entry} (#{first}) {what}")
}

fn answer(replayed: &Replayed, budget: f64, over: &[usize]) -> Object {
    let replay = &replayed.replay;
    let [_, simulated] = replay.totals();
    let first = over.first().map_or(Value::Null, |at| {
        Value::from(Object::from([
            ("index", Value::from(*at)),
            ("entry", Value::from(replayed.inspection.index.name(replay.calls[*at].entry))),
            ("time", whole(replay.calls[*at].started)),
            ("tokens", whole(replay.simulated[*at].expected)),
        ]))
    });
    Object::from([
        ("session", session_value(&replayed.inspection.session)),
        ("ruleset", ruleset_value(&replayed.inspection.ruleset)),
        ("budget", whole(budget)),
        ("fits", Value::from(over.is_empty())),
        ("over", Value::from(over.len())),
        ("peak", whole(simulated.peak.0)),
        ("peakCall", Value::from(simulated.peak.1)),
        ("calls", Value::from(replay.calls.len())),
        ("first", first),
    ])
}
