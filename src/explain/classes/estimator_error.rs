//! The gateway's chars / 4 far from what the provider counts: its thresholds and what a compaction keeps are off by as much.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, exact, percent};

/// How far off, at an overflow that the estimate did not see.
const LEAST: f64 = 1.6;
/// How far off without one, and from which share of the window on.
const LEAST_AT_REST: (f64, f64) = (1.8, 0.2);
/// Share of the chars from which their script is named as the cause.
const NAMED: f64 = 0.2;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let (ratio, confidence) = match &case.failure {
        Some(failure) => (unseen(failure)?, Confidence::Likely),
        None => (at_rest(case)?, Confidence::Sure),
    };
    let keep = case.inspection.configured.compaction.keep_recent_tokens.max(0.0);
    let cjk = case.cjk_share().filter(|share| *share >= NAMED);
    let why = cjk.map_or_else(
        || format!("this session runs at {:.1} chars/token", 4.0 / ratio),
        |share| format!("{} of the chars are CJK", percent(share, 1.0)),
    );
    let head = case.failure.as_ref().map(|failure| format!("{}: ", overflow(failure))).unwrap_or_default();
    let line = format!(
        "{head}Estimator error {ratio:.1}x: {why}; keepRecentTokens {} really keeps {} (<= {} keeps what it says), and every threshold is reached that much later than it says",
        exact(keep as u64),
        about((keep * ratio) as u64),
        about((keep / ratio) as u64),
    );
    let mut finding = Finding::new(Class::EstimatorError, confidence, line)
        .by("compaction 1.1")
        .number("ratio", ratio)
        .number("keptTail", (keep * ratio).round());
    finding.numbers.extend(cjk.map(|share| ("cjkShare", share)));
    match &case.failure {
        Some(failure) => finding.evidence.push(numbers_of(failure)),
        None => finding.evidence.extend(growth(case)),
    }
    Some(finding)
}

/// What the prompts grew by, counted and estimated.
fn growth(case: &Case<'_>) -> Option<Evidence> {
    let (first, last) = (case.calls.first()?, case.calls.last()?);
    let estimated: u64 = case.calls.iter().filter_map(|call| call.since).sum();
    let text = format!(
        "prompts grew from {} to {} as counted, while chars / 4 says ~{} was added",
        exact(first.prompt),
        exact(last.prompt),
        exact(estimated)
    );
    Some(Evidence::new(text).at([last.entry, first.entry]).by("compaction 1.1"))
}

/// How far off the estimate was at an overflow that it did not see.
fn unseen(failure: &Failure) -> Option<f64> {
    let ratio = failure.requested as f64 / failure.estimate().max(1) as f64;
    (failure.counted && failure.estimate() <= failure.limit && ratio >= LEAST).then_some(ratio)
}

/// How far off it is in a session of some size.
fn at_rest(case: &Case<'_>) -> Option<f64> {
    let (least, share) = LEAST_AT_REST;
    let large = case.prompt().0 as f64 >= share * case.window() as f64;
    case.ratio.filter(|ratio| large && *ratio >= least)
}
