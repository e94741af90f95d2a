//! The gateway's chars / 4 far from what the provider counts: its thresholds and what a compaction keeps are off by as much.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::errors::Kind;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, exact, percent};
use crate::policy::recovery::ErrorSource;

/// How far off, at an overflow that the estimate did not see.
const LEAST: f64 = 1.6;
/// More than this no script makes of chars / 4, not even one that takes a token a byte: something else is missing from the
/// estimate, such as a prompt or tools that the transcript does not hold.
const MOST: f64 = 8.0;
/// Estimated tokens below which what surrounds the messages outweighs them.
const ENOUGH: u64 = 4_000;
/// How far off without one, and from which share of the window on.
const LEAST_AT_REST: (f64, f64) = (1.8, 0.2);
/// Share of the chars from which their script is named as the cause.
const NAMED: f64 = 0.2;

/// How much more the gateway's own check must have counted than there was.
const OVERCOUNT: f64 = 1.5;
/// A prompt below this share of what fits should not have been refused by it.
const ROOM: f64 = 0.75;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    overcounted(case).or_else(|| undercounted(case))
}

/// The gateway's own check refused what the provider would have taken.
pub(super) fn overcounted(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let (_, before) =
        failure.before.filter(|_| failure.overflow.kind == Kind::Refused(ErrorSource::Prompt))?;
    let peak = case.calls.iter().map(|call| call.prompt).max()?;
    let likely = failure.likely;
    let fits = likely as f64 <= ROOM * failure.limit as f64 && before as f64 <= ROOM * failure.limit as f64;
    let counted = failure.overflow.requested;
    let overcount = counted.map(|counted| counted as f64 / likely.max(1) as f64);
    if !fits || overcount.is_some_and(|overcount| overcount < OVERCOUNT) {
        return None;
    }
    let limit = exact(failure.limit);
    let (said, behind) = match counted.zip(overcount) {
        Some((counted, over)) => {
            (format!(", which counted {} of {limit}", exact(counted)), format!(": it over-counts {over:.1}x"))
        }
        None => (format!(" at {limit}"), String::new()),
    };
    let line = format!(
        "Refused by the gateway's own check{said}; the provider never counted more than {} and the prompt is about {}{behind}; nothing is wrong with the session - a newer version, or a larger window, lets it through",
        exact(peak),
        about(likely),
    );
    let confidence = if counted.is_some() { Confidence::Sure } else { Confidence::Likely };
    let at = case.calls.iter().find(|call| call.prompt == peak).map(|call| call.entry);
    let mut finding = Finding::new(Class::EstimatorError, confidence, line)
        .by("compaction 8.8")
        .seen(numbers_of(failure))
        .seen(Evidence::new(format!("the largest prompt that was answered: {} tokens", exact(peak))).at(at))
        .number("peak", peak as f64)
        .number("likely", likely as f64);
    finding.numbers.extend(overcount.map(|overcount| ("overcount", overcount)));
    Some(finding)
}

fn undercounted(case: &Case<'_>) -> Option<Finding> {
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
    let tells = failure.counted && failure.estimate() >= ENOUGH && ratio <= MOST;
    (tells && failure.estimate() <= failure.limit && ratio >= LEAST).then_some(ratio)
}

/// How far off it is in a session of some size.
fn at_rest(case: &Case<'_>) -> Option<f64> {
    let (least, share) = LEAST_AT_REST;
    let large = case.prompt().0 as f64 >= share * case.window() as f64;
    case.ratio.filter(|ratio| large && (least..=MOST).contains(ratio))
}
