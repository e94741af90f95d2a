//! A history that the summariser itself cannot take: what it would be sent is larger than the window, so that every try of a
//! compaction must fail as the call did.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::errors::Kind;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, count, exact};
use crate::ids::EntryIx;
use crate::inspect::summary::SummarySettings;
use crate::inspect::summary_calls::{CallsAsked, SummaryCalls};
use crate::policy::overflow::gateway::is_compaction_failure;
use crate::policy::recovery::ErrorSource;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let refused =
        matches!(failure.overflow.kind, Kind::Refused(ErrorSource::Assistant | ErrorSource::Prompt));
    // Without so much over the window nothing that is summarised can be.
    if !refused
        || failure.requested.saturating_sub(failure.fixed) <= failure.limit
        || case.compactions.iter().any(|it| it.entry > failure.overflow.entry)
    {
        return None;
    }
    let input = input(case, failure)?;
    if input <= failure.limit {
        return None;
    }
    let said = |text: &str| is_compaction_failure(text);
    let failed: Vec<EntryIx> = case
        .errors
        .iter()
        .filter(|it| said(&it.text))
        .map(|it| it.entry)
        .chain(case.overflows.iter().filter(|it| said(&it.text)).map(|it| it.entry))
        .collect();
    let from = failure.then.context.leaf;
    let branch = from.map(|ix| failure.then.index.name(ix)).unwrap_or_default();
    let line = format!(
        "{}: summariser input exceeds the same window ({} > {}): every retry must fail; needs a summary in chunks, or results cut first - or branch at entry {branch} and cut there",
        overflow(failure),
        about(input),
        exact(failure.limit),
    );
    let confidence = if failed.is_empty() { Confidence::Likely } else { Confidence::Sure };
    let tries = case.overflows.iter().filter(|it| matches!(it.kind, Kind::Refused(_))).count();
    let mut finding = Finding::new(Class::CompactionRefused, confidence, line)
        .by("compaction 3.19")
        .seen(numbers_of(failure))
        .seen(
            Evidence::new(format!("{}, and no compaction entry behind", count(tries, "refusal")))
                .at(case.overflows.iter().map(|it| it.entry)),
        )
        .seen(Evidence::new("the last entry before it: a branch from here keeps everything").at(from))
        .number("input", input as f64)
        .number("limit", failure.limit as f64)
        .number("over", failure.over() as f64);
    if !failed.is_empty() {
        finding = finding.seen(
            Evidence::new("the compaction itself was refused as too large").at(failed).by("compaction 8.6"),
        );
    }
    Some(finding)
}

/// Tokens of the largest call of the summary, by the provider's count.
fn input(case: &Case<'_>, failure: &Failure) -> Option<u64> {
    let then = &failure.then;
    let asked = CallsAsked {
        epoch: then.epoch,
        compaction: then.configured.compaction,
        summary_tokens: then.configured.summary_tokens,
    };
    let rules = then.ruleset.ruleset.rules();
    let summary = SummarySettings::of(rules, &then.config.js);
    let calls = SummaryCalls::tell(then, &asked, summary, case.now_ms).ok()?;
    // What is new weighs what the prompt grew by; of that which is old the ratio is known.
    let (old, new) = failure.factors;
    let estimate = failure.estimate().saturating_sub(failure.fixed).max(1) as f64;
    let counted = failure.requested.saturating_sub(failure.fixed) as f64;
    let factor = (counted / estimate).clamp(old.min(new), old.max(new));
    Some((calls.largest_input as f64 * factor) as u64)
}
