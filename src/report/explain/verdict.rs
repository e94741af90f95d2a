//! Selects the finding that heads the answer: a wrong measurement whose correction prevents the overflow, else a
//! guard's defect whose correction does, else the mechanism. Without an overflow: the outlook, or a finding about
//! compactions.

use crate::report::explain::aftermath::Aftermath;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::facts::{Facts, Finding, find_engine_owned};
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{
    Confidence, FailedPrompt, FindingClass, OverflowFacts, VerdictFacts, VerdictRemark,
};
use crate::report::explain::guards::{
    GuardKind, GuardReport, GuardState, find_closed_pruning, find_pruning_inert,
};
use crate::report::explain::lineage::find_inherited_overflow;
use crate::report::explain::mechanism::{Mechanism, MessageFit, mechanism_finding};
use crate::report::explain::mismeasured::Mismeasured;
use crate::report::explain::outlook;
use crate::report::explain::unanswered::find_unanswered;
use crate::session::failing_model::ModelNames;
use crate::session::overflow::OverflowKind;

/// Returns every finding of an overflow, the verdict first.
pub(super) fn overflow_findings(
    case: &OverflowCase<'_>,
    failure: &Failure,
    mechanism: &Mechanism,
    guards: &[GuardReport],
    mismeasured: Vec<Finding>,
    aftermath: Vec<Finding>,
) -> Vec<Finding> {
    let own = mechanism_finding(case, failure, mechanism).map(Facts::LargePrompt);
    let inert = find_pruning_inert(guards).map(|found| found.map(Facts::PruningInert));
    let impossible = outlook::detect_impossible_budget(case).map(|found| found.map(Facts::Outlook));
    let engine = find_engine_owned(case).map(|found| found.map(Facts::EngineOwned));
    let bytes = mechanism.class == FindingClass::BytesLimit;
    let fixed = mechanism.class == FindingClass::FixedOverhead;
    let Measurements { causes, reasons, notes } = Measurements::ranked(mismeasured, failure, mechanism);
    let (timeouts, aftermath): (Vec<_>, Vec<_>) = aftermath.into_iter().partition(|it| {
        it.class == FindingClass::CompactionTimeout && prevented(case, failure, it, &own, guards)
    });
    let mut found: Vec<Finding> = Vec::new();
    if bytes {
        found.push(own.clone());
    }
    found.extend(causes.into_iter().filter(|_| !bytes));
    found.extend(engine.filter(|_| !bytes));
    found.extend(inert.filter(|_| !bytes));
    found.extend(timeouts.into_iter().filter(|_| !bytes));
    found.extend(reasons.into_iter().filter(|_| !bytes));
    found.extend(impossible.clone().filter(|_| fixed));
    found.extend(find_inherited_overflow(case, failure).filter(|_| !bytes).map(|it| it.map(Facts::Lineage)));
    // Gradual growth explains nothing where a wrong measurement does.
    if !bytes && (found.is_empty() || own.class != FindingClass::GradualGrowth) {
        found.push(own);
    }
    found.extend(impossible.filter(|_| !fixed));
    found.extend(notes.into_iter().filter(|_| !bytes));
    found.extend(aftermath);
    if let Some(first) = found.first_mut() {
        first.verdict = Some(VerdictFacts::Overflow(overflow_facts(case, failure, first, guards)));
    }
    found
}

/// Wrong measurements by what they explain.
struct Measurements {
    /// Their correction makes every call fit.
    causes: Vec<Finding>,
    /// They explain more than the mechanism.
    reasons: Vec<Finding>,
    notes: Vec<Finding>,
}

impl Measurements {
    fn ranked(found: Vec<Finding>, failure: &Failure, mechanism: &Mechanism) -> Self {
        // A counted prompt that was refused below the believed window proves more than an estimate that was too low.
        let prevents = |it: &Finding| it.prevents_overflow == Some(true);
        let is_window = |it: &Finding| it.class == FindingClass::WrongWindow;
        let is_out_of_reach = |it: &Finding| {
            matches!(it.facts, Facts::Mismeasured(Mismeasured::Window { smallest: Some(_), .. }))
        };
        let by_estimate = found.iter().any(|it| it.class == FindingClass::EstimatorError && prevents(it));
        let outranks = by_estimate && failure.is_measured && failure.overflow.limit.is_none();
        let (mut causes, others): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|it| prevents(it) || is_out_of_reach(it) || outranks && is_window(it));
        causes.sort_by_key(|it| outranks && !is_window(it));
        let (reasons, notes) = others.into_iter().partition(|it| says_more(it, failure, mechanism));
        Self { causes, reasons, notes }
    }
}

/// Whether a wrong measurement explains more than the mechanism, although its correction alone does not make all calls
/// fit: fixed parts are not too large if only the reply's reservation leaves no room for them, nor for a limit that
/// nobody stated; and that the session grew explains nothing.
fn says_more(finding: &Finding, failure: &Failure, mechanism: &Mechanism) -> bool {
    match (finding.class, mechanism.class) {
        (FindingClass::ReplyReserve, FindingClass::FixedOverhead)
        | (FindingClass::WrongWindow, FindingClass::GradualGrowth) => true,
        (FindingClass::WrongWindow, FindingClass::FixedOverhead) => failure.overflow.limit.is_none(),
        _ => false,
    }
}

