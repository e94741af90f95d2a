//! A window that the gateway believes larger than the provider's: the refusal says so, or a reply that was cut short, or a
//! refusal far below every threshold.

use crate::explain::case::Case;
use crate::explain::classes::{estimator_error, model_switch, numbers_of, overflow};
use crate::explain::errors::Kind;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{exact, thousands};
use crate::policy::recovery::ErrorSource;

/// A limit above this share of the known window is that window.
const SAME: f64 = 0.97;
/// A prompt refused below this share of the known window did not fill it.
const FAR_BELOW: f64 = 0.6;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    // What the gateway's own check says of its limit is no word of the provider.
    if model_switch::switched(case, failure).is_some() || estimator_error::overcounted(case).is_some() {
        return None;
    }
    let known = case.inspection.upkeep.runtime_window.max(case.inspection.window.tokens);
    match failure.overflow.limit {
        Some(limit) => told(case, failure, limit, known),
        None => untold(case, failure, known),
    }
}

/// The provider names its own window.
fn told(case: &Case<'_>, failure: &Failure, limit: u64, known: f64) -> Option<Finding> {
    if limit as f64 >= known * SAME || failure.overflow.kind == Kind::Refused(ErrorSource::Silent) {
        return None;
    }
    let trigger = case.trigger();
    let (head, confidence) = match failure.overflow.kind {
        Kind::CutShort => {
            let cuts = case.overflows.iter().filter(|it| it.kind == Kind::CutShort).count();
            let confidence = if cuts > 1 { Confidence::Sure } else { Confidence::Likely };
            ("Reply cut short".to_owned(), confidence)
        }
        Kind::Refused(_) => (overflow(failure), Confidence::Sure),
    };
    let compaction = if trigger > limit as f64 {
        format!("compaction waits for {}, which is never reached", exact(trigger as u64))
    } else {
        format!("compaction waits for {}", exact(trigger.max(0.0) as u64))
    };
    let line = format!(
        "{head}: known {}, served {}; {compaction}; set the window that the server really serves",
        exact(known as u64),
        exact(limit)
    );
    Some(
        Finding::new(Class::WrongWindow, confidence, line)
            .by("compaction 7.1")
            .seen(numbers_of(failure))
            .seen(believed(case, known))
            .number("known", known)
            .number("served", limit as f64)
            .number("trigger", trigger),
    )
}

/// It was refused without a number, far below what the gateway believes in.
fn untold(case: &Case<'_>, failure: &Failure, known: f64) -> Option<Finding> {
    let peak = case.peak().map_or(failure.requested, |call| call.prompt);
    let trigger = case.trigger();
    let refused = matches!(failure.overflow.kind, Kind::Refused(ErrorSource::Assistant));
    if !refused || failure.requested as f64 >= known * FAR_BELOW || peak as f64 >= known * FAR_BELOW {
        return None;
    }
    let line = format!(
        "Compaction cannot fire: trigger {} is {:.1}x the largest prompt ever sent ({}); set the window that the server really serves",
        thousands(trigger.max(0.0) as u64),
        trigger / peak.max(1) as f64,
        exact(peak),
    );
    let most = case.peak().map(|call| {
        Evidence::new(format!("the largest prompt that was answered: {} tokens", exact(call.prompt)))
            .at([call.entry])
    });
    let mut finding = Finding::new(Class::WrongWindow, Confidence::Likely, line)
        .by("compaction 2.7")
        .seen(numbers_of(failure))
        .seen(believed(case, known))
        .number("known", known)
        .number("peak", peak as f64)
        .number("trigger", trigger);
    finding.evidence.extend(most);
    Some(finding)
}

fn believed(case: &Case<'_>, known: f64) -> Evidence {
    let source = case.inspection.window.source.name();
    let who = if case.inspection.ruleset.ruleset.is_pi() { "pi" } else { "the gateway" };
    Evidence::new(format!("{who} goes by {} tokens ({source})", exact(known as u64))).by("compaction 7.1")
}
