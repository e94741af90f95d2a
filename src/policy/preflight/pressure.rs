//! What a tokenizer would make of messages, as the check of gateways from 2026.5.22 on guesses it (releases R62).

use crate::js::{JsString, Value, stringify};
use crate::policy::prune::blocks_length;
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Tokens around a message, a system prompt and a prompt.
const MESSAGE: f64 = 12.0;
/// Tokens around a block.
const BLOCK: f64 = 6.0;
/// Tokens of an image.
const IMAGE: f64 = 2000.0;
/// Chars to a token: of texts, of tool results, of names and arguments.
const TEXT: f64 = 4.0;
const RESULT: f64 = 2.0;
const CALL: f64 = 3.0;

/// Tokens of a text by itself.
pub(super) fn text_tokens(text: &str) -> f64 {
    MESSAGE + (blocks_length(&text.into()) / TEXT).ceil()
}

/// Tokens of a message; `results_by_units` weighs tool results by their units at least.
pub fn pressure_tokens(message: &Value, results_by_units: bool) -> f64 {
    let role = role_of(message);
    let by = By { result: role == Role::ToolResult, units: results_by_units };
    let content = match message.get("content") {
        Some(Value::String(text)) => by.text(text),
        Some(Value::Array(blocks)) => blocks.iter().map(|block| by.block(block)).sum(),
        _ => 0.0,
    };
    let name = message.get("toolName").and_then(Value::as_str).filter(|_| by.result);
    MESSAGE + content + name.map_or(0.0, |name| (blocks_length(name) / CALL).ceil())
}

/// How the parts of a message are weighed.
struct By {
    result: bool,
    units: bool,
}

impl By {
    fn text(&self, text: &JsString) -> f64 {
        let weight = blocks_length(text);
        match (self.result, self.units) {
            (true, true) => (text.len() as f64 / RESULT).ceil().max((weight / TEXT).ceil()),
            (true, false) => (weight / RESULT).ceil(),
            (false, _) => (weight / TEXT).ceil(),
        }
    }

    fn block(&self, block: &Value) -> f64 {
        let is = |kind: &str| block.get("type").is_some_and(|value| value.str_is(kind));
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        let known = if is("text") { text("text") } else { text("thinking").filter(|_| is("thinking")) };
        if is("image") {
            return IMAGE;
        }
        if let Some(known) = known {
            return BLOCK + self.text(known);
        }
        if is("toolCall") {
            let name = text("name").map_or(0.0, |name| (blocks_length(name) / CALL).ceil());
            let arguments = block.get("arguments").map(stringify).unwrap_or_default();
            return BLOCK + name + (blocks_length(&arguments.into()) / CALL).ceil();
        }
        BLOCK + self.text(&stringify(block).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    #[test]
    fn a_result_weighs_twice_what_a_text_does() {
        let user = parse(r#"{"role":"user","content":"abcdefgh"}"#).unwrap();
        assert_eq!(pressure_tokens(&user, false), 12.0 + 2.0);
        let result =
            parse(r#"{"role":"toolResult","toolName":"exec","content":[{"type":"text","text":"你好ab"},{"type":"image"}]}"#)
                .unwrap();
        assert_eq!(pressure_tokens(&result, false), 12.0 + 2.0 + 6.0 + 5.0 + 2000.0);
        assert_eq!(pressure_tokens(&result, true), 12.0 + 2.0 + 6.0 + 3.0 + 2000.0);
    }
}
