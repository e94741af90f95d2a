//! `clawscope check SESSION --budget N|PCT`: checks for scripts whether every call fits. The exit code is the answer.

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::replay::format_prompt;
use super::replay_report::{ReplayReport, replay_session};
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{SessionJson, finite, rounded, session_json};
use crate::cli::{CheckArgs, StoreArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::number::Amount;
use crate::format::{format_count, format_number, format_ordinal};
use crate::replay::{CallReplay, ModelCall};
use crate::units::{Moment, Tokens};

const BUDGET_OPTION: &str = "--budget";

/// Prints the verdict in one line and returns `CheckFailed` where a call is over the budget.
pub(super) fn run(
    args: &CheckArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let requested = parse_amount(BUDGET_OPTION, &args.budget)?;
    let replayed = replay_session(&args.target.session, None, &args.overrides, (place, invocation), output)?;
    let budget = resolve_amount(requested, BUDGET_OPTION, replayed.inputs.provider_window)?;
    // A percentage applies to the window of the call's own model, which may change within a session.
    let own = |call: &ModelCall| {
        requested.tokens(replayed.inputs.provider_window_of(call)).unwrap_or(Tokens(f64::INFINITY))
    };
    // The replay decides whether a call fits the whole window: an answered call fitted, with any count.
    let is_whole_window = matches!(requested, Amount::Share(share) if share >= 1.0);
    let is_large = |at: &usize| replayed.replay.simulated[*at].expected > own(&replayed.replay.calls[*at]);
    let is_refused = |at: &usize| {
        let call = &replayed.replay.simulated[*at];
        call.overflowed || call.failed
    };
    let is_one = replayed.replay.calls.iter().all(|call| own(call) == budget);
    let words = if is_one {
        let owner = if is_whole_window { "the provider's " } else { "" };
        format!("{owner}{} tokens", format_number(budget.floor()))
    } else {
        format!("{} of the model's window", requested.text())
    };
    let over: Vec<usize> = (0..replayed.replay.calls.len())
        .filter(|at| is_refused(at) || !is_whole_window && is_large(at))
        .collect();
    let refused = match over.len() {
        _ if over.iter().all(is_large) => "",
        1 => " or is refused",
        _ => " or are refused",
    };
    let words = format!("{words}{refused}");
    if args.target.json {
        output.json(&report_json(&replayed, budget, &over))?;
    } else {
        let tone = if over.is_empty() { Tone::Plain } else { Tone::Warning };
        let verdict = verdict_line(&replayed, (&words, budget), &over);
        output.line(tone, &format!("{verdict}{}", describe_unjudged(&replayed)))?;
        if is_whole_window && args.overrides.window.is_some() {
            output.note(
                "note: --window is what the gateway assumes; `--budget N` judges the calls by another limit",
            )?;
        }
        if let Some(error) = &replayed.session.config.error {
            output
                .line(Tone::Bad, &format!("the configuration cannot be read, so defaults apply: {error}"))?;
        }
    }
    if over.is_empty() { Ok(()) } else { Err(Failure::CheckFailed) }
}

fn verdict_line(replayed: &ReplayReport, (words, budget): (&str, Tokens), over: &[usize]) -> String {
    let key = &replayed.session.item.key.0;
    let replay = &replayed.replay;
    let calls = format_count(replay.calls.len() as u64, "call", "calls");
    let Some(first) = over.first() else {
        let [_, simulated] = replay.totals();
        let largest = simulated.peak.1.and_then(|at| replay.simulated.get(at));
        let all = if replay.calls.len() == 1 {
            "the only call fits".to_owned()
        } else {
            format!("all {calls} fit")
        };
        if let Some(line) = unanswered_line(replayed, words, largest) {
            return format!("{key}: {line}");
        }
        let peak = largest.map_or_else(|| "0".to_owned(), format_prompt);
        if largest.is_some_and(|call| call.expected > budget) {
            return format!("{key}: no overflow in {calls}; the largest prompt has {peak} tokens");
        }
        return format!("{key}: {all} within {words}; the largest prompt has {peak} tokens");
    };
    let call = &replay.simulated[*first];
    let entry = replayed.session.index.display_id(replay.calls[*first].entry);
    let count = format_number(over.len() as u64);
    let what = if call.has_size() { format!("with {}", format_prompt(call)) } else { format_prompt(call) };
    let verb = if over.len() == 1 { "exceeds" } else { "exceed" };
    format!(
        "{key}: {count} of {calls} {verb} {words}; the first is {} ({entry}) {what}",
        format_ordinal(*first)
    )
}

/// Names the calls that another branch made: after a commit, those whose answers it copied.
fn describe_unjudged(replayed: &ReplayReport) -> String {
    match replayed.calls_elsewhere() {
        0 => String::new(),
        1 => "; 1 call on another branch is not judged".to_owned(),
        calls => format!("; {} calls on other branches are not judged", format_number(calls as u64)),
    }
}

/// Describes newest calls that failed for another reason than their size: no prompt of theirs can be judged.
fn unanswered_line(replayed: &ReplayReport, words: &str, largest: Option<&CallReplay>) -> Option<String> {
    let last = replayed.session.last_calls();
    let error = last.error?;
    let failed = format_count(last.failed.len() as u64, "call", "calls");
    let class = error.class.as_str();
    Some(match largest.filter(|call| call.expected > Tokens::ZERO) {
        Some(largest) => format!(
            "the last {failed} failed ({class}), not for their size; all others fit within {words}; the largest prompt has {} tokens",
            format_prompt(largest)
        ),
        None => {
            format!("no call was answered: {failed} failed ({class}), not known to be too large for {words}")
        }
    })
}

/// The check of every call against a budget. Tokens are whole.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckJson {
    session: SessionJson,
    ruleset: RulesetJson,
    /// Tokens.
    budget: Option<Tokens>,
    fits: bool,
    /// How the newest calls ended: `overflow`, `refused`, `silent-cut`, `failing` or `healthy`.
    state: &'static str,
    /// Number of calls over the budget.
    over: usize,
    /// The largest prompt in tokens.
    peak: Option<Tokens>,
    /// Index of its call, from 0.
    peak_call: Option<usize>,
    calls: usize,
    /// The first call over the budget.
    first: Option<CallOverBudgetJson>,
}