/// Whether the compaction that timed out would have made the call fit: it was due before the call, none succeeded since,
/// and the part that made the prompt large is no message that fits nowhere.
fn prevented(
    case: &OverflowCase<'_>,
    failure: &Failure,
    timeout: &Finding,
    own: &Finding,
    guards: &[GuardReport],
) -> bool {
    let Facts::Aftermath(Aftermath::SummaryTimeout { failures, .. }) = &timeout.facts else { return false };
    let failed = failure.overflow.entry;
    let Some(last) = failures.iter().rfind(|entry| **entry < failed) else { return false };
    let compacted = case.compactions.iter().any(|it| *last < it.entry && it.entry < failed);
    let due = guards.iter().any(|it| it.kind == GuardKind::Compaction && it.state == GuardState::Failed);
    let fits = match &own.facts {
        Facts::LargePrompt(prompt) if own.class == FindingClass::UserMessage => {
            prompt.message_fit() == MessageFit::FitsAlone
        }
        _ => own.class != FindingClass::FixedOverhead,
    };
    due && fits && !compacted
}

/// Returns every finding of a session without an overflow, the verdict first.
pub(super) fn findings_without_overflow(
    case: &OverflowCase<'_>,
    mismeasured: Vec<Finding>,
    aftermath: Vec<Finding>,
) -> Vec<Finding> {
    let outlook = outlook::find_outlook(case).into_iter().map(|found| found.map(Facts::Outlook));
    let mut found: Vec<Finding> = outlook.collect();
    let (due, mismeasured): (Vec<_>, Vec<_>) = mismeasured.into_iter().partition(|finding| {
        finding.class == FindingClass::ImplausibleUsage
            || matches!(&finding.facts, Facts::StoredCounter(counter) if counter.compacts.is_some())
    });
    let (heads, past): (Vec<_>, Vec<_>) =
        due.into_iter().chain(aftermath).partition(|finding| finding.confidence == Confidence::Sure);
    let healthy = found.first().is_some_and(|first| first.class == FindingClass::Healthy);
    if healthy && !heads.is_empty() {
        found.retain(|finding| finding.class != FindingClass::Healthy);
    }
    let mut all = heads;
    all.sort_by_key(|finding| finding.class);
    if healthy {
        all.append(&mut found);
    } else {
        found.append(&mut all);
        all = found;
    }
    all.extend(past);
    all.extend(find_closed_pruning(case).map(|found| found.map(Facts::PruningInert)));
    all.extend(
        mismeasured.into_iter().map(|finding| Finding { confidence: Confidence::Possible, ..finding }),
    );
    if let Some(first) = all.first_mut() {
        first.verdict = Some(VerdictFacts::NoOverflow);
    }
    all
}

/// Puts the newest calls first, if they failed for another reason than their size: nothing else is true of a session
/// that no longer answers.
pub(super) fn headed_by_unanswered(case: &OverflowCase<'_>, mut findings: Vec<Finding>) -> Vec<Finding> {
    // A compaction that timed out says more than the error that it left.
    let is_named = findings.first().is_some_and(|first| first.class == FindingClass::CompactionTimeout);
    if let Some(found) = find_unanswered(case).filter(|_| !is_named) {
        for fits in findings.iter_mut().filter(|finding| finding.class == FindingClass::Healthy) {
            fits.class = FindingClass::NoOverflow;
            // Unknown words may mean that it does not fit.
            if found.confidence != Confidence::Sure {
                fits.confidence = fits.confidence.lowered();
            }
        }
        let verdict = Some(VerdictFacts::NoOverflow);
        findings.insert(0, Finding { verdict, ..found.map(Facts::Unanswered) });
    }
    findings
}

/// Returns the values that a finding states as the verdict on an overflow.
fn overflow_facts(
    case: &OverflowCase<'_>,
    failure: &Failure,
    verdict: &Finding,
    guards: &[GuardReport],
) -> OverflowFacts {
    let by_gateway = case.overflows().iter().filter(|it| it.kind == OverflowKind::Precheck);
    OverflowFacts {
        count: case.overflows().len(),
        by_gateway: if failure.is_by_gateway() { by_gateway.count() } else { 0 },
        prompt: FailedPrompt {
            entry: failure.overflow.entry,
            size: failure.prompt_size(),
            limit: failure.limit,
            limit_origin: failure.limit_origin(),
            last_accepted: failure.last_counted.map(|(_, tokens)| tokens),
            gateway_estimate: failure.gateway_estimate(),
            other_model: other_model(case, failure),
        },
        remark: remark(failure, verdict, guards),
    }
}

fn other_model(case: &OverflowCase<'_>, failure: &Failure) -> Option<ModelNames> {
    let names = failure.session.model_names(failure.model?)?;
    (!case.session.is_own_model(&names)).then_some(names)
}

/// Returns the advice for a message that never fits, otherwise the reason why compaction did not help.
fn remark(failure: &Failure, verdict: &Finding, guards: &[GuardReport]) -> Option<VerdictRemark> {
    if verdict.class == FindingClass::ReplyReserve {
        return None;
    }
    if let Some(tokens) = failure.blocking_reply() {
        return Some(VerdictRemark::ReplyReserved { tokens });
    }
    if let Facts::LargePrompt(prompt) = &verdict.facts {
        match verdict.class {
            FindingClass::BytesLimit => return None,
            FindingClass::UserMessage if prompt.message_fit() != MessageFit::FitsAlone => {
                return Some(VerdictRemark::SplitMessage);
            }
            _ => {}
        }
    }
    let guard = guards.iter().find(|guard| guard.kind == GuardKind::Compaction)?;
    match (guard.state, guard.missing_tokens) {
        (GuardState::NotDue, Some(missing_tokens)) => {
            Some(VerdictRemark::CompactionNotDue { missing_tokens, is_estimate: guard.missing_is_estimate })
        }
        (GuardState::Failed, _) => Some(VerdictRemark::CompactionFailed),
        _ => None,
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
