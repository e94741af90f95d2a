//! The explanation of a session, and the order in which its parts are computed.

use crate::ids::EntryIx;
use crate::report::explain::advice::{Advice, SearchResult};
use crate::report::explain::case::OverflowCase;
use crate::report::explain::counts::PromptCount;
use crate::report::explain::facts::{Facts, Finding};
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::FindingClass;
use crate::report::explain::guards::GuardReport;
use crate::report::explain::mechanism::{Mechanism, PromptPart};
use crate::report::explain::replay_runner::ReplayRunner;
use crate::report::explain::way_out::WayOut;
use crate::report::explain::{
    advice, aftermath, counts, estimator, facts, guards, lineage, mechanism, mismeasured, stored_counter,
    verdict,
};
use crate::session::LoadedSession;
use crate::session::overflow::{CallState, ModelWindow, Overflow, OverflowKind};
use crate::session::replay_inputs::ReplayInputs;
use crate::session::replay_summary::ReplaySummary;
use crate::session::setting_change::SettingChange;
use crate::store::body::BodyError;
use crate::store::entry::EntryKind;
use crate::store::intern::ValueIx;
use crate::units::{Moment, Tokens};

/// All results for one session.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// How the newest calls ended.
    pub state: CallState,
    /// Tokens of the next prompt, if a commit made the branch fit after the overflow.
    pub fits_since_commit: Option<u64>,
    /// Calls that overflowed, in the order of the file.
    pub overflows: Vec<Overflow>,
    /// The newest calls of the path, and the limits they are drawn against.
    pub course: CallHistory,
    /// The call to explain: the first refusal of the last series without an answer in between.
    pub failure: Option<Failure>,
    /// The reason why its prompt was too large.
    pub mechanism: Option<Mechanism>,
    /// Its prompt, part by part, the newest first.
    pub parts: Vec<PromptPart>,
    /// The guards before it, in the gateway's order.
    pub guards: Vec<GuardReport>,
    /// Every count of its prompt.
    pub counts: Vec<PromptCount>,
    /// Findings about wrong measurements.
    pub mismeasured: Vec<Finding>,
    /// Findings about compactions and about the time after the refusal.
    pub aftermath: Vec<Finding>,
    /// Every finding, the verdict first. Never empty.
    pub findings: Vec<Finding>,
    /// The changes that the person asked about.
    pub asked: Option<Advice>,
    /// The best changes tried; those that help come first.
    pub advice: Vec<Advice>,
    /// Totals of the recorded session, to compare the advice with; `None` if nothing was tried.
    pub recorded: Option<ReplaySummary>,
    /// Number of changes tried.
    pub tried_count: usize,
    /// Whether the session has few enough calls to search pairs of keys too, so that no further search is left.
    pub is_exhausted: bool,
}

impl Explanation {
    /// Whether a call overflowed.
    pub fn has_overflowed(&self) -> bool {
        !self.overflows.is_empty()
    }

    /// Returns the first finding, which is the verdict.
    pub fn verdict(&self) -> Option<&Finding> {
        self.findings.first()
    }

