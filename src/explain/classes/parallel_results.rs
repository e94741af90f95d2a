//! Several results of one turn, none of them too large alone.

use crate::explain::batch::Batch;
use crate::explain::case::Case;
use crate::explain::classes::{by_count, compared, numbers_of, overflow};
use crate::explain::finding::{Class, Evidence, Finding};
use crate::explain::words::{about, count, exact};

/// Share of what fits that the results must take together.
const LEAST: f64 = 0.2;
/// With one result that takes more of the turn than this, it is that one alone.
const ONE_ALONE: f64 = 0.8;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let batch = Batch::of(failure)?;
    let largest = batch.largest()?;
    let share = batch.tokens / failure.limit as f64;
    if batch.results.len() < 2 || share < LEAST || largest.tokens >= ONE_ALONE * batch.tokens {
        return None;
    }
    let line = format!(
        "{}: {} ({} chars) in one turn at {:.2} chars/token; {}; {}",
        overflow(failure),
        count(batch.results.len(), "parallel result"),
        exact(batch.chars),
        batch.chars_per_token(),
        batch.shield(case, failure),
        batch.cap_words(failure),
    );
    let mut finding = Finding::new(Class::ParallelResults, by_count(failure), line)
        .by("pruning 5.12")
        .seen(numbers_of(failure))
        .number("over", failure.over() as f64)
        .number("results", batch.results.len() as f64)
        .number("chars", batch.chars as f64)
        .number("charsPerToken", batch.chars_per_token());
    finding.numbers.extend(batch.cap_chars(failure.limit).map(|cap| ("capChars", cap)));
    for result in &batch.results {
        let text = format!(
            "{}: {} chars, {} tokens",
            case.tool(result.entry),
            exact(result.chars),
            about(result.tokens as u64)
        );
        finding = finding.seen(Evidence::new(text).at([result.entry]).by("pruning 5.12"));
    }
    finding.evidence.extend(compared(case, failure));
    Some(finding)
}
