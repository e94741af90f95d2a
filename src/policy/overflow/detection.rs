//! Runs every overflow detector of one release on an error text: strict, likely, compaction failure, rate limit, and
//! the one inside a run (releases R90–R94).

use crate::js::{JsException, Value};
use crate::policy::overflow::recognised::in_run_pi;
use crate::policy::overflow::release::Release;
use crate::policy::overflow::{openclaw_releases, pi, pi_releases, release};

/// The results of one release's detectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// First release that detects a failed compaction by other words than an overflow's.
const COMPACTION_FAILURE_WORDS_SINCE: Release = [2026, 2, 12];
/// First pi release that treats an empty answer as an overflow when the prompt filled the window.
const SILENT_LENGTH_SINCE: Release = [0, 72, 0];

/// Runs the detectors of the release that `version` names; those of the oldest release when it names none.
pub fn detect(text: &str, version: &str) -> Detection {
    let release = release::parse_openclaw(version).unwrap_or_default();
    let lower = text.to_lowercase();
    let overflow = openclaw_releases::is_strict_overflow(text, release);
    let likely = openclaw_releases::is_overflow(text, release);
    let compaction = ["compaction", "summarization failed"].iter().any(|part| lower.contains(part));
    let fails = if release < COMPACTION_FAILURE_WORDS_SINCE {
        overflow
    } else {
        likely || lower.contains("context overflow")
    };
    Detection {
        overflow,
        likely,
        compaction_failure: compaction && fails,
        rate_limit: openclaw_releases::is_rate_limited(&lower, release),
        in_run: in_run_pi(release).is_some_and(|pi| pi_releases::is_overflow(text, "", pi)),
    }
}

/// Whether the detector inside a run of this release treats an answer as an overflow: by its error, or because its
/// usage exceeded `window` (tokens).
///
/// # Errors
/// The release reads the usage, and the answer has none.
pub fn is_overflow_in_run(message: &Value, window: Option<f64>, version: &str) -> Result<bool, JsException> {
    let release = release::parse_openclaw(version).unwrap_or_default();
    let Some(pi) = in_run_pi(release) else { return Ok(false) };
    let says_so = |text: &str| pi_releases::is_overflow(text, "", pi);
    pi::is_error_or_silent_overflow(message, window, pi >= SILENT_LENGTH_SINCE, says_so)
}
