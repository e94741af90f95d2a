//! A compaction that freed nothing: what it kept, with its summary, is as large as what there was.

use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, count, exact};

/// Share that must have gone.
const LEAST_FREED: f64 = 0.05;
/// A context of fewer estimated tokens is not worth a word.
const LEAST_TOKENS: u64 = 2_000;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let idle: Vec<(usize, _)> = case
        .compactions
        .iter()
        .enumerate()
        .filter(|(_, it)| it.estimated.0 >= LEAST_TOKENS)
        .filter(|(_, it)| it.estimated.1 as f64 > it.estimated.0 as f64 * (1.0 - LEAST_FREED))
        .collect();
    let (number, last) = *idle.last()?;
    let line = format!(
        "Compaction #{} freed nothing: ~{} tokens before, ~{} after; what it keeps (keepRecentTokens {}) is nearly all there is",
        number + 1,
        exact(last.estimated.0),
        exact(last.estimated.1),
        exact(case.inspection.configured.compaction.keep_recent_tokens.max(0.0) as u64),
    );
    let newest = number + 1 == case.compactions.len();
    let confidence = if newest { Confidence::Sure } else { Confidence::Possible };
    let counted = match last.counted {
        (Some(before), Some(after)) => {
            format!("the provider counted {} before it and {} behind it", exact(before), exact(after))
        }
        _ => format!("its entry says {} tokens before it", about(last.tokens_before.max(0.0) as u64)),
    };
    let of = format!("{} of {} freed nothing", idle.len(), count(case.compactions.len(), "compaction"));
    Some(
        Finding::new(Class::CompactionNoOp, confidence, line)
            .by("compaction 3.6")
            .seen(Evidence::new(counted).at([last.entry]).by("compaction 3.6"))
            .seen(Evidence::new(of).at(idle.iter().map(|(_, it)| it.entry)))
            .number("before", last.estimated.0 as f64)
            .number("after", last.estimated.1 as f64),
    )
}
