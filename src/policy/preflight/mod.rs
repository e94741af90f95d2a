//! The check before a prompt is sent, in OpenClaw since 2026.4.8: it compares an estimate with the window minus the
//! reserve and chooses compaction, truncation or both when the prompt does not fit (releases R60–R62).

mod policy;
mod pressure;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::time_stamp::STAMP_CHARS;
use crate::gateway::compaction::max_reserve_under;
use crate::gateway::ruleset::{Preflight, Rules};
use crate::ids::word_in_json;
use crate::units::{Chars, Tokens};

pub use policy::CheckPolicy;
pub use pressure::{Pressure, ProviderCount, sum_pressure};

/// Factor on estimated tokens; tokens that a provider counted have none.
const SAFETY_MARGIN: f64 = 1.2;
/// Chars per token when reducible chars are compared with the overflow.
const CHARS_PER_TOKEN: f64 = 4.0;
/// Truncation is enough if it removes this many chars more than the overflow, and this multiple of it.
const SPARE_CHARS: Chars = Chars(2048.0);
const SPARE_RATIO: f64 = 1.5;

/// The inputs of a check, in tokens unless a field says otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreflightInput {
    pub window: Tokens,
    /// Tokens of the window that stay free.
    pub reserve: Tokens,
    /// Tokens that a provider counted, without the safety margin.
    pub counted_tokens: Tokens,
    /// Estimated tokens of everything else in the prompt, without the safety margin.
    pub estimated_tokens: Tokens,
    /// Chars that truncating tool results would remove.
    pub reducible_chars: Chars,
}

/// The consequence of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The prompt is sent unchanged.
    Fits,
    /// The session is compacted first.
    Compact,
    /// Tool results are cut in the session first.
    Truncate,
    /// The session is compacted and tool results are cut first.
    CompactThenTruncate,
}

word_in_json!(Route, as_str);

impl Route {
    /// The gateway's identifier of the route.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Compact => "compact_only",
            Self::Truncate => "truncate_tool_results_only",
            Self::CompactThenTruncate => "compact_then_truncate",
        }
    }

    /// Returns the route with this identifier.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Fits, Self::Compact, Self::Truncate, Self::CompactThenTruncate]
            .into_iter()
            .find(|route| route.as_str() == name)
    }

    /// A description for the screen. A release that `sends_anyway` only records the result.
    pub fn description(self, sends_anyway: bool) -> &'static str {
        match self {
            _ if sends_anyway && self != Self::Fits => "the gateway records this and sends the prompt anyway",
            Self::Fits => "the gateway sends the prompt unchanged",
            Self::Compact => "the gateway compacts the session first",
            Self::Truncate => "the gateway cuts tool results first",
            Self::CompactThenTruncate => "the gateway compacts the session and cuts tool results first",
        }
    }
}

/// The check before the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightResult {
    pub route: Route,
    /// The estimate, including the safety margin.
    #[serde(rename = "estimatedTokens")]
    pub estimate: Tokens,
    /// Tokens that the prompt may have.
    #[serde(rename = "roomTokens")]
    pub prompt_limit: Tokens,
    /// Tokens above the limit.
    #[serde(rename = "overTokens")]
    pub overflow: Tokens,
    /// The reserve after its cap; null when the release has no cap.
    #[serde(rename = "reserveTokens")]
    pub reserve: Option<Tokens>,
    /// Chars of results that could be reduced.
    pub reducible_chars: Chars,
    /// Whether the release sends the prompt whatever the route is (releases R60).
    #[serde(skip)]
    pub sends_anyway: bool,
}

impl PreflightResult {
    /// Describes what follows.
    pub fn description(&self) -> &'static str {
        self.route.description(self.sends_anyway)
    }
}

/// Returns the estimate of the check after the turn of an `openclaw agent` command: all messages of the branch and an
/// empty prompt (releases R73).
pub fn turn_end_estimate(messages: &[Pressure]) -> Tokens {
    let sum: f64 = messages.iter().map(|message| message.tokens).sum();
    Tokens(((sum + pressure::MESSAGE_TOKENS) * SAFETY_MARGIN).ceil())
}

/// Checks a prompt under a version's rules; `None` when the version has no such check.
pub fn check(rules: &Rules, requested: &PreflightInput) -> Option<PreflightResult> {
    let caps = match rules.preflight {
        Preflight::None => return None,
        Preflight::Estimate { leaves_room } => leaves_room,
        Preflight::Pressure(_) => true,
    };
    let window = requested.window.floor().max(Tokens(1.0));
    let given = requested.reserve.floor().max(Tokens::ZERO);
    let reserve = if caps { given.min(max_reserve_under(rules, window)) } else { given };
    let room = (window - reserve).max(Tokens(1.0));
    let estimate = requested.counted_tokens + (requested.estimated_tokens * SAFETY_MARGIN).ceil();
    let overflow = (estimate - room).max(Tokens::ZERO);
    let enough = (overflow.to_chars(CHARS_PER_TOKEN) + SPARE_CHARS)
        .max(overflow.to_chars(SPARE_RATIO * CHARS_PER_TOKEN).ceil());
    let route = if overflow <= Tokens::ZERO {
        Route::Fits
    } else if requested.reducible_chars <= Chars::ZERO {
        Route::Compact
    } else if requested.reducible_chars >= enough {
        Route::Truncate
    } else {
        Route::CompactThenTruncate
    };
    let reducible_chars = requested.reducible_chars;
    Some(PreflightResult {
        route,
        estimate,
        prompt_limit: room,
        // JavaScript's maximum with NaN is NaN.
        overflow: if estimate.is_nan() { estimate } else { overflow },
        reserve: caps.then_some(reserve),
        reducible_chars,
        sends_anyway: rules.sends_above_budget(),
    })
}

