//! The messages that clearing leaves: a result without its content, and a reply without the arguments of its calls.

use crate::js::{JsString, Object, Value};
use crate::policy::prune::cleared_message;

/// Replaces the content of a tool result with one text block and removes its details, which correspond to an artifact of
/// `LangChain` (pruning 7.2e).
pub fn cleared_result(message: &Value, placeholder: &JsString) -> Value {
    let mut copy = cleared_message(message, placeholder);
    if let Value::Object(object) = &mut copy {
        object.remove("details");
    }
    copy
}

/// Empties the arguments of the calls with these ids; `None` if the content is not a list (pruning 7.2f).
pub fn without_arguments(message: &Value, ids: &[JsString]) -> Option<Value> {
    let blocks = message.get("content")?.as_array()?;
    let is_named = |block: &Value| {
        let text = |key| block.get(key).and_then(Value::as_str);
        text("type").is_some_and(|kind| kind.eq_str("toolCall"))
            && text("name").is_some()
            && text("id").is_some_and(|id| ids.contains(id))
    };
    let mut blocks = blocks.to_vec();
    for block in blocks.iter_mut().filter(|block| is_named(block)) {
        if let Some(arguments @ Value::Object(_)) =
            block.as_object_mut().and_then(|call| call.get_mut("arguments"))
        {
            *arguments = Value::Object(Object::default());
        }
    }
    let mut copy = message.as_object()?.clone();
    copy.set("content", Value::Array(blocks));
    Some(Value::Object(copy))
}
