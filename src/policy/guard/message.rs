//! Cuts or replaces one message as the guard does (pruning 6.33, 6.35, 6.36).

use crate::js::{self, JsString, Object, Value};
use crate::policy::guard::text::{COMPACTED, cut_text};
use crate::units::Chars;

/// Cuts a tool result to a limit: joins its texts into one, and removes other blocks and the details (pruning 6.33).
pub fn cut_message(message: &Value, max_chars: Chars) -> Value {
    let text = joined(message.get("content"), |text| Some(js::to_text(text)));
    with_text(message, cut_text(&text, max_chars))
}

/// Replaces a tool result with the guard's notice (pruning 6.35).
pub fn compacted_message(message: &Value) -> Value {
    with_text(message, COMPACTED.into())
}

/// Returns a copy with this text: a string if the content is a string or absent, otherwise one text block. Other keys
/// keep their order (pruning 6.33, 6.36).
pub(super) fn with_text(message: &Value, text: JsString) -> Value {
    let content = match message.get("content") {
        None | Some(Value::String(_)) => Value::String(text),
        Some(_) => {
            let mut block = Object::from([("type", "text")]);
            block.set("text", Value::String(text));
            Value::Array(vec![Value::Object(block)])
        }
    };
    let mut copy = message.as_object().cloned().unwrap_or_default();
    copy.remove("details");
    copy.set("content", content);
    Value::Object(copy)
}

/// Joins the text blocks with one line feed, as releases since 2026.4.24 do: a text that is no string is skipped.
pub(super) fn joined_text(content: Option<&Value>) -> JsString {
    joined(content, |text| Some(text?.as_str()?.clone()))
}

/// Joins the texts of a content that `read` returns.
fn joined(content: Option<&Value>, read: impl Fn(Option<&Value>) -> Option<JsString>) -> JsString {
    let blocks = match content {
        Some(Value::String(text)) => return text.clone(),
        Some(Value::Array(blocks)) => blocks.as_slice(),
        _ => &[],
    };
    let is_text = |block: &&Value| block.get("type").is_some_and(|kind| kind.str_is("text"));
    let texts = blocks.iter().filter(is_text).filter_map(|block| read(block.get("text")));
    let mut all = JsString::new();
    for (at, text) in texts.enumerate() {
        if at > 0 {
            all.push_str("\n");
        }
        all.push(&text);
    }
    all
}
