//! Runs every overflow detector of one release on an error text: strict, likely, compaction failure, rate limit, and
//! the one inside a run (releases R90–R94).

use crate::gateway::ruleset::Ruleset;
use crate::policy::overflow::pi_releases::Release;
use crate::policy::overflow::{Classification, StopDetails, openclaw_releases, pi_releases};

/// The results of one release's detectors. pi without a gateway has only the one inside a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Detection {
    /// The strict detector, which resets a chat.
    pub overflow: bool,
    /// The wide detector, which starts the recovery after a run.
    pub likely: bool,
    /// A compaction failed because its own prompt was too large.
    pub compaction_failure: bool,
    pub rate_limit: bool,
    /// The detector inside a run.
    pub in_run: bool,
}

/// First release in which the wide detector decides whether a failed compaction was too large.
const WIDE_COMPACTION_FAILURES_SINCE: Release = [2026, 2, 12];

/// Runs the detectors of a runtime on an error text; those of the oldest release when its version names none.
pub fn detect(text: &str, provider: &str, runtime: Runtime<'_>) -> Detection {
    match runtime {
        Runtime::OpenClaw(version) => {
            detect_in_gateway(text, provider, pi_releases::parse_openclaw(version).unwrap_or_default())
        }
        Runtime::Pi(version) => {
            let release = pi_releases::parse_pi(version).unwrap_or_default();
            Detection { in_run: pi_releases::is_overflow(text, provider, release), ..Detection::default() }
        }
    }
}

fn detect_in_gateway(text: &str, provider: &str, release: Release) -> Detection {
    let lower = text.to_lowercase();
    let overflow = openclaw_releases::is_strict_overflow(text, release);
    let likely = openclaw_releases::is_overflow(text, release);
    let compaction = ["compaction", "summarization failed"].iter().any(|part| lower.contains(part));
    let names_overflow = if release < WIDE_COMPACTION_FAILURES_SINCE { overflow } else { likely };
    let fails = names_overflow || lower.contains("context overflow");
    let by_pi = || in_run_pi(release).is_some_and(|pi| pi_releases::is_overflow(text, provider, pi));
    Detection {
        overflow,
        likely,
        compaction_failure: compaction && fails,
        rate_limit: openclaw_releases::is_rate_limited(&lower, release),
        in_run: if release >= IN_RUN_PI_UNKNOWN.1 { likely } else { by_pi() },
    }
}

// Decides whether a release recognised an answer's text as an overflow and so tried to recover (overflow-texts 7). A
// missed overflow leaves the session stuck; a false one costs a needless compaction.

/// The program that read an answer, with its version text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime<'a> {
    /// The gateway, such as `2026.3.2` or `2026.1.24-3`.
    OpenClaw(&'a str),
    /// pi without a gateway, such as `0.55.3`.
    Pi(&'a str),
}

impl<'a> Runtime<'a> {
    /// Returns the program whose detectors read the answers under a ruleset; `version` is the gateway's, if recorded.
    pub fn of_ruleset(ruleset: Ruleset, version: Option<&'a str>) -> Self {
        match ruleset {
            Ruleset::Pi0_55 => Self::Pi("0.55.3"),
            Ruleset::Pi1_5 => Self::Pi("1.5.2"),
            // The id of a range of releases names its first release.
            pi if pi.is_pi() => Self::Pi(pi.id().trim_start_matches("pi-")),
            _ => Self::OpenClaw(version.unwrap_or(ruleset.rules().overflow_texts)),
        }
    }
}

/// The pi release whose detector the gateway uses inside a run, by gateway release (releases R94).
const IN_RUN_PI: [(Release, Release); 8] = [
    ([0, 0, 0], [0, 49, 3]),
    ([2026, 1, 30], [0, 55, 3]),
    ([2026, 3, 8], [0, 57, 1]),
    ([2026, 3, 28], [0, 63, 1]),
    ([2026, 4, 5], [0, 65, 0]),
    ([2026, 5, 3], [0, 73, 0]),
    ([2026, 5, 18], [0, 75, 1]),
    ([2026, 5, 28], [0, 77, 0]),
];

/// The detector inside a run is unknown from the first of these releases up to, but not including, the second.
pub(super) const IN_RUN_PI_UNKNOWN: (Release, Release) = ([2026, 8, 1], [2026, 9, 6]);

/// Bytes of a text that are inspected; longer texts echo a prompt.
const MAX_BYTES: usize = 64 << 10;

/// Whether this release recognised the text: the gateway by its test after the run, pi by its only test. A release
/// between two known ones counts as the older, one before all of them as the oldest. `None` when the version text names
/// no release.
pub fn is_recognised(
    details: &StopDetails,
    judgement: &Classification,
    runtime: Runtime<'_>,
) -> Option<bool> {
    let failed = is_error(details);
    match runtime {
        Runtime::OpenClaw(version) => {
            let release = pi_releases::parse_openclaw(version)?;
            let own =
                judgement.by_gateway || openclaw_releases::is_overflow(inspected_text(details), release);
            Some(failed && own)
        }
        Runtime::Pi(version) => {
            let release = pi_releases::parse_pi(version)?;
            Some(failed && pi_releases::is_overflow(inspected_text(details), &details.provider, release))
        }
    }
}

/// Whether this gateway release recognised the text inside the run, where pi's detector or a copy of it decides before
/// the gateway's own test. Recovery was tried unless both tests missed. `None` when the version text names no release,
/// or one with an unknown detector.
pub fn is_recognised_in_run(details: &StopDetails, version: &str) -> Option<bool> {
    let release = pi_releases::parse_openclaw(version)?;
    if release >= IN_RUN_PI_UNKNOWN.1 {
        return Some(is_error(details) && openclaw_releases::is_overflow(inspected_text(details), release));
    }
    if release >= IN_RUN_PI_UNKNOWN.0 {
        return None;
    }
    let pi = in_run_pi(release)?;
    Some(is_error(details) && pi_releases::is_overflow(inspected_text(details), &details.provider, pi))
}

/// Returns the pi release whose detector a gateway release uses inside a run.
pub(super) fn in_run_pi(release: Release) -> Option<Release> {
    IN_RUN_PI.iter().rev().find(|(since, _)| *since <= release).map(|(_, pi)| *pi)
}

/// Whether the answer failed; both programs inspect only the text of failed answers.
fn is_error(details: &StopDetails) -> bool {
    details.stop_reason == "error"
}

fn inspected_text(details: &StopDetails) -> &str {
    &details.message[..details.message.floor_char_boundary(MAX_BYTES)]
}
