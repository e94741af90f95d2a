//! The explanation of a session, and the order in which its parts are computed.

use crate::report::explain::advice::{self, Advice, SearchResult};
use crate::report::explain::call_history::{self, CallHistory};
use crate::report::explain::case::OverflowCase;
use crate::report::explain::counts::{self, PromptCount};
use crate::report::explain::facts::{Facts, Finding};
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::FindingClass;
use crate::report::explain::guards::{self, GuardReport};
use crate::report::explain::mechanism::{self, Mechanism, PromptPart};
use crate::report::explain::way_out::WayOut;
use crate::report::explain::{
    aftermath, cache_misses, estimator, grounds, lineage, mismeasured, stored_counter, verdict,
};
use crate::session::LoadedSession;
use crate::session::overflow::{CallState, Overflow};
use crate::session::replay_inputs::ReplayInputs;
use crate::session::replay_summary::ReplaySummary;
use crate::session::setting_change::SettingChange;
use crate::store::body::BodyError;

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
    let course = call_history::call_history(&case);
    let cache_misses = cache_misses::find_cache_misses(&case, inputs)?;
    let cache_misses = cache_misses.map(|found| found.map(Facts::CacheMisses));
    let Some((failure, runner)) = case.failure.as_ref().zip(case.replays.as_ref()) else {
        let mut findings = verdict::findings_without_overflow(&case, mismeasured.clone(), beside);
        findings.extend(cache_misses);
        let mut findings = verdict::headed_by_unanswered(&case, findings);
        grounds::add_grounds(&case, &mut findings);
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
    grounds::add_grounds(&case, &mut findings);
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
