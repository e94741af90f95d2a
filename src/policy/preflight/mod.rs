//! The check of a prompt before it is sent, by gateways from 2026.4.8 on: whether it has room beside the reserve, and what is
//! done where it has not (releases R60–R62).

mod pressure;

pub use pressure::{Pressure, ProviderCount, sum_pressure};

use crate::gateway::compaction::max_reserve_under;
use crate::gateway::ruleset::{Preflight, Rules};
use crate::js::{JsException, Value};

/// Safety factor on the estimate.
const SAFETY_MARGIN: f64 = 1.2;
/// Chars per token when truncatable chars are compared with the overflow.
const CHARS_PER_TOKEN: f64 = 4.0;
/// Truncation alone is enough if it removes this many chars more than the overflow, and this multiple of it.
const SPARE_CHARS: f64 = 2048.0;
const SPARE_RATIO: f64 = 1.5;

/// What a check asks about. Tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreflightInput {
    /// The window.
    pub window: f64,
    /// What is to stay free of it.
    pub reserve: f64,
    /// What a provider counted; it takes no margin.
    pub counted_tokens: f64,
    /// Everything else that is sent, without the margin.
    pub estimated_tokens: f64,
    /// Chars that cutting tool results would take.
    pub reducible_chars: f64,
}

/// What follows the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// It is sent as it is.
    Fits,
    /// The session is compacted first.
    Compact,
    /// Tool results are cut in the session first.
    Truncate,
    /// Both.
    CompactThenTruncate,
}

impl Route {
    /// The gateway's own word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Compact => "compact_only",
            Self::Truncate => "truncate_tool_results_only",
            Self::CompactThenTruncate => "compact_then_truncate",
        }
    }

    /// What is done, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::Fits => "it is sent as it is",
            Self::Compact => "the session is compacted first",
            Self::Truncate => "tool results are cut first",
            Self::CompactThenTruncate => "the session is compacted and tool results are cut first",
        }
    }
}

/// The answer of a check. Tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreflightResult {
    /// What follows.
    pub route: Route,
    /// The estimate, margin included.
    pub estimate: f64,
    /// What it is compared with: the window without the reserve.
    pub prompt_limit: f64,
    /// How far the estimate exceeds the room; 0 if it fits.
    pub overflow: f64,
    /// The reserve after its cap; `None` where the release does not cap it.
    pub reserve: Option<f64>,
    /// Chars that cutting tool results would take.
    pub reducible_chars: f64,
}

/// Checks a prompt under the rules of a release; `None` where it has no such check.
pub fn check(rules: &Rules, asked: &PreflightInput) -> Option<PreflightResult> {
    let caps = match rules.preflight {
        Preflight::None => return None,
        Preflight::Estimate { leaves_room } => leaves_room,
        Preflight::Pressure(_) => true,
    };
    let window = asked.window.floor().max(1.0);
    let given = asked.reserve.floor().max(0.0);
    let reserve = if caps { given.min(max_reserve_under(rules, window)) } else { given };
    let room = (window - reserve).max(1.0);
    let estimate = asked.counted_tokens + (asked.estimated_tokens * SAFETY_MARGIN).ceil();
    let overflow = (estimate - room).max(0.0);
    let enough =
        (CHARS_PER_TOKEN * overflow + SPARE_CHARS).max((SPARE_RATIO * CHARS_PER_TOKEN * overflow).ceil());
    let route = if overflow <= 0.0 {
        Route::Fits
    } else if asked.reducible_chars <= 0.0 {
        Route::Compact
    } else if asked.reducible_chars >= enough {
        Route::Truncate
    } else {
        Route::CompactThenTruncate
    };
    let reducible_chars = asked.reducible_chars;
    Some(PreflightResult {
        route,
        estimate,
        prompt_limit: room,
        overflow,
        reserve: caps.then_some(reserve),
        reducible_chars,
    })
}

/// Tokens of what is sent as the version's check counts them, without the margin: those that a provider counted, and the
/// rest. `estimate` counts one message with the runtime's rule. A system prompt counts nothing in the older check.
///
/// # Errors
/// Where a message has a shape that cannot be estimated.
pub fn prompt_tokens(
    rules: &Rules,
    messages: &[Value],
    system: &str,
    prompt: &str,
    estimate: impl Fn(&Value) -> Result<f64, JsException>,
) -> Result<(f64, f64), JsException> {
    if let Preflight::Pressure(_) = rules.preflight {
        let (counted, messages) =
            sum_pressure(messages.iter().map(|message| Pressure::from_message(rules, message)));
        let system = if system.trim().is_empty() { 0.0 } else { pressure::text_tokens(rules, system) };
        return Ok((counted, messages + system + pressure::text_tokens(rules, prompt)));
    }
    let messages = messages.iter().try_fold(0.0, |sum, message| Ok(sum + estimate(message)?))?;
    Ok((0.0, messages + (prompt.encode_utf16().count() as f64 / CHARS_PER_TOKEN).ceil()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    fn checked(
        ruleset: Ruleset,
        window: f64,
        reserve: f64,
        sum: f64,
        reducible_chars: f64,
    ) -> PreflightResult {
        check(
            ruleset.rules(),
            &PreflightInput { window, reserve, counted_tokens: 0.0, estimated_tokens: sum, reducible_chars },
        )
        .unwrap()
    }

    const OLD: Ruleset = Ruleset::V2026_4_8;
    const NEW: Ruleset = Ruleset::V2026_4_14;

    #[test]
    fn a_reserve_larger_than_the_window_leaves_one_token_or_since_4_14_half_of_it() {
        assert_eq!(checked(OLD, 9000.0, 20_000.0, 100.0, 0.0).route, Route::Compact);
        let new = checked(NEW, 9000.0, 20_000.0, 100.0, 0.0);
        assert_eq!((new.route, new.reserve, new.prompt_limit), (Route::Fits, Some(4500.0), 4500.0));
    }

    #[test]
    fn cutting_alone_has_to_take_half_as_much_again_and_2048_chars_more() {
        let route = |chars| checked(NEW, 100_000.0, 20_000.0, 70_000.0, chars).route;
        // 84,000 of 80,000: 4,000 too many.
        assert_eq!(
            [route(0.0), route(1.0), route(23_999.0), route(24_000.0)],
            [Route::Compact, Route::CompactThenTruncate, Route::CompactThenTruncate, Route::Truncate]
        );
    }
}
