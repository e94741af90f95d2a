//! Estimates messages as the check of OpenClaw since 2026.5.22 does (releases R62). The programs 5.22, 7.1 and 8.1
//! supplied the cases that R62 omits: blocks that are not objects, contents that are not lists, names that are not
//! texts, and, since 8.1, the provider's count.

use crate::context::llm::to_llm;
use crate::gateway::ruleset::{Preflight, Pressure as Rule, PruneWeight, Rules};
use crate::js::{self, JsString, Value, stringify, to_text};
use crate::policy::prune::weighted_chars;
use crate::store::context_tokens::ContextTokens;
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Overhead of a message, a system prompt or a prompt, in tokens.
pub(super) const MESSAGE_TOKENS: f64 = 12.0;
/// Overhead of a block, in tokens.
const BLOCK_TOKENS: f64 = 6.0;
const IMAGE_TOKENS: f64 = 2000.0;
/// Chars per token: of texts, of tool results, of names and arguments.
const TEXT_CHARS_PER_TOKEN: f64 = 4.0;
const RESULT_CHARS_PER_TOKEN: f64 = 2.0;
const CALL_CHARS_PER_TOKEN: f64 = 3.0;

/// A message's contribution to a check.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pressure {
    pub tokens: f64,
    /// The message's statement about everything before it.
    pub provider_count: ProviderCount,
}

/// A provider's count of the context, as an answer records it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum ProviderCount {
    /// The answer has no count.
    #[default]
    Unreported,
    /// The count is unknown and outdates earlier ones.
    Unknown,
    /// Tokens of everything up to and including this answer.
    Tokens(f64),
}

/// Returns the tokens that a provider counted, and the estimated tokens of the messages after that count.
pub fn sum_pressure(messages: impl DoubleEndedIterator<Item = Pressure>) -> (f64, f64) {
    let (mut behind, mut counts) = (0.0, true);
    let mut counted = 0.0;
    for message in messages.rev() {
        match message.provider_count {
            ProviderCount::Tokens(tokens) if counts => {
                counted = tokens.ceil();
                break;
            }
            ProviderCount::Unknown => counts = false,
            _ => {}
        }
        behind += message.tokens;
    }
    (counted, behind)
}

impl Pressure {
    /// Measures a message under a version's rules; zero when the version's check does not use this estimate.
    pub fn from_message(rules: &Rules, message: &Value) -> Self {
        let Preflight::Pressure(rule) = rules.preflight else { return Self::default() };
        let counted = if rule.provider_count { provider_count(message) } else { ProviderCount::default() };
        Self { tokens: message_tokens(rules.prune_size.weight, rule, message), provider_count: counted }
    }
}

fn provider_count(message: &Value) -> ProviderCount {
    let Some(usage) = message.get("usage").filter(|usage| js::is_truthy(Some(usage))) else {
        return ProviderCount::Unreported;
    };
    let reported = usage.get("contextUsage");
    let state = |name: &str| {
        reported.and_then(|reported| reported.get("state")).is_some_and(|state| state.str_is(name))
    };
    let total =
        reported.and_then(|reported| reported.get("totalTokens")?.as_f64()).filter(|total| *total > 0.0);
    let from_cli = message.get("api").is_some_and(|api| api.str_is("cli"));
    match (role_of(message), total) {
        (Role::Assistant, Some(total)) if state("available") => ProviderCount::Tokens(total),
        (Role::Assistant, _) if from_cli && reported.is_none() => ProviderCount::Unknown,
        (Role::Assistant, _) if state("unavailable") && ContextTokens::from_usage(usage).count == 0.0 => {
            ProviderCount::Unknown
        }
        _ => ProviderCount::Unreported,
    }
}

