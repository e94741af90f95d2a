//! Decides whether a release recognised an answer's text as an overflow and so tried to recover (overflow-texts 7). A
//! missed overflow leaves the session stuck; a false one costs a needless compaction.

use crate::gateway::ruleset::Ruleset;
use crate::policy::overflow::release::{self, Release};
use crate::policy::overflow::{Classification, StopDetails, openclaw_releases, pi_releases};

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
            let release = release::parse_openclaw(version)?;
            let own =
                judgement.by_gateway || openclaw_releases::is_overflow(inspected_text(details), release);
            Some(failed && own)
        }
        Runtime::Pi(version) => {
            let release = release::parse_pi(version)?;
            Some(failed && pi_releases::is_overflow(inspected_text(details), &details.provider, release))
        }
    }
}

/// Whether this gateway release recognised the text inside the run, where pi's detector or a copy of it decides before
/// the gateway's own test. Recovery was tried unless both tests missed. `None` when the version text names no release,
/// or one with an unknown detector.
pub fn is_recognised_in_run(details: &StopDetails, version: &str) -> Option<bool> {
    let release = release::parse_openclaw(version)?;
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
