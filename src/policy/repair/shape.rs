//! Reduces messages to the parts that pairing needs: calls with their ids, or a result with its id (compaction 6.1).

use crate::context::tokens::chars4::CHARS_PER_TOKEN;
use crate::js::{JsString, Json, Object, Value};

/// Block types that call a tool (compaction 6.1).
const CALL_TYPES: [&str; 3] = ["toolCall", "toolUse", "functionCall"];
/// Placeholder for an unknown tool name (compaction 6.3, 6.4).
pub(super) const UNKNOWN_TOOL: &str = "unknown";
/// Text of an invented result (compaction 6.3).
const MISSING_RESULT_TEXT: &str = "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.";

/// A tool call, reduced to what matches it with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairedCall {
    /// Never empty, not trimmed.
    pub id: JsString,
    /// Not trimmed, possibly blank; `None` when the name is no string.
    pub name: Option<JsString>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingShape {
    /// An assistant message with the calls that need a result. A failed or aborted message needs none, but still ends
    /// the span of the message before it (compaction 6.2).
    Assistant(Vec<PairedCall>),
    Result {
        /// The id of its call; `None` when the result names none.
        id: Option<JsString>,
        /// Its `toolName`; `None` when that is no string.
        name: Option<JsString>,
    },
    Other,
}

pub fn shape_of<'a>(message: impl Json<'a>) -> PairingShape {
    let role = message.get("role");
    if role.is_some_and(|role| role.str_is("assistant")) {
        PairingShape::Assistant(calls_needing_results(message))
    } else if role.is_some_and(|role| role.str_is("toolResult")) {
        let id = non_empty_text(message, "toolCallId").or_else(|| non_empty_text(message, "toolUseId"));
        PairingShape::Result { id, name: message.get("toolName").and_then(Json::to_js_string) }
    } else {
        PairingShape::Other
    }
}

fn calls_needing_results<'a>(message: impl Json<'a>) -> Vec<PairedCall> {
    let failed =
        message.get("stopReason").is_some_and(|reason| reason.str_is("error") || reason.str_is("aborted"));
    if failed {
        return Vec::new();
    }
    let blocks = message.get("content").and_then(Json::items);
    let calls = blocks.into_iter().flatten().filter(|block| is_call(*block));
    calls
        .filter_map(|block| {
            let name = block.get("name").and_then(Json::to_js_string);
            Some(PairedCall { id: non_empty_text(block, "id")?, name })
        })
        .collect()
}

/// Whether a block is a tool call, usable or not.
pub fn is_call<'a>(block: impl Json<'a>) -> bool {
    block.get("type").is_some_and(|kind| CALL_TYPES.iter().any(|call| kind.str_is(call)))
}

fn non_empty_text<'a>(value: impl Json<'a>, key: &str) -> Option<JsString> {
    value.get(key).and_then(Json::to_js_string).filter(|text| !text.is_empty())
}

/// An invented result for a call without one (compaction 6.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingResult {
    pub id: JsString,
    /// The tool name in the call, or `unknown`.
    pub name: JsString,
}

impl MissingResult {
    pub fn for_call(call: &PairedCall) -> Self {
        Self { id: call.id.clone(), name: call.name.clone().unwrap_or_else(|| UNKNOWN_TOOL.into()) }
    }

    pub fn shape(&self) -> PairingShape {
        PairingShape::Result { id: Some(self.id.clone()), name: Some(self.name.clone()) }
    }

    /// Builds the result message with the time `now_ms`.
    pub fn message(&self, now_ms: f64) -> Value {
        let block = Object::from([("type", "text"), ("text", MISSING_RESULT_TEXT)]);
        Value::Object(Object::from([
            ("role", Value::from("toolResult")),
            ("toolCallId", Value::from(self.id.clone())),
            ("toolName", Value::from(self.name.clone())),
            ("content", Value::Array(vec![Value::Object(block)])),
            ("isError", Value::Bool(true)),
            ("timestamp", Value::Number(now_ms)),
        ]))
    }

    /// Tokens of an invented result under pi's estimate (compaction 1.5).
    pub fn tokens() -> f64 {
        // The text is ASCII, so bytes equal UTF-16 units.
        (MISSING_RESULT_TEXT.len() as f64 / CHARS_PER_TOKEN).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;
    use crate::store::measure::pi_chars;

    fn shape(json: &str) -> PairingShape {
        shape_of(&js::parse(json).unwrap())
    }

    #[test]
    fn calls_of_all_three_types_are_seen_and_those_without_an_id_are_not() {
        let calls = shape(
            r#"{"role":"assistant","content":[{"type":"toolUse","id":"a"},{"type":"toolCall","id":""},
                {"type":"functionCall","id":" ","name":" "},{"type":"text","id":"x"},null,"toolCall"]}"#,
        );
        let call =
            |id: &str, name: Option<&str>| PairedCall { id: id.into(), name: name.map(JsString::from) };
        assert_eq!(calls, PairingShape::Assistant(vec![call("a", None), call(" ", Some(" "))]));
    }

    #[test]
    fn a_failed_call_wants_no_result() {
        for stop in ["error", "aborted"] {
            let json = format!(
                r#"{{"role":"assistant","stopReason":"{stop}","content":[{{"type":"toolCall","id":"a"}}]}}"#
            );
            assert_eq!(shape(&json), PairingShape::Assistant(Vec::new()));
        }
    }

    #[test]
    fn the_id_of_a_result_has_two_spellings() {
        let id = |json: &str| match shape(json) {
            PairingShape::Result { id, .. } => id.map(|id| id.to_string_lossy()),
            _ => panic!("a result"),
        };
        assert_eq!(id(r#"{"role":"toolResult","toolCallId":"a","toolUseId":"b"}"#).as_deref(), Some("a"));
        assert_eq!(id(r#"{"role":"toolResult","toolCallId":"","toolUseId":"b"}"#).as_deref(), Some("b"));
        assert_eq!(id(r#"{"role":"toolResult","toolCallId":5}"#), None);
    }

    #[test]
    fn an_invented_result_weighs_what_is_said_of_it() {
        let missing = MissingResult::for_call(&PairedCall { id: "a".into(), name: None });
        let message = missing.message(5.0);
        let tokens = pi_chars(&message).map(|chars| (chars / CHARS_PER_TOKEN).ceil());
        assert_eq!(tokens, Ok(MissingResult::tokens()));
        assert_eq!(shape_of(&message), missing.shape());
        assert!(message.get("toolName").unwrap().str_is("unknown"));
    }
}
