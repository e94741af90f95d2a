//! Recognises error texts that mean that a prompt was too large. pi's detector starts the compaction inside a run; the
//! gateway's detectors decide the recovery after it. The two disagree, and clawscope reproduces that (compaction
//! 8.1–8.7).
//!
//! Two functions are independent of any one release: [`judge()`] decides from the text alone whether a call overflowed,
//! and [`is_recognised()`] whether a given release noticed (overflow-texts).

mod detection;
pub mod gateway;
mod judge;
mod normalized;
mod numbers;
mod openclaw_releases;
pub mod pi;
pub mod pi_1_5;
mod pi_releases;
mod recognised;
mod release;
mod signs;
mod stop_details;
mod text_match;
mod texts;
mod word_order;

use crate::gateway::ruleset::ReadMode;

pub use detection::{Detection, detect, is_overflow_in_run};
pub use judge::{Judgement, Verdict, judge};
pub use numbers::{RefusalNumbers, parse_numbers};
pub use recognised::{Runtime, is_recognised, is_recognised_in_run};
pub use stop_details::StopDetails;

/// Whether pi's or the gateway's strict detector matches a recorded error text.
pub fn is_overflow(text: &str) -> bool {
    pi::is_overflow(text) || gateway::is_overflow(text)
}

/// Whether the detector that fits the transcript's reading matches (store-pi-1.5 G).
pub fn is_overflow_for(reading: ReadMode, text: &str) -> bool {
    match reading {
        ReadMode::Entries => is_overflow(text),
        ReadMode::Projected => pi_1_5::is_overflow(text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_failure_is_no_overflow() {
        assert!(!is_overflow("the model is overloaded") && !is_overflow(""));
        assert!(is_overflow("too many tokens") && is_overflow("413 Payload too large"));
    }
}
