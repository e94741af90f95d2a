//! Copies of a message or of a block with another content, for the cuts of several versions.

use crate::js::{JsString, Value};

/// Returns a copy with another content; other keys keep their order.
pub(in crate::policy) fn with_content(message: &Value, content: Vec<Value>) -> Value {
    let mut copy = message.as_object().cloned().unwrap_or_default();
    copy.set("content", Value::Array(content));
    Value::Object(copy)
}

/// Returns a copy of a block with another text; in a `toolResult` block, a string content is replaced too.
pub(super) fn with_text(block: &Value, text: Option<JsString>) -> Value {
    let mut copy = block.clone();
    if let (Value::Object(object), Some(text)) = (&mut copy, text) {
        let mirrors = block.get("type").is_some_and(|kind| kind.str_is("toolResult"))
            && block.get("content").is_some_and(|content| content.as_str().is_some());
        object.set("text", Value::String(text.clone()));
        if mirrors {
            object.set("content", Value::String(text));
        }
    }
    copy
}
