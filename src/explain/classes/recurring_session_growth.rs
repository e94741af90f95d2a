//! The same job, or the same heartbeat, run in the same session again and again: every run pays for all runs before it.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, count, exact};
use crate::ids::EntryIx;

/// Runs below which nothing recurs.
const LEAST_RUNS: usize = 10;
/// Share of the user messages that must be the same.
const SAME: f64 = 0.6;
/// How much larger the last prompt must be than the first.
const GROWN: u64 = 3;
/// Share of the window from which that is worth a word without an overflow.
const LARGE: f64 = 0.3;
/// Chars below which messages are the same length by chance.
const LEAST_CHARS: u32 = 24;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let same = recurring(case)?;
    let first = case.calls.iter().find(|call| same.first().is_some_and(|ix| call.entry > *ix))?;
    let (last, counted) = case.prompt();
    let window = case.failure.as_ref().map_or(case.window(), |failure| failure.limit);
    let large = case.failure.is_some() || last as f64 >= LARGE * window as f64;
    if last < first.prompt * GROWN || !large {
        return None;
    }
    let each = (last - first.prompt) / same.len() as u64;
    let left = window.saturating_sub(last).checked_div(each).unwrap_or(0);
    let (head, tail) = match &case.failure {
        Some(failure) => (format!("{}: the", overflow(failure)), String::new()),
        None => ("The".to_owned(), format!("; full in about {}", count(left as usize, "run"))),
    };
    let line = format!(
        "{head} same job ran {} times in one session: {} -> {} tokens, {} more each run{tail}; give it a session of its own",
        exact(same.len() as u64),
        exact(first.prompt),
        exact(last),
        about(each),
    );
    let confidence = if counted { Confidence::Sure } else { Confidence::Likely };
    let mut finding = Finding::new(Class::RecurringSessionGrowth, confidence, line)
        .by("store D4")
        .number("runs", same.len() as f64)
        .number("first", first.prompt as f64)
        .number("last", last as f64)
        .number("perRun", each as f64);
    finding.evidence.extend(case.failure.as_ref().map(numbers_of));
    let text = format!("{} of the same length", count(same.len(), "user message"));
    Some(
        finding
            .seen(Evidence::new(text).at(same))
            .seen(Evidence::new(format!("the first run: {} tokens", exact(first.prompt))).at([first.entry])),
    )
}

/// The user messages of the length that most of them have.
fn recurring(case: &Case<'_>) -> Option<Vec<EntryIx>> {
    let index = &case.inspection.index;
    let asked: Vec<(EntryIx, u32)> =
        case.asked().into_iter().filter_map(|ix| Some((ix, index.entry(ix).message?.text_chars))).collect();
    let mut lengths: Vec<u32> = asked.iter().map(|(_, chars)| *chars).collect();
    lengths.sort_unstable();
    let usual = lengths.chunk_by(|a, b| a == b).max_by_key(|chunk| chunk.len())?;
    let (chars, runs) = (usual[0], usual.len());
    let recurs = runs >= LEAST_RUNS && chars >= LEAST_CHARS && runs as f64 >= SAME * asked.len() as f64;
    recurs.then(|| asked.into_iter().filter(|(_, own)| *own == chars).map(|(ix, _)| ix).collect())
}