impl JsonOutput for CheckJson {}

#[derive(Serialize, JsonSchema)]
struct CallOverBudgetJson {
    /// From 0.
    index: usize,
    entry: String,
    /// Start, ms since 1970.
    time: Option<Moment>,
    tokens: Option<Tokens>,
}

fn report_json(replayed: &ReplayReport, budget: Tokens, over: &[usize]) -> CheckJson {
    let replay = &replayed.replay;
    let [_, simulated] = replay.totals();
    let first = |at: &usize| CallOverBudgetJson {
        index: *at,
        entry: replayed.session.index.display_id(replay.calls[*at].entry),
        time: finite(replay.calls[*at].started.round()),
        tokens: rounded(replay.simulated[*at].expected),
    };
    CheckJson {
        session: session_json(&replayed.session.item),
        ruleset: ruleset_json(&replayed.session.ruleset),
        budget: rounded(budget),
        fits: over.is_empty(),
        state: replayed.session.last_calls().state.as_str(),
        over: over.len(),
        peak: rounded(simulated.peak.0),
        peak_call: simulated.peak.1,
        calls: replay.calls.len(),
        first: over.first().map(first),
    }
}

pub(super) fn parse_amount(option: &str, text: &str) -> Result<Amount, Failure> {
    let wrong = || Failure::usage(format!("{option} {:?}: expected {}", text.trim(), Amount::EXPECTED));
    Amount::parse(text).ok_or_else(wrong)
}

/// Converts an amount to tokens of `window`.
pub(super) fn resolve_amount(amount: Amount, option: &str, window: Tokens) -> Result<Tokens, Failure> {
    amount.tokens(window).ok_or_else(|| {
        Failure::usage(format!(
            "{option}: the window of the model is unknown, so clawscope cannot compute a share of it. Give tokens instead."
        ))
    })
}
