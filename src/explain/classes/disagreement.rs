//! The estimators that disagree: which number the gateway compared with what, what else it keeps of the same prompt, and what
//! the provider measured.

use crate::explain::case::Case;
use crate::explain::classes::{COUNT_AND_SINCE, OWN_COUNT};
use crate::explain::finding::Evidence;
use crate::explain::simulate::{last_check, looks_between_turns};
use crate::explain::words::{about, exact, told};
use crate::ids::EntryIx;

/// All of them in one line. The entry is that of the answer whose count was compared.
pub(super) fn evidence(case: &Case<'_>) -> Evidence {
    let trigger = exact(case.trigger().max(0.0) as u64);
    let (compared, entry) = compared(case);
    let compared = match compared {
        Some(tokens) => {
            let within = case.failure.as_ref().is_some_and(|failure| looks_between_turns(&failure.then));
            let count = if within { COUNT_AND_SINCE } else { OWN_COUNT };
            format!("compaction compared {}, {count}, with {trigger}", exact(tokens as u64))
        }
        None => format!("compaction had no count yet to compare with {trigger}"),
    };
    let row = &case.inspection.upkeep.row;
    let stored = row.total_tokens.filter(|tokens| *tokens >= 0.0);
    let stale = if row.fresh == Some(false) { ", called stale" } else { "" };
    let stored =
        stored.map_or_else(|| "none".to_owned(), |tokens| format!("{}{stale}", exact(tokens as u64)));
    let estimate = match &case.failure {
        Some(failure) => failure.estimate(),
        None => case.inspection.budget().total(),
    };
    let index = &case.inspection.index;
    let bytes: u64 = case.path.iter().map(|ix| u64::from(index.entry(*ix).bytes)).sum();
    let (prompt, counted) = case.prompt();
    let measured = match (counted, case.calls.last()) {
        (true, _) => format!("the provider counts {}", exact(prompt)),
        (false, Some(call)) => format!("the provider last counted {}", exact(call.prompt)),
        (false, None) => "the provider counted nothing".to_owned(),
    };
    let text = format!(
        "{compared}; stored counter {stored}; chars / 4 {}; bytes / 4 {}; {measured}",
        told(estimate, false),
        about(bytes / 4),
    );
    Evidence::new(text).at(entry).by("compaction 2.11")
}

/// What the trigger saw before the failing run, else what it sees now.
fn compared(case: &Case<'_>) -> (Option<f64>, Option<EntryIx>) {
    let check = match &case.failure {
        Some(failure) => last_check(failure, &case.calls).map(|check| (check.tokens, check.entry)),
        None => case.calls.last().map(|call| (call.context_tokens, call.entry)),
    };
    let check = check.filter(|(tokens, _)| tokens.is_finite());
    (check.map(|(tokens, _)| tokens), check.map(|(_, entry)| entry))
}
