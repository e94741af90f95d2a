//! The stored counter says less than the session holds: it is of a call long ago, and what compares it sees nothing coming.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{exact, percent, told};

/// The counter must be below this share of what there is.
const LOW: f64 = 0.75;
/// Entries behind the counted call from which it is old.
const OLD: usize = 10;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let row = &case.inspection.upkeep.row;
    let stored = row.total_tokens.filter(|_| row.fresh != Some(false)).filter(|total| *total > 0.0)?;
    let (live, counted) = case.prompt();
    let near = case.failure.is_some() || live as f64 > case.trigger();
    if !near || stored >= LOW * live as f64 {
        return None;
    }
    let call = case.calls.iter().rev().find(|call| call.prompt == stored as u64);
    let place = call.and_then(|call| case.path.iter().rposition(|ix| *ix == call.entry));
    let since = place.map(|at| case.path.len() - 1 - at);
    // What the last turn brought is not the counter's fault.
    if since.is_some_and(|since| since < OLD) || since.is_none() && case.path.len() < OLD {
        return None;
    }
    let window = case.window();
    let behind = since.map_or_else(
        || "it is that of no call on this path".to_owned(),
        |since| format!("it predates the last {}", entries(since)),
    );
    let head = case.failure.as_ref().map(|failure| format!("{}: ", overflow(failure))).unwrap_or_default();
    let line = format!(
        "{head}Stored counter says {} ({}) but the path holds {}; {behind}; what compares the counter sees nothing coming",
        exact(stored as u64),
        percent(stored, window as f64),
        told(live, counted),
    );
    let confidence = if call.is_some() { Confidence::Sure } else { Confidence::Likely };
    let mut finding = Finding::new(Class::CounterStaleLow, confidence, line)
        .by("compaction 9.4")
        .number("stored", stored)
        .number("live", live as f64);
    finding.numbers.extend(since.map(|since| ("entriesSince", since as f64)));
    finding.evidence.extend(case.failure.as_ref().map(numbers_of));
    let seen = call.map(|call| {
        Evidence::new(format!("the call that the counter is of: {}", exact(call.prompt)))
            .at([call.entry])
            .by("compaction 9.11")
    });
    finding.evidence.extend(seen);
    Some(finding)
}

fn entries(number: usize) -> String {
    if number == 1 { "entry".to_owned() } else { format!("{} entries", exact(number as u64)) }
}
