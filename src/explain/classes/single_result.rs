//! One tool result that no context has room for.

use crate::explain::batch::Batch;
use crate::explain::case::Case;
use crate::explain::classes::{by_count, compared, numbers_of, overflow};
use crate::explain::finding::{Class, Evidence, Finding};
use crate::explain::words::{about, exact, percent};

/// Share of what fits that a result must take, to be the cause by itself.
const LEAST: f64 = 0.2;
/// Share of what all results of the turn take.
const MOST_OF_TURN: f64 = 0.8;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let batch = Batch::of(failure)?;
    let largest = batch.largest()?;
    if largest.tokens < LEAST * failure.limit as f64 || largest.tokens < MOST_OF_TURN * batch.tokens {
        return None;
    }
    let tool = case.tool(largest.entry);
    let size = failure.then.context.messages[largest.position].size;
    let line = format!(
        "{}: one {tool} result added {} tokens ({} of the prompt); {}; {}",
        overflow(failure),
        about(largest.tokens as u64),
        percent(largest.tokens, failure.requested as f64),
        batch.shield(case, failure),
        batch.cap_words(failure),
    );
    let before = failure.before.map(|(entry, tokens)| {
        Evidence::new(format!("the call before it was counted at {} tokens", exact(tokens))).at([entry])
    });
    let result = Evidence::new(format!(
        "the {tool} result: {} chars, {:.2} chars/token",
        exact(batch.chars),
        batch.chars_per_token()
    ));
    let mut finding = Finding::new(Class::SingleResult, by_count(failure), line)
        .by("pruning 5.12")
        .seen(numbers_of(failure))
        .seen(result.at([largest.entry]).by("pruning 5.12"))
        .number("over", failure.over() as f64)
        .number("resultTokens", largest.tokens.round())
        .number("resultChars", f64::from(size.text_chars))
        .number("share", largest.tokens / failure.requested as f64);
    finding.evidence.extend(before);
    finding.evidence.extend(compared(case, failure));
    finding.numbers.extend(batch.cap_chars(failure.limit).map(|cap| ("capChars", cap)));
    Some(finding)
}
