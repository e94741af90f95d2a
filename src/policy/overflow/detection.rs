//! Runs every overflow detector of one release on an error text: strict, likely, compaction failure, rate limit, and
//! the one inside a run (releases R90–R94).

use crate::policy::overflow::recognised::{IN_RUN_PI_UNKNOWN, Runtime, in_run_pi};
use crate::policy::overflow::release::Release;
use crate::policy::overflow::{openclaw_releases, pi_releases, release};

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
            detect_in_gateway(text, provider, release::parse_openclaw(version).unwrap_or_default())
        }
        Runtime::Pi(version) => {
            let release = release::parse_pi(version).unwrap_or_default();
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
