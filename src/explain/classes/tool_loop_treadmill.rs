//! Compactions that work and are filled up again by the same loop of tools, with no idle time for pruning in between; and one
//! long run that outgrows the window before the next check (compaction 2.9).

use crate::explain::case::Case;
use crate::explain::classes::{by_count, compared, numbers_of, overflow};
use crate::explain::compactions::Compaction;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::gates;
use crate::explain::simulate::{last_check, looks_between_turns};
use crate::explain::words::{about, count, exact, percent};
use crate::ids::EntryIx;
use crate::inspect::words::span;
use crate::store::entry::Role;

/// Share of the prompt that tool results must take.
const LEAST_RESULTS: f64 = 0.45;
/// Compactions that make a treadmill by themselves.
const SEVERAL: usize = 3;
/// Share of the trigger to which the context must have been filled again.
const REFILLED: f64 = 0.5;
/// Calls of one run that make it a loop.
const LOOP: usize = 4;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let refilled: Vec<&Compaction> = case.compactions.iter().filter(|it| is_refilled(case, it)).collect();
    match &case.failure {
        Some(failure) => at_overflow(case, failure, &refilled),
        None if refilled.len() >= SEVERAL => Some(at_rest(case, &refilled)),
        None => None,
    }
}

/// It freed something, and results took the room again.
fn is_refilled(case: &Case<'_>, compaction: &Compaction) -> bool {
    let freed = compaction.estimated.1 < compaction.estimated.0 * 9 / 10;
    let again = compaction.refilled_to.is_some_and(|to| to as f64 >= REFILLED * case.trigger());
    freed && again && compaction.refill_results >= LEAST_RESULTS
}

fn at_overflow(case: &Case<'_>, failure: &Failure, refilled: &[&Compaction]) -> Option<Finding> {
    let results = failure.tokens_of(Role::ToolResult);
    let share = results / failure.requested.max(1) as f64;
    let run = calls_of_run(case);
    let before: Vec<&&Compaction> = refilled.iter().filter(|it| it.entry < failure.overflow.entry).collect();
    if share < LEAST_RESULTS || run < LOOP && before.is_empty() {
        return None;
    }
    let gate = gates::at_failure(failure);
    let line = format!(
        "{}: tool results are {} of the prompt{}{}",
        overflow(failure),
        percent(results, failure.requested as f64),
        match before.len() {
            0 => format!("; one run of {} outgrew the window, {}", count(run, "call"), unseen(case, failure)),
            1 => ", one compaction worked and was refilled by the same tool loop".to_owned(),
            several => format!(", {several} compactions worked and were refilled by the same tool loop"),
        },
        gates::phrase(case, gate).map(|phrase| format!("; {phrase}")).unwrap_or_default(),
    );
    let finding = Finding::new(Class::ToolLoopTreadmill, by_count(failure), line)
        .by("compaction 2.9")
        .seen(numbers_of(failure))
        .seen(heaviest(case, failure, results))
        .number("over", failure.over() as f64)
        .number("resultTokens", results.round())
        .number("compactions", before.len() as f64)
        .number("callsOfRun", run as f64);
    let mut finding = with_rounds(finding, case, refilled);
    finding.evidence.extend(compared(case, failure));
    Some(finding)
}

/// Why no compaction came in between.
fn unseen(case: &Case<'_>, failure: &Failure) -> String {
    let check = last_check(failure, &case.calls).filter(|_| looks_between_turns(&failure.then));
    match check {
        Some(check) => format!(
            "and before the last of them pi took it for {} of {}",
            about(check.tokens.max(0.0) as u64),
            exact(case.trigger().max(0.0) as u64),
        ),
        None if looks_between_turns(&failure.then) => "and pi had no count to see it by".to_owned(),
        None => "and compaction is not checked within a run".to_owned(),
    }
}

fn at_rest(case: &Case<'_>, refilled: &[&Compaction]) -> Finding {
    let gate = gates::at_last_call(case);
    let line = format!(
        "{} worked and were refilled by the same tool loop{}",
        count(refilled.len(), "compaction"),
        gates::phrase(case, gate).map(|phrase| format!("; {phrase}")).unwrap_or_default(),
    );
    let finding = Finding::new(Class::ToolLoopTreadmill, Confidence::Sure, line)
        .by("compaction 2.9")
        .number("compactions", refilled.len() as f64);
    with_rounds(finding, case, refilled)
}

/// A line for each of the last rounds.
fn with_rounds(mut finding: Finding, case: &Case<'_>, refilled: &[&Compaction]) -> Finding {
    for compaction in refilled.iter().rev().take(3).rev() {
        let before = compaction.counted.0.map_or_else(|| about(compaction.estimated.0), exact);
        let next = case.compactions.iter().find(|it| it.entry > compaction.entry).map(|it| it.at);
        let end = next.or_else(|| case.failure.as_ref().map(|failure| failure.overflow.at));
        let took = end.map(|end| end - compaction.at).filter(|took| *took > 0.0);
        let text = format!(
            "compaction at {before} left {}; refilled to {}{}, {} of it tool results",
            compaction.counted.1.map_or_else(|| about(compaction.estimated.1), exact),
            compaction.refilled_to.map_or_else(|| "-".to_owned(), exact),
            took.map(|took| format!(" in {}", span(took))).unwrap_or_default(),
            percent(compaction.refill_results, 1.0),
        );
        finding = finding.seen(Evidence::new(text).at([compaction.entry]).by("compaction 2.7"));
    }
    finding
}

/// The results of the failed call: how many, of which tool most.
fn heaviest(case: &Case<'_>, failure: &Failure, tokens: f64) -> Evidence {
    let messages = &failure.then.context.messages;
    let mut results: Vec<(u32, EntryIx)> = messages
        .iter()
        .filter(|it| it.size.role == Role::ToolResult)
        .map(|it| (it.size.text_chars, it.entry))
        .collect();
    results.sort_by_key(|(chars, _)| std::cmp::Reverse(*chars));
    let largest = results.first().map(|(chars, entry)| {
        format!(", the largest from {} with {} chars", case.tool(*entry), exact(u64::from(*chars)))
    });
    let text = format!(
        "{} hold {} of {} tokens{}",
        count(results.len(), "tool result"),
        about(tokens as u64),
        exact(failure.requested),
        largest.unwrap_or_default()
    );
    Evidence::new(text).at(results.into_iter().map(|(_, entry)| entry).take(20))
}

/// Calls since the last user message.
fn calls_of_run(case: &Case<'_>) -> usize {
    let asked = case.asked().last().copied();
    case.calls.iter().rev().take_while(|call| asked.is_none_or(|asked| call.entry > asked)).count()
}
