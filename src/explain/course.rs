//! The newest calls of the failing path with their tokens, and the lines that they ran into: the window that the runtime
//! believed in, the one that the provider serves, and the trigger of compaction.

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::rehearsal::Rehearsal;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::overflow::Overflow;
use crate::store::entry::EntryKind;
use crate::store::intern::WordIx;

/// Calls that are kept.
const SHOWN: usize = 40;
/// Calls after the failing one that are kept with it.
const AFTER: usize = 6;

/// One call of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallPoint {
    /// Its place among the calls of the path, from 1 on.
    pub number: usize,
    /// Its answer, or the note of its refusal.
    pub entry: EntryIx,
    /// When its answer was written, ms since the epoch; NaN where nothing says.
    pub at: f64,
    /// Tokens of its prompt.
    pub tokens: u64,
    /// Whether a provider counted them.
    pub exact: bool,
    /// Whether it did not fit.
    pub refused: bool,
    /// Whether a compaction lies between the call before and this one.
    pub compacted_before: bool,
}

/// The newest calls of a path, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// The calls: at most 40, the failing one among them.
    pub calls: Vec<CallPoint>,
    /// Calls of the whole path.
    pub total: usize,
    /// The window that the runtime believed in, in tokens; none where it knew none.
    pub believed: Option<u64>,
    /// Tokens that fit by the provider's word, else by what it accepted; none where no call overflowed.
    pub served: Option<u64>,
    /// Tokens above which compaction is due; none where it is off.
    pub trigger: Option<u64>,
    /// The largest prompt that the model of the failing call accepted, as its provider counted it.
    pub accepted: Option<(EntryIx, u64)>,
}

/// The calls around the failing one, or the last ones where no call failed.
pub(super) fn course(case: &Case<'_>) -> Course {
    match case.failure.as_ref().zip(case.rehearsal.as_ref()) {
        Some((failure, rehearsal)) => of_failure(failure, rehearsal),
        None => of_counted(case),
    }
}

fn of_failure(failure: &Failure, rehearsal: &Rehearsal) -> Course {
    let inspection = &rehearsal.inspection;
    let record = &rehearsal.record;
    let mut calls: Vec<CallPoint> = Vec::with_capacity(record.calls.len());
    for (number, (call, sent)) in (1..).zip(record.calls.iter().zip(&record.lane)) {
        let overflow = inspection.overflow_at(call.entry);
        let named = overflow.and_then(Overflow::prompt);
        calls.push(CallPoint {
            number,
            entry: call.entry,
            at: call.ended,
            tokens: named.unwrap_or(sent.expected.max(0.0) as u64),
            exact: named.is_some() || call.usage.is_some(),
            refused: overflow.is_some(),
            compacted_before: false,
        });
    }
    mark_compactions(inspection, &mut calls);
    let failed = calls.iter().position(|call| call.entry == failure.overflow.entry);
    let end = failed.map_or(calls.len(), |at| calls.len().min(at + 1 + AFTER));
    let believed = failure.believed.runtime;
    Course {
        accepted: accepted(inspection, &calls, failure.model),
        trigger: trigger(&failure.then, believed),
        believed: tokens(believed),
        served: Some(failure.limit).filter(|limit| *limit > 0),
        ..newest(calls, end)
    }
}

fn of_counted(case: &Case<'_>) -> Course {
    let inspection = case.inspection;
    let point = |(number, call): (usize, &crate::explain::calls::Call)| CallPoint {
        number,
        entry: call.entry,
        at: call.at,
        tokens: call.prompt,
        exact: true,
        refused: false,
        compacted_before: false,
    };
    let mut calls: Vec<CallPoint> = (1..).zip(&case.calls).map(point).collect();
    mark_compactions(inspection, &mut calls);
    let window = inspection.upkeep.runtime_window;
    let end = calls.len();
    Course {
        accepted: accepted(inspection, &calls, inspection.context.model),
        trigger: trigger(inspection, window),
        believed: tokens(window),
        served: None,
        ..newest(calls, end)
    }
}

/// The last calls before `end`, and how many there are in all.
fn newest(mut calls: Vec<CallPoint>, end: usize) -> Course {
    let total = calls.len();
    calls.truncate(end);
    calls.drain(..end.saturating_sub(SHOWN));
    Course { calls, total, ..Course::default() }
}

/// Marks the first call behind each compaction of the path. Entries of a path rise towards its leaf.
fn mark_compactions(inspection: &Inspection, calls: &mut [CallPoint]) {
    let index = &inspection.index;
    let compacted = |ix: &&EntryIx| index.entry(**ix).kind == EntryKind::Compaction;
    for compaction in inspection.context.path.iter().filter(compacted) {
        let next = calls.partition_point(|call| call.entry < *compaction);
        if let Some(call) = calls.get_mut(next) {
            call.compacted_before = true;
        }
    }
}

/// The largest counted prompt that a model answered.
fn accepted(
    inspection: &Inspection,
    calls: &[CallPoint],
    model: Option<(WordIx, WordIx)>,
) -> Option<(EntryIx, u64)> {
    let own = |call: &&CallPoint| {
        let called = inspection.index.entry(call.entry).model;
        call.exact && !call.refused && (model.is_none() || called == model)
    };
    let largest = calls.iter().filter(own).max_by_key(|call| call.tokens)?;
    Some((largest.entry, largest.tokens))
}

fn trigger(inspection: &Inspection, window: f64) -> Option<u64> {
    let settings = &inspection.configured.compaction;
    tokens(settings.threshold(window)).filter(|_| settings.enabled)
}

fn tokens(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 1.0).then_some(number as u64)
}