/// Overhead of a system prompt, in tokens.
const SYSTEM_TOKENS: Tokens = Tokens(12.0);
const SYSTEM_CHARS_PER_TOKEN: f64 = 4.0;
const TOOL_CHARS_PER_TOKEN: f64 = 3.0;
/// Chars of `{"name":"","description":"","parameters":}` and the comma after it.
const TOOL_FRAME: Chars = Chars(42.0);

/// System prompt and tools, in tokens without the safety margin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FixedPressure {
    pub system: Tokens,
    pub tools: Tokens,
    /// The time that is added to each user message.
    pub stamp: Tokens,
}

/// The sizes of one tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolChars {
    pub name: Chars,
    pub description: Chars,
    /// Its JSON schema.
    pub parameters: Chars,
}

impl FixedPressure {
    /// Estimates from chars, without the escapes of JSON. `tools` are the schemas together, and each tool if known.
    pub fn new(rules: &Rules, system: Chars, tools: (Chars, impl Iterator<Item = ToolChars>)) -> Self {
        let counts_tools = matches!(rules.preflight, Preflight::Pressure(rule) if rule.counts_tools);
        let (schemas, each) = tools;
        let whole: Chars = each.map(|tool| tool.name + tool.description + tool.parameters + TOOL_FRAME).sum();
        let tools = if counts_tools { whole.max(schemas) } else { Chars::ZERO };
        let overhead = if system > Chars::ZERO { SYSTEM_TOKENS } else { Tokens::ZERO };
        Self {
            system: system.to_tokens(SYSTEM_CHARS_PER_TOKEN).ceil() + overhead,
            tools: tools.to_tokens(TOOL_CHARS_PER_TOKEN).ceil(),
            stamp: if rules.sending.has_times() {
                STAMP_CHARS.to_tokens(SYSTEM_CHARS_PER_TOKEN)
            } else {
                Tokens::ZERO
            },
        }
    }

    /// Returns the tokens that count beside those that a provider counted: these include the tools.
    pub fn beside(&self, counted: Tokens) -> Tokens {
        if counted > Tokens::ZERO { self.system } else { self.system + self.tools }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn an_estimate_that_is_no_number_fits_by_an_unknown_amount() {
        let result = checked(Ruleset::V2026_4_25, Tokens(1e5), Tokens(1e3), f64::NAN, 0.0);
        assert!(result.route == Route::Fits && result.overflow.is_nan());
    }

    fn checked(
        ruleset: Ruleset,
        window: Tokens,
        reserve: Tokens,
        sum: f64,
        reducible_chars: f64,
    ) -> PreflightResult {
        check(
            ruleset.rules(),
            &PreflightInput {
                window,
                reserve,
                counted_tokens: Tokens::ZERO,
                estimated_tokens: Tokens(sum),
                reducible_chars: Chars(reducible_chars),
            },
        )
        .unwrap()
    }

    const OLD: Ruleset = Ruleset::V2026_4_7;
    const NEW: Ruleset = Ruleset::V2026_4_12;

    #[test]
    fn a_reserve_larger_than_the_window_leaves_one_token_or_since_4_14_half_of_it() {
        assert_eq!(checked(OLD, Tokens(9000.0), Tokens(20_000.0), 100.0, 0.0).route, Route::Compact);
        let new = checked(NEW, Tokens(9000.0), Tokens(20_000.0), 100.0, 0.0);
        assert_eq!(
            (new.route, new.reserve, new.prompt_limit),
            (Route::Fits, Some(Tokens(4500.0)), Tokens(4500.0))
        );
    }

    #[test]
    fn truncation_is_enough_only_if_it_frees_half_more_plus_2048_chars() {
        let route = |chars| checked(NEW, Tokens(100_000.0), Tokens(20_000.0), 70_000.0, chars).route;
        // 84,000 tokens in 80,000: 4,000 too many.
        assert_eq!(
            [route(0.0), route(1.0), route(23_999.0), route(24_000.0)],
            [Route::Compact, Route::CompactThenTruncate, Route::CompactThenTruncate, Route::Truncate]
        );
    }
}

#[cfg(test)]
mod fixed_tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    fn pressure(ruleset: Ruleset) -> FixedPressure {
        let tool = |name, description, parameters| ToolChars {
            name: Chars(name),
            description: Chars(description),
            parameters: Chars(parameters),
        };
        // Five tools of a real session.
        let tools = [
            tool(4.0, 164.0, 481.0),
            tool(4.0, 163.0, 1060.0),
            tool(11.0, 502.0, 1139.0),
            tool(13.0, 92.0, 125.0),
            tool(9.0, 61.0, 210.0),
        ];
        FixedPressure::new(ruleset.rules(), Chars(7889.0), (Chars(3015.0), tools.into_iter()))
    }

    #[test]
    fn tools_count_from_9_2_on_unless_a_provider_counted_them() {
        let new = pressure(Ruleset::V2026_9_6);
        assert_eq!(new, FixedPressure { system: Tokens(1985.0), tools: Tokens(1416.0), stamp: Tokens(6.75) });
        assert_eq!([new.beside(Tokens::ZERO), new.beside(Tokens(9.0))], [Tokens(3401.0), Tokens(1985.0)]);
        assert_eq!(pressure(Ruleset::V2026_8_1).tools, Tokens::ZERO);
    }
}