fn message_tokens(weight: PruneWeight, rule: Rule, message: &Value) -> f64 {
    let is = |key: &str, name: &str| message.get(key).is_some_and(|value| value.str_is(name));
    let result = is("role", "toolResult") || is("role", "tool") || is("type", "toolResult");
    let by = PartWeigher { weight, result, units: rule.results_by_units };
    let excludes = rule.provider_count || rule.as_sent && role_of(message) == Role::BashExecution;
    if excludes && message.get("excludeFromContext") == Some(&Value::Bool(true)) {
        return 0.0;
    }
    match role_of(message) {
        _ if result => {
            let name = [message.get("toolName"), message.get("tool_name")];
            let name = name.into_iter().flatten().find(|name| !name.is_null());
            MESSAGE_TOKENS + by.content_tokens(message.get("content")) + by.name_tokens(name)
        }
        Role::Assistant => MESSAGE_TOKENS + by.answer_tokens(message),
        Role::BashExecution | Role::BranchSummary | Role::CompactionSummary if rule.as_sent => {
            let sent = to_llm(message).ok().flatten();
            let text = sent
                .as_ref()
                .and_then(|sent| sent.get("content")?.as_array()?.first()?.get("text")?.as_str());
            MESSAGE_TOKENS + text.map_or(0.0, |text| by.text_tokens(text))
        }
        _ => MESSAGE_TOKENS + by.content_tokens(message.get("content")),
    }
}

/// Weights for the parts of one message.
struct PartWeigher {
    weight: PruneWeight,
    result: bool,
    units: bool,
}

impl PartWeigher {
    /// Estimates a text at `chars_per_token` weighted chars per token.
    fn weighted_tokens(&self, text: &JsString, chars_per_token: f64) -> f64 {
        weighted_chars(self.weight, text).to_tokens(chars_per_token).ceil().get()
    }

    /// Estimates a text by the role of this message.
    fn text_tokens(&self, text: &JsString) -> f64 {
        match (self.result, self.units) {
            (true, true) => (text.len() as f64 / RESULT_CHARS_PER_TOKEN)
                .ceil()
                .max(self.weighted_tokens(text, TEXT_CHARS_PER_TOKEN)),
            (true, false) => self.weighted_tokens(text, RESULT_CHARS_PER_TOKEN),
            (false, _) => self.weighted_tokens(text, TEXT_CHARS_PER_TOKEN),
        }
    }

    fn content_tokens(&self, content: Option<&Value>) -> f64 {
        match content {
            None => 0.0,
            Some(Value::String(text)) => self.text_tokens(text),
            Some(Value::Array(blocks)) => blocks.iter().map(|block| self.block_tokens(block)).sum(),
            Some(other) if self.result => self.text_tokens(&stringify(other).into()),
            Some(other) => self.weighted_tokens(&stringify(other).into(), CALL_CHARS_PER_TOKEN),
        }
    }

    fn block_tokens(&self, block: &Value) -> f64 {
        let is = |kind: &str| block.get("type").is_some_and(|value| value.str_is(kind));
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match block {
            Value::String(text) => return self.text_tokens(text),
            Value::Object(_) => {}
            other => return self.text_tokens(&stringify(other).into()),
        }
        let known = if is("text") { text("text") } else { text("thinking").filter(|_| is("thinking")) };
        match known {
            Some(known) => BLOCK_TOKENS + self.text_tokens(known),
            None if is("image") => IMAGE_TOKENS,
            None => BLOCK_TOKENS + self.text_tokens(&stringify(block).into()),
        }
    }

    /// Estimates the content of an answer; its calls count by name and arguments.
    fn answer_tokens(&self, message: &Value) -> f64 {
        let calls = ["toolCalls", "tool_calls"].into_iter().filter_map(|key| message.get(key));
        let calls = calls.filter(|calls| !calls.is_null()).take(1).filter_map(Value::as_array).flatten();
        let calls: f64 = calls.map(|call| self.call_tokens(call)).sum();
        let Some(Value::Array(blocks)) = message.get("content") else {
            return calls + self.content_tokens(message.get("content"));
        };
        let is_call = |block: &Value| {
            block.get("type").is_some_and(|kind| kind.str_is("toolCall") || kind.str_is("tool_use"))
        };
        let of =
            |block: &Value| if is_call(block) { self.call_tokens(block) } else { self.block_tokens(block) };
        calls + blocks.iter().map(of).sum::<f64>()
    }

