//! The newest calls of the failing path with their tokens, and the lines that they ran into: the window that the runtime
//! believed in, the one that the provider serves, and the trigger of compaction.

use crate::ids::EntryIx;
use crate::report::explain::case::Case;
use crate::report::explain::failure::Failure;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::LoadedSession;
use crate::session::overflow::Overflow;
use crate::store::entry::EntryKind;
use crate::store::intern::ValueIx;

/// Calls that are kept.
const MAX_CALLS: usize = 40;
/// Calls after the failing one that are kept with it.
const MAX_CALLS_AFTER: usize = 6;

/// One call of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallPoint {
    /// Its place among the calls of the path, from 1 on.
    pub number: usize,
    /// Its answer, or the note of its refusal.
    pub entry: EntryIx,
    /// When its answer was written, ms since the epoch; NaN where nothing says.
    pub at_ms: f64,
    /// Tokens of its prompt.
    pub tokens: u64,
    /// Whether a provider counted them.
    pub is_measured: bool,
    /// Whether it did not fit.
    pub is_refused: bool,
    /// Whether a compaction lies between the call before and this one.
    pub compacted_before: bool,
}

/// The newest calls of a path, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallHistory {
    /// The calls: at most 40, the failing one among them.
    pub calls: Vec<CallPoint>,
    /// Calls of the whole path.
    pub total: usize,
    /// The window that the runtime believed in, in tokens; none where it knew none.
    pub believed_window: Option<u64>,
    /// Tokens that fit by the provider's word, else by what it accepted; none where no call overflowed.
    pub served_limit: Option<u64>,
    /// Tokens above which compaction is due; none where it is off.
    pub trigger: Option<u64>,
    /// The largest prompt that the model of the failing call accepted, as its provider counted it.
    pub largest_accepted: Option<(EntryIx, u64)>,
}

/// The calls around the failing one, or the last ones where no call failed.
pub(super) fn call_history(case: &Case<'_>) -> CallHistory {
    match case.failure.as_ref().zip(case.replays.as_ref()) {
        Some((failure, rehearsal)) => around_failure(failure, rehearsal),
        None => last_counted_calls(case),
    }
}

fn around_failure(failure: &Failure, rehearsal: &ReplayRunner) -> CallHistory {
    let session = &rehearsal.session;
    let record = &rehearsal.recorded_trace;
    let mut calls: Vec<CallPoint> = Vec::with_capacity(record.calls.len());
    for (number, (call, sent)) in (1..).zip(record.calls.iter().zip(&record.trace)) {
        let overflow = session.overflow_at(call.entry);
        let named = overflow.and_then(Overflow::prompt_tokens);
        calls.push(CallPoint {
            number,
            entry: call.entry,
            at_ms: call.ended,
            tokens: named.unwrap_or(sent.expected.max(0.0) as u64),
            is_measured: named.is_some() || call.usage.is_some(),
            is_refused: overflow.is_some(),
            compacted_before: false,
        });
    }
    mark_compactions(session, &mut calls);
    let failed = calls.iter().position(|call| call.entry == failure.overflow.entry);
    let end = failed.map_or(calls.len(), |at| calls.len().min(at + 1 + MAX_CALLS_AFTER));
    let believed = failure.believed_window.runtime;
    CallHistory {
        largest_accepted: largest_accepted(session, &calls, failure.model),
        trigger: trigger(&failure.session, believed),
        believed_window: to_tokens(believed),
        served_limit: Some(failure.limit).filter(|limit| *limit > 0),
        ..keep_newest(calls, end)
    }
}

fn last_counted_calls(case: &Case<'_>) -> CallHistory {
    let session = case.session;
    let point = |(number, call): (usize, &crate::report::explain::counted_calls::CountedCall)| CallPoint {
        number,
        entry: call.entry,
        at_ms: call.at_ms,
        tokens: call.prompt_tokens,
        is_measured: true,
        is_refused: false,
        compacted_before: false,
    };
    let mut calls: Vec<CallPoint> = (1..).zip(&case.calls).map(point).collect();
    mark_compactions(session, &mut calls);
    let window = session.limits.runtime_window;
    let end = calls.len();
    CallHistory {
        largest_accepted: largest_accepted(session, &calls, session.context.model),
        trigger: trigger(session, window),
        believed_window: to_tokens(window),
        served_limit: None,
        ..keep_newest(calls, end)
    }
}

/// The last calls before `end`, and how many there are in all.
fn keep_newest(mut calls: Vec<CallPoint>, end: usize) -> CallHistory {
    let total = calls.len();
    calls.truncate(end);
    calls.drain(..end.saturating_sub(MAX_CALLS));
    CallHistory { calls, total, ..CallHistory::default() }
}

/// Marks the first call behind each compaction of the path. Entries of a path rise towards its leaf.
fn mark_compactions(session: &LoadedSession, calls: &mut [CallPoint]) {
    let index = &session.index;
    let compacted = |ix: &&EntryIx| index.entry(**ix).kind == EntryKind::Compaction;
    for compaction in session.context.path.iter().filter(compacted) {
        let next = calls.partition_point(|call| call.entry < *compaction);
        if let Some(call) = calls.get_mut(next) {
            call.compacted_before = true;
        }
    }
}

/// The largest counted prompt that a model answered.
fn largest_accepted(
    session: &LoadedSession,
    calls: &[CallPoint],
    model: Option<(ValueIx, ValueIx)>,
) -> Option<(EntryIx, u64)> {
    let own = |call: &&CallPoint| {
        let called = session.index.entry(call.entry).model;
        call.is_measured && !call.is_refused && (model.is_none() || called == model)
    };
    let largest = calls.iter().filter(own).max_by_key(|call| call.tokens)?;
    Some((largest.entry, largest.tokens))
}

fn trigger(session: &LoadedSession, window: f64) -> Option<u64> {
    let settings = &session.configured_settings.compaction;
    to_tokens(settings.threshold(window)).filter(|_| settings.enabled)
}

fn to_tokens(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 1.0).then_some(number as u64)
}
