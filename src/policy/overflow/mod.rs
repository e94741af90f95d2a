//! Recognises error texts that mean that a prompt was too large. pi's detector starts the compaction inside a run; the
//! gateway's detectors decide the recovery after it. The two disagree, and clawscope reproduces that (compaction
//! 8.1–8.7).
//!
//! Two functions are independent of any one release: [`judge()`] decides from the text alone whether a call overflowed,
//! and [`is_recognised()`] whether a given release noticed (overflow-texts).

mod byte_limits;
mod detection;
mod error_class;
pub mod gateway;
mod judge;
mod normalized;
mod openclaw_releases;
#[cfg(test)]
mod pi_0_55;
mod pi_releases;
mod signs;
mod stated_sizes;
mod text_match;
mod texts;

pub use byte_limits::documented_request_limit;
pub use detection::{Detection, Runtime, detect, is_recognised, is_recognised_in_run};
pub use error_class::{ErrorClass, RefusalNumbers};
pub use judge::{Classification, Verdict, classify_error, is_bodyless_status, judge};
pub use normalized::StopDetails;
pub use stated_sizes::stated_sizes;
pub use text_match::stated_excess;