    fn call_tokens(&self, call: &Value) -> f64 {
        if call.as_object().is_none() {
            return self.weighted_tokens(&stringify(call).into(), CALL_CHARS_PER_TOKEN);
        }
        let arguments = ["arguments", "input", "args"].into_iter().filter_map(|key| call.get(key));
        let arguments = arguments.into_iter().find(|arguments| !arguments.is_null());
        let arguments = arguments.map_or_else(|| "{}".to_owned(), stringify);
        BLOCK_TOKENS
            + self.name_tokens(call.get("name"))
            + self.weighted_tokens(&arguments.into(), CALL_CHARS_PER_TOKEN)
    }

    /// Estimates a name of any JSON type.
    fn name_tokens(&self, name: Option<&Value>) -> f64 {
        match name {
            None | Some(Value::Null) => 0.0,
            Some(name @ (Value::Array(_) | Value::Object(_))) => {
                self.weighted_tokens(&stringify(name).into(), CALL_CHARS_PER_TOKEN)
            }
            Some(name) => self.weighted_tokens(&to_text(Some(name)), CALL_CHARS_PER_TOKEN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::parse;

    fn pressure(ruleset: Ruleset, json: &str) -> f64 {
        Pressure::from_message(ruleset.rules(), &parse(json).unwrap()).tokens
    }

    #[test]
    fn a_result_weighs_twice_as_much_as_a_text() {
        let user = r#"{"role":"user","content":"abcdefgh"}"#;
        assert_eq!(pressure(Ruleset::V2026_5_22, user), 12.0 + 2.0);
        let result = r#"{"role":"toolResult","toolName":"exec","content":[{"type":"text","text":"你好ab"},{"type":"image"}]}"#;
        assert_eq!(pressure(Ruleset::V2026_5_22, result), 12.0 + 2.0 + 6.0 + 5.0 + 2000.0);
        assert_eq!(pressure(Ruleset::V2026_7_1, result), 12.0 + 2.0 + 6.0 + 3.0 + 2000.0);
    }

    #[test]
    fn a_call_without_arguments_has_an_empty_object() {
        let call = r#"{"role":"assistant","content":[{"type":"toolCall","name":"abc"},null,"abcd"]}"#;
        assert_eq!(pressure(Ruleset::V2026_5_22, call), 12.0 + 6.0 + 1.0 + 1.0 + 1.0 + 1.0);
    }

    #[test]
    fn from_7_1_on_summaries_count_in_their_sent_form() {
        let summary = r#"{"role":"compactionSummary","summary":"abcd"}"#;
        assert_eq!(pressure(Ruleset::V2026_6_11, summary), 12.0);
        assert!(pressure(Ruleset::V2026_7_1, summary) > 30.0);
    }

    #[test]
    fn from_8_1_on_a_providers_count_replaces_the_estimate_before_it() {
        let answer = r#"{"role":"assistant","content":"abcd","usage":{"contextUsage":{"state":"available","totalTokens":700.5}}}"#;
        let all = |ruleset: Ruleset, middle: &str| {
            let message = |json: &str| Pressure::from_message(ruleset.rules(), &parse(json).unwrap());
            sum_pressure([r#"{"role":"user","content":"abcd"}"#, answer, middle].map(message).into_iter())
        };
        let user = r#"{"role":"user","content":"abcd"}"#;
        assert_eq!(all(Ruleset::V2026_7_1, user), (0.0, 39.0));
        assert_eq!(all(Ruleset::V2026_8_1, user), (701.0, 13.0));
        let cli = r#"{"role":"assistant","api":"cli","content":"abcd","usage":{"input":1}}"#;
        assert_eq!(all(Ruleset::V2026_8_1, cli), (0.0, 39.0), "nobody knows what the command line sent");
    }
}
