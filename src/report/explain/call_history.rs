//! The newest calls of the failing path with their tokens, and the limits they are drawn against: the window that the
//! runtime believed in, the window that the provider serves, and the compaction trigger.

use crate::ids::EntryIx;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::LoadedSession;
use crate::session::overflow::{ModelWindow, Overflow, OverflowKind};
use crate::store::entry::EntryKind;
use crate::store::intern::ValueIx;
use crate::units::{Moment, Tokens};

const MAX_CALLS: usize = 40;
/// The limit of kept calls after the failing one.
const MAX_CALLS_AFTER: usize = 6;

/// One call of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallPoint {
    /// The number among the calls of the path, from 1.
    pub number: usize,
    /// The answer, or the entry that records the refusal.
    pub entry: EntryIx,
    /// The time of the answer; NaN if unknown.
    pub at_ms: Moment,
    /// Tokens of the prompt.
    pub tokens: u64,
    /// Whether a provider counted the tokens.
    pub is_measured: bool,
    /// Whether the call overflowed.
    pub is_refused: bool,
    /// Whether a compaction is between the previous call and this one.
    pub compacted_before: bool,
}

/// The newest calls of a path, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallHistory {
    /// At most 40 calls, the failing one included.
    pub calls: Vec<CallPoint>,
    /// Number of calls on the whole path.
    pub total: usize,
    /// The window that the runtime believed in, in tokens; `None` if it knew none.
    pub believed_window: Option<u64>,
    /// Tokens that fit, according to the provider, otherwise learned from accepted calls; `None` if no call overflowed.
    pub served_limit: Option<u64>,
    /// Tokens above which compaction is due; `None` if it is off.
    pub trigger: Option<u64>,
    /// The largest prompt that the model of the failing call accepted, as counted by its provider.
    pub largest_accepted: Option<(EntryIx, u64)>,
}

/// Returns the calls around the failing one, or the last calls if none failed.
pub(super) fn call_history(case: &OverflowCase<'_>) -> CallHistory {
    match case.failure.as_ref().zip(case.replays.as_ref()) {
        Some((failure, runner)) => around_failure(failure, runner),
        None => last_counted_calls(case),
    }
}

fn around_failure(failure: &Failure, runner: &ReplayRunner) -> CallHistory {
    let session = &runner.session;
    let record = &runner.recorded_trace;
    let mut calls: Vec<CallPoint> = Vec::with_capacity(record.calls.len());
    for (number, (call, sent)) in (1..).zip(record.calls.iter().zip(record.trace.iter())) {
        let overflow = session.overflow_at(call.entry);
        let counted = |overflow: &&Overflow| overflow.kind != OverflowKind::Precheck;
        let named = overflow.filter(counted).and_then(Overflow::prompt_tokens);
        calls.push(CallPoint {
            number,
            entry: call.entry,
            at_ms: call.ended,
            tokens: named.unwrap_or(sent.expected.whole()),
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
        trigger: trigger(&failure.session, &failure.believed_window),
        believed_window: known_tokens(believed),
        served_limit: Some(failure.limit).filter(|limit| *limit > 0 && !failure.is_by_gateway()),
        ..keep_newest(calls, end)
    }
}

fn last_counted_calls(case: &OverflowCase<'_>) -> CallHistory {
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
        trigger: trigger(session, &session.windows()),
        believed_window: known_tokens(window),
        served_limit: None,
        ..keep_newest(calls, end)
    }
}

/// Keeps the last calls before `end`, and the total number of calls.
fn keep_newest(mut calls: Vec<CallPoint>, end: usize) -> CallHistory {
    let total = calls.len();
    calls.truncate(end);
    calls.drain(..end.saturating_sub(MAX_CALLS));
    CallHistory { calls, total, ..CallHistory::default() }
}

/// Marks the first call after each compaction of the path. Entry numbers rise along a path.
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

/// Returns the largest counted prompt that a model answered.
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

fn trigger(session: &LoadedSession, window: &ModelWindow) -> Option<u64> {
    let settings = &session.configured_settings.compaction;
    known_tokens(session.trigger_point_for(window).tokens).filter(|_| settings.enabled)
}

fn known_tokens(tokens: Tokens) -> Option<u64> {
    (tokens.is_finite() && tokens >= Tokens(1.0)).then(|| tokens.whole())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::{answer, refusal};
    use crate::session::context_limits::ContextLimits;
    use crate::session::testing::{loaded_session, transcript, user};

    fn history(entries: &[String]) -> CallHistory {
        let session = loaded_session(&transcript(entries), 200_000.0);
        let limits = ContextLimits { runtime_window: Tokens(200_000.0), ..session.limits };
        let session = LoadedSession { limits, ..session };
        call_history(&OverflowCase::read(&session, None).expect("memory is readable"))
    }

    fn turns(prompts: impl IntoIterator<Item = u64>) -> Vec<String> {
        prompts.into_iter().flat_map(|prompt| [user("go on"), answer(prompt)]).collect()
    }

    #[test]
    fn six_calls_after_the_failing_one_are_kept() {
        let entries = [turns([500, 900]), vec![user("more"), refusal()], turns(100..108)].concat();
        let kept = history(&entries);
        assert_eq!((kept.calls.len(), kept.total), (2 + 1 + 6, 11));
        assert_eq!(
            kept.calls.iter().map(|call| call.number).collect::<Vec<_>>(),
            (1..=9).collect::<Vec<_>>()
        );
        let refused: Vec<usize> =
            kept.calls.iter().filter(|call| call.is_refused).map(|call| call.number).collect();
        assert_eq!(refused, [3]);
        assert_eq!((kept.calls[2].tokens, kept.calls[2].is_measured), (1_100, true));
        assert_eq!(kept.served_limit, Some(1_000));
        assert_eq!(kept.largest_accepted.map(|(_, tokens)| tokens), Some(900), "the refused call was larger");
    }

    #[test]
    fn of_a_long_session_without_an_overflow_the_last_forty_calls_are_kept() {
        let kept = history(&turns(1_000..1_045));
        assert_eq!((kept.calls.len(), kept.total), (40, 45));
        assert_eq!((kept.calls[0].number, kept.calls[0].tokens), (6, 1_005));
        assert_eq!(kept.largest_accepted.map(|(_, tokens)| tokens), Some(1_044));
        assert_eq!((kept.served_limit, kept.believed_window), (None, Some(200_000)));
    }

    #[test]
    fn the_first_call_after_a_compaction_is_marked() {
        let compaction =
            r#"{"type":"compaction","summary":"so far","firstKeptEntryId":"e0","tokensBefore":510}"#;
        let entries = [turns([500]), vec![compaction.to_owned()], turns([300, 400])].concat();
        let marked: Vec<bool> = history(&entries).calls.iter().map(|call| call.compacted_before).collect();
        assert_eq!(marked, [false, true, false]);
    }
}
