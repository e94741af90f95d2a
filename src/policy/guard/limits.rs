//! What the guard allows for a window (pruning 6.30).

use crate::gateway::ruleset::{Guard, Rules};
use crate::policy::settings::GuardSettings;
use crate::policy::truncate::js_max;

/// Window assumed for a model that names none, in tokens.
pub const UNKNOWN_WINDOW: f64 = 200_000.0;
/// Chars to a token of the whole context.
const CHARS_PER_TOKEN: f64 = 4.0;
/// Chars to a token of one result.
const RESULT_CHARS_PER_TOKEN: f64 = 2.0;
/// Share of the window from which a call ends (releases R41).
const STOP_SHARE: f64 = 0.9;
/// No limit is below this many chars.
const MIN_CHARS: f64 = 1024.0;

/// Limits of one call, in chars as the guard counts them (pruning 6.32).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardLimits {
    /// Of all messages.
    pub budget: f64,
    /// Of one tool result.
    pub single: f64,
    /// Of all messages once the guard is done; a call that is over it ends (releases R41).
    pub stop: Option<f64>,
}

impl GuardLimits {
    /// Those of a version for a window in tokens: the newest has none for all messages, and takes a window that nobody knows
    /// for the smallest (pruning 8.7). None where there is no guard.
    pub fn under(rules: &Rules, window: f64, settings: &GuardSettings) -> Option<Self> {
        match rules.guard {
            Guard::None => None,
            Guard::Placeholders { stops: false } => Some(Self::new(window, settings)),
            Guard::Placeholders { stops: true } | Guard::NewestFirst => {
                let limits = Self::new(window, settings);
                Some(Self { stop: Some(stop_chars(window).max(limits.budget)), ..limits })
            }
            Guard::SingleThenStop => {
                let limits = Self::new(window, settings);
                Some(Self { budget: f64::INFINITY, stop: Some(stop_chars(window)), ..limits })
            }
            Guard::Single => {
                let known = if window.is_nan() { 1.0 } else { window };
                Some(Self { budget: f64::INFINITY, ..Self::new(known, settings) })
            }
        }
    }

    /// For a window in tokens; NaN is a window that nobody knows.
    pub fn new(window: f64, settings: &GuardSettings) -> Self {
        let window = if window.is_nan() { UNKNOWN_WINDOW } else { window };
        let tokens = js_max(1.0, window.floor());
        let limit = |chars: f64, share: f64| js_max(MIN_CHARS, (tokens * chars * share).floor());
        Self {
            budget: limit(CHARS_PER_TOKEN, settings.budget_share),
            single: limit(RESULT_CHARS_PER_TOKEN, settings.single_share),
            stop: None,
        }
    }
}

/// What is said of a call that ends for its size; none where the version's guard ends none (releases R41, R43).
pub fn stop_text(rules: &Rules) -> Option<&'static str> {
    match rules.guard {
        Guard::Placeholders { stops: true } | Guard::NewestFirst => Some(
            "Preemptive context overflow: estimated context size exceeds safe threshold during tool loop",
        ),
        Guard::SingleThenStop => {
            Some("Context overflow: estimated context size exceeds safe threshold during tool loop.")
        }
        Guard::None | Guard::Placeholders { stops: false } | Guard::Single => None,
    }
}

/// Chars at which a call ends, for a window in tokens.
fn stop_chars(window: f64) -> f64 {
    let window = if window.is_nan() { UNKNOWN_WINDOW } else { window };
    js_max(MIN_CHARS, (js_max(1.0, window.floor()) * CHARS_PER_TOKEN * STOP_SHARE).floor())
}
