//! The words of a message in one text.

use crate::js::{self, Value};

/// Joins the texts of a message and the arguments of its calls, one per line. Thinking is left out: the model does not get
/// it back.
pub fn join_texts(message: &Value) -> String {
    let mut text = String::new();
    let content = message.get("content").or_else(|| message.get("summary"));
    match content {
        Some(Value::Array(blocks)) => {
            for block in blocks {
                let part = block.get("text").or_else(|| block.get("arguments"));
                push_texts(part, &mut text);
            }
        }
        other => push_texts(other, &mut text),
    }
    text
}

fn push_texts(value: Option<&Value>, text: &mut String) {
    match value {
        Some(Value::String(own)) => {
            text.push_str(&own.to_string_lossy());
            text.push('\n');
        }
        Some(number @ Value::Number(_)) => {
            text.push_str(&js::to_text(Some(number)).to_string_lossy());
            text.push('\n');
        }
        Some(Value::Array(items)) => items.iter().for_each(|item| push_texts(Some(item), text)),
        Some(Value::Object(object)) => object.iter().for_each(|(_, item)| push_texts(Some(item), text)),
        _ => {}
    }
}
