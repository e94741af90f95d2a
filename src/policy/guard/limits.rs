//! The limits of the guard for a window (pruning 6.30).

use crate::gateway::ruleset::{Guard, Rules};
use crate::policy::settings::GuardSettings;
use crate::policy::truncate::js_max;
use crate::units::{Chars, Tokens};

/// In tokens; the gateway assumes it for a model without a window.
pub const UNKNOWN_WINDOW: f64 = 200_000.0;
/// Chars per token of the whole context.
const CHARS_PER_TOKEN: f64 = 4.0;
/// Chars per token of one result.
const RESULT_CHARS_PER_TOKEN: f64 = 2.0;
/// Share of the window beyond which the guard stops a call (releases R41).
const STOP_SHARE: f64 = 0.9;
/// Smallest limit, in chars.
const MIN_CHARS: Chars = Chars(1024.0);

/// In chars as the guard counts them (pruning 6.32).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardLimits {
    /// Limit of all messages.
    pub budget: Chars,
    /// Limit of one tool result.
    pub single: Chars,
    /// Limit of all messages after the guard has run; it stops a larger call (releases R41).
    pub stop: Option<Chars>,
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
                Some(Self { budget: Chars::INFINITY, stop: Some(stop_chars(window)), ..limits })
            }
            Guard::Single => {
                let known = if window.is_nan() { 1.0 } else { window.get() };
                Some(Self { budget: Chars::INFINITY, ..Self::new(Tokens(known), settings) })
            }
        }
    }

    /// Returns the limits for a window in tokens, without one that stops the call; NaN is an unknown window.
    pub fn new(window: Tokens, settings: &GuardSettings) -> Self {
        let window = known_window(window);
        let limit = |chars_per_token, share: f64| {
            js_max(MIN_CHARS, (window.to_chars(chars_per_token) * share).floor())
        };
        Self {
            budget: limit(CHARS_PER_TOKEN, settings.budget_share),
            single: limit(RESULT_CHARS_PER_TOKEN, settings.single_share),
            stop: None,
        }
    }
}

/// Returns whole tokens, at least 1.
fn known_window(window: Tokens) -> Tokens {
    let window = if window.is_nan() { Tokens(UNKNOWN_WINDOW) } else { window };
    window.floor().max(Tokens(1.0))
}

/// Returns the chars beyond which the guard stops a call, for a window in tokens.
fn stop_chars(window: Tokens) -> Chars {
    js_max(MIN_CHARS, (known_window(window).to_chars(CHARS_PER_TOKEN) * STOP_SHARE).floor())
}