    /// Returns the changes of the branch that end what was found, those of the verdict first.
    pub fn ways_out(&self) -> Vec<&WayOut> {
        let mut ways: Vec<&WayOut> = Vec::new();
        for way in self.findings.iter().flat_map(Finding::ways_out) {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }

    /// Returns the changes to list: those that the person asked about, then the best others.
    pub fn tried(&self) -> impl Iterator<Item = &Advice> {
        let is_other =
            |advice: &&Advice| self.asked.as_ref().is_none_or(|asked| asked.changes != advice.changes);
        self.asked.iter().chain(self.advice.iter().filter(is_other))
    }

    /// Whether a call overflowed and the exhausted search found no setting that helps.
    pub fn no_setting_helps(&self) -> bool {
        self.has_overflowed() && self.is_exhausted && !self.advice.iter().any(|advice| advice.fits_all)
    }
}

/// Explains a session. Reads the bodies of failed calls and compactions and, if a call overflowed, the texts of the
/// path.
///
/// # Errors
/// When an entry cannot be read again.
pub fn explain(session: &LoadedSession) -> Result<Explanation, BodyError> {
    explain_under(session, None, &[])
}

/// Like [`explain`], and replays the session under these changes too.
///
/// # Errors
/// When an entry cannot be read again.
pub fn explain_changes(session: &LoadedSession, changes: &[SettingChange]) -> Result<Explanation, BodyError> {
    explain_under(session, None, changes)
}

/// Like [`explain`], with the inputs of replays if they were read already.
///
/// # Errors
/// When an entry cannot be read again.
pub fn explain_from(
    session: &LoadedSession,
    inputs: Option<&ReplayInputs>,
) -> Result<Explanation, BodyError> {
    explain_under(session, inputs, &[])
}

fn explain_under(
    session: &LoadedSession,
    inputs: Option<&ReplayInputs>,
    changes: &[SettingChange],
) -> Result<Explanation, BodyError> {
    let case = OverflowCase::read(session, inputs)?;
    // Where the newest call failed for another reason, a guess about counts only distracts.
    let distracts = case.failure.is_none() && session.last_calls().error.is_some();
    let mismeasured = if distracts { Vec::new() } else { wrong_measurements(&case) };
    let aftermath = aftermath::find_aftermath(&case);
    let aftermath: Vec<Finding> = aftermath.into_iter().map(|found| found.map(Facts::Aftermath)).collect();
    let lineage = lineage::find_lineage(&case).into_iter().map(|found| found.map(Facts::Lineage));
    let beside: Vec<Finding> = aftermath.iter().cloned().chain(lineage).collect();
    let overflows = case.overflows().to_vec();
    let course = call_history(&case);
    let cache_misses = facts::find_cache_misses(&case, inputs)?;
    let cache_misses = cache_misses.map(|found| found.map(Facts::CacheMisses));
    let Some((failure, runner)) = case.failure.as_ref().zip(case.replays.as_ref()) else {
        let mut findings = verdict::findings_without_overflow(&case, mismeasured.clone(), beside);
        findings.extend(cache_misses);
        let mut findings = verdict::headed_by_unanswered(&case, findings);
        facts::add_grounds(&case, &mut findings);
        let impossible = findings.first().is_some_and(|first| first.class == FindingClass::ImpossibleBudget);
        let found =
            if impossible { advice::reserve_that_works(&case, inputs)? } else { SearchResult::default() };
        let asked = try_asked(&case, inputs, changes, &findings)?;
        return Ok(Explanation {
            state: session.last_calls().state,
            fits_since_commit: session.fits_since_commit(),
            overflows,
            course,
            failure: None,
            mechanism: None,
            parts: Vec::new(),
            guards: Vec::new(),
            counts: Vec::new(),
            mismeasured,
            aftermath,
            findings,
            advice: found.advice,
            recorded: found.recorded.or(asked.as_ref().map(|(_, recorded)| *recorded)),
            asked: asked.map(|(advice, _)| advice),
            tried_count: found.tried_count,
            is_exhausted: false,
        });
    };
    let opened = guards::try_gates(runner);
    let guards = guards::report_guards(&case, failure, &opened);
    let mechanism = mechanism::find_mechanism(&case, failure);
    let mut findings =
        verdict::overflow_findings(&case, failure, &mechanism, &guards, mismeasured.clone(), beside);
    findings.extend(cache_misses);
    let mut findings = verdict::headed_by_unanswered(&case, findings);
    facts::add_grounds(&case, &mut findings);
    let SearchResult { advice, recorded, tried_count: tried, is_exhausted: exhausted } =
        advice::search_advice(&case, findings.first().map(|verdict| verdict.class));
    let asked = try_asked(&case, inputs, changes, &findings)?;
    Ok(Explanation {
        state: session.last_calls().state,
        fits_since_commit: session.fits_since_commit(),
        overflows,
        course,
        parts: mechanism::prompt_parts(failure),
        failure: case.failure.clone(),
        mechanism: Some(mechanism),
        guards,
        counts: counts::collect_counts(&case, failure),
        mismeasured,
        aftermath,
        findings,
        advice,
        recorded: recorded.or(asked.as_ref().map(|(_, recorded)| *recorded)),
        asked: asked.map(|(advice, _)| advice),
        tried_count: tried,
        is_exhausted: exhausted,
    })
}

/// Replays the session under the changes that a person asks about, if any.
fn try_asked(
    case: &OverflowCase<'_>,
    inputs: Option<&ReplayInputs>,
    changes: &[SettingChange],
    findings: &[Finding],
) -> Result<Option<(Advice, ReplaySummary)>, BodyError> {
    let verdict = findings.first().map(|verdict| verdict.class);
    if changes.is_empty() {
        return Ok(None);
    }
    advice::try_changes(case, inputs, changes, verdict).map(Some)
}

/// Returns every wrong measurement, the causes first.
fn wrong_measurements(case: &OverflowCase<'_>) -> Vec<Finding> {
    let measured = mismeasured::find_mismeasured(case).into_iter();
    let estimated = estimator::find_estimator_errors(case).into_iter();
    let stored = stored_counter::find_wrong_counter(case).into_iter();
    let mut found: Vec<Finding> = measured.map(|found| found.map(Facts::Mismeasured)).collect();
    found.extend(estimated.map(|found| found.map(Facts::EstimatorError)));
    found.extend(stored.map(|found| found.map(Facts::StoredCounter)));
    found.sort_by_key(|finding| finding.prevents_overflow != Some(true));
    found
}

// The newest calls of the failing path with their tokens, and the limits they are drawn against: the window that the
// runtime believed in, the window that the provider serves, and the compaction trigger.

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
