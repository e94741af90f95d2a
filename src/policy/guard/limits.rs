//! The limits of the guard for a window (pruning 6.30).

use crate::gateway::ruleset::{Guard, Rules};
use crate::policy::settings::GuardSettings;
use crate::policy::truncate::js_max;
use crate::units::Tokens;

/// In tokens; the gateway assumes it for a model without a window.
pub const UNKNOWN_WINDOW: f64 = 200_000.0;
/// Chars per token of the whole context.
const CHARS_PER_TOKEN: f64 = 4.0;
/// Chars per token of one result.
const RESULT_CHARS_PER_TOKEN: f64 = 2.0;
/// Share of the window beyond which the guard stops a call (releases R41).
const STOP_SHARE: f64 = 0.9;
/// Smallest limit, in chars.
const MIN_CHARS: f64 = 1024.0;

/// In chars as the guard counts them (pruning 6.32).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardLimits {
    /// Limit of all messages.
    pub budget: f64,
    /// Limit of one tool result.
    pub single: f64,
    /// Limit of all messages after the guard has run; it stops a larger call (releases R41).
    pub stop: Option<f64>,
}

impl GuardLimits {
    /// Returns a version's limits for a window in tokens; `None` if it has no guard. Since 2026.4.8 there is no budget
    /// for all messages; since 2026.8.1 an unknown window counts as the smallest (pruning 8.7).
    pub fn under(rules: &Rules, window: Tokens, settings: &GuardSettings) -> Option<Self> {
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
                let known = if window.is_nan() { 1.0 } else { window.get() };
                Some(Self { budget: f64::INFINITY, ..Self::new(Tokens(known), settings) })
            }
        }
    }

    /// Returns the limits for a window in tokens, without one that stops the call; NaN is an unknown window.
    pub fn new(window: Tokens, settings: &GuardSettings) -> Self {
        let window = if window.is_nan() { UNKNOWN_WINDOW } else { window.get() };
        let tokens = js_max(1.0, window.floor());
        let limit = |chars: f64, share: f64| js_max(MIN_CHARS, (tokens * chars * share).floor());
        Self {
            budget: limit(CHARS_PER_TOKEN, settings.budget_share),
            single: limit(RESULT_CHARS_PER_TOKEN, settings.single_share),
            stop: None,
        }
    }
}

/// Returns the chars beyond which the guard stops a call, for a window in tokens.
fn stop_chars(window: Tokens) -> f64 {
    let window = if window.is_nan() { UNKNOWN_WINDOW } else { window.get() };
    js_max(MIN_CHARS, (js_max(1.0, window.floor()) * CHARS_PER_TOKEN * STOP_SHARE).floor())
}
