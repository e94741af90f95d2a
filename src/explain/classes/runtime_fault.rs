//! An overflow that nothing follows: no compaction, no rewrite and no answer, though the gateway should have tried.

use crate::explain::case::Case;
use crate::explain::classes::numbers_of;
use crate::explain::errors::Kind;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::ids::EntryIx;
use crate::inspect::Mark;
use crate::inspect::words::{moment, span};
use crate::policy::recovery::ErrorSource;
use crate::store::entry::{EntryKind, Role, StopReason};

/// No recovery takes so long, ms.
const LONG: f64 = 600_000.0;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let tries = case.inspection.upkeep.gateway && case.inspection.configured.compaction.enabled;
    let told = matches!(failure.overflow.kind, Kind::Refused(ErrorSource::Assistant | ErrorSource::Prompt));
    if !tries || !told {
        return None;
    }
    let first = first_of_row(case);
    stuck(case, failure, first).or_else(|| moved(case, failure))
}

/// The first of the refusals that no answer parts from the last one.
fn first_of_row(case: &Case<'_>) -> EntryIx {
    let index = &case.inspection.index;
    let mut first = case.overflows.last().map_or(EntryIx(0), |last| last.entry);
    for overflow in case.overflows.iter().rev().skip(1) {
        let between = overflow.entry.at() + 1..first.at();
        if between
            .clone()
            .any(|at| is_answer(&index.entries[at]) || index.entries[at].kind == EntryKind::Compaction)
        {
            break;
        }
        first = overflow.entry;
    }
    first
}

fn is_answer(entry: &crate::store::entry::Entry) -> bool {
    let failed = |stop| matches!(stop, StopReason::Error | StopReason::Aborted);
    entry.message.is_some_and(|size| size.role == Role::Assistant && !failed(size.stop))
}

/// Something was written long after it, and none of it is a recovery.
fn stuck(case: &Case<'_>, failure: &Failure, first: EntryIx) -> Option<Finding> {
    let index = &case.inspection.index;
    let since = index.entry(first).time;
    let later = || index.entries.since(first.at() + 1);
    let recovers = |entry: &&crate::store::entry::Entry| {
        is_answer(entry) || entry.kind == EntryKind::Compaction || entry.role() == Some(Role::ToolResult)
    };
    let recovered = later().find(recovers).map(|entry| entry.time - since);
    let last = later().map(|entry| entry.time - since).filter(|ms| ms.is_finite()).fold(0.0, f64::max);
    let idle = recovered.unwrap_or(last);
    // A compaction that came late is late all the same; an answer may have come of a person's own doing.
    if idle < LONG {
        return None;
    }
    let leaf = failure.then.context.leaf.map_or_else(|| "-".to_owned(), |ix| index.name(ix));
    let line = format!(
        "Overflow was detected but nothing was done about it for {}: no compaction entry follows; runtime fault, not settings; session file intact at leaf {leaf}",
        span(idle),
    );
    let confidence = if recovered.is_none() { Confidence::Sure } else { Confidence::Likely };
    Some(
        Finding::new(Class::RuntimeFault, confidence, line)
            .by("compaction 8.13")
            .seen(numbers_of(failure))
            .seen(Evidence::new("the first refusal without a recovery").at([first]).by("compaction 8.12"))
            .number("idleMs", idle),
    )
}

/// Its key names another session since.
fn moved(case: &Case<'_>, failure: &Failure) -> Option<Finding> {
    let index = &case.inspection.index;
    let item = &case.inspection.session;
    let successor = case.inspection.successor.as_ref();
    let left = item.has(Mark::Orphan) || item.has(Mark::Reset) || successor.is_some();
    let mut later = index.entries.since(failure.overflow.entry.at() + 1);
    if !left || later.any(|entry| is_answer(entry) || entry.kind == EntryKind::Compaction) {
        return None;
    }
    let entries = failure.then.context.path.len();
    let at = |ms: f64| moment(ms).map(|at| format!(" at {at}")).unwrap_or_default();
    let (line, confidence) = match successor {
        Some(successor) => (
            format!(
                "Key {} moved from session {} to {}{} without a compaction entry; the branch that was left ({} entries) is intact and can be forked",
                successor.key.0,
                item.id,
                successor.id,
                at(successor.started),
                entries,
            ),
            if successor.told { Confidence::Sure } else { Confidence::Likely },
        ),
        None => (
            format!(
                "No session key leads here since the overflow{}, and no compaction entry follows it: the chat went on in another session; this branch ({entries} entries) is intact and can be forked",
                at(failure.overflow.at),
            ),
            Confidence::Possible,
        ),
    };
    let leaf = failure.then.context.leaf;
    Some(
        Finding::new(Class::RuntimeFault, confidence, line)
            .by("compaction 8.19")
            .seen(numbers_of(failure))
            .seen(Evidence::new("the last entry before the overflow: a fork begins here").at(leaf))
            .number("entries", entries as f64),
    )
}
