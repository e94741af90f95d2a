//! System prompt, workspace files and tool schemas that leave the messages little room.

use crate::context::budget::Part;
use crate::explain::case::Case;
use crate::explain::classes::{by_count, numbers_of, overflow};
use crate::explain::errors::Kind;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, count, exact, percent};

/// Share of what fits, at an overflow.
const LEAST: f64 = 0.4;
/// Share of the window without one.
const LEAST_AT_REST: f64 = 0.6;

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let fixed = case.fixed?;
    let limit = case.failure.as_ref().map_or(case.window(), |failure| failure.limit);
    let least = if case.failure.is_some() { LEAST } else { LEAST_AT_REST };
    if limit == 0 || (fixed as f64) < least * limit as f64 {
        return None;
    }
    let line = match &case.failure {
        Some(failure) if failure.overflow.kind == Kind::CutShort => format!(
            "Reply cut to {}: the check before the call saw {} of messages and none of the {} of system prompt and tool schemas; the prompt fills {} of {}",
            count(limit.saturating_sub(failure.requested) as usize, "token"),
            about(failure.estimate().saturating_sub(failure.fixed)),
            about(fixed),
            exact(failure.requested),
            exact(limit),
        ),
        Some(failure) => format!(
            "{}: {} of the {} that fit are system prompt and tool schemas, before any message; the gateway's check of the messages alone said {}",
            overflow(failure),
            about(fixed),
            exact(limit),
            about(failure.estimate().saturating_sub(failure.fixed)),
        ),
        None => format!(
            "System prompt and tool schemas take {} of {} ({}) before any message",
            about(fixed),
            exact(limit),
            percent(fixed as f64, limit as f64)
        ),
    };
    let confidence = match &case.failure {
        Some(failure) if case.inspection.fixed.is_some() => by_count(failure),
        _ => Confidence::Likely,
    };
    let mut finding = Finding::new(Class::FixedOverhead, confidence, line)
        .by("compaction 11.3")
        .number("fixed", fixed as f64)
        .number("limit", limit as f64);
    finding.evidence.extend(case.failure.as_ref().map(numbers_of));
    Some(finding.seen(parts(case, fixed)))
}

/// What it is made of, where a run reported it.
fn parts(case: &Case<'_>, fixed: u64) -> Evidence {
    if case.inspection.fixed.is_none() {
        let text =
            format!("the first call was counted {} above its messages; no run left a report", about(fixed));
        return Evidence::new(text).at(case.calls.first().map(|call| call.entry)).by("compaction 11.3");
    }
    let budget = case.inspection.budget();
    let part = |part| format!("{} {}", part_word(part), about(budget.tokens(part)));
    let parts = [Part::System, Part::Tools, Part::Files].map(part).join(", ");
    Evidence::new(format!("as the last run reported it: {parts}")).by("compaction 11.3")
}

fn part_word(part: Part) -> &'static str {
    match part {
        Part::Tools => "tool schemas",
        Part::Files => "workspace files",
        _ => "system prompt",
    }
}
