//! What precedes the messages of a prompt, as the check before it counts (releases R62).

use crate::context::time_stamp::STAMP_CHARS;
use crate::gateway::ruleset::{Preflight, Rules};
use crate::units::{Chars, Tokens};

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
