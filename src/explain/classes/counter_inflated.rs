//! The stored counter says more than the session holds: sums over many calls, which look like an overflow and are none.

use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{exact, told};

/// The session must be below this share of the counter.
const HIGH: f64 = 0.7;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let row = &case.inspection.upkeep.row;
    let stored = row.total_tokens?;
    let window = case.inspection.window.tokens;
    let (live, counted) = case.prompt();
    let looks_over = window > 0.0 && stored > window;
    if case.failure.is_some() || !looks_over || live as f64 > window || live as f64 >= HIGH * stored {
        return None;
    }
    let sum = sum(case, stored);
    let parts = sum.clone().map(|parts| format!(" = {parts}")).unwrap_or_default();
    let line = format!(
        "Not an overflow: stored total {}{parts}; the live path is about {}",
        exact(stored as u64),
        told(live, counted)
    );
    let confidence = if sum.is_some() || counted { Confidence::Sure } else { Confidence::Likely };
    let last = case.calls.last();
    let seen = last.map(|call| {
        Evidence::new(format!("the last call was counted at {} tokens", exact(call.prompt)))
            .at([call.entry])
            .by("compaction 9.11")
    });
    let mut finding = Finding::new(Class::CounterInflated, confidence, line)
        .by("compaction 9.11")
        .number("stored", stored)
        .number("live", live as f64);
    finding.evidence.extend(seen);
    Some(finding)
}

/// Which of the row's other counters add up to the total.
fn sum(case: &Case<'_>, total: f64) -> Option<String> {
    let row = &case.inspection.upkeep.row;
    let (input, read, write) = (row.input?, row.cache_read.unwrap_or(0.0), row.cache_write.unwrap_or(0.0));
    let parts = [("input", input), ("cumulative cacheRead", read), ("cacheWrite", write)];
    let all = input + read + write == total;
    let without_write = input + read == total;
    let shown = parts.iter().take(if all { 3 } else { 2 }).filter(|(_, tokens)| *tokens > 0.0);
    let words = shown.map(|(name, tokens)| format!("{name} {}", exact(*tokens as u64)));
    (all || without_write).then(|| words.collect::<Vec<_>>().join(" + "))
}
