//! Writes a conversation as the text that a summary is made from (compaction 3.16).

use crate::context::llm::to_llm;
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::js::{self, JsException, JsString, Value};
use crate::policy::compact::join::js_join;
use crate::store::entry::Role;
use crate::store::measure::{blocks, is_block_type, role_of};

/// UTF-16 units of a tool result that newer runtimes include (store-pi-1.5 I1).
pub const MAX_RESULT_UNITS: usize = 2000;

/// Writes messages in the form in which a model receives them, without images, as a release of pi does. Newer releases
/// omit thinking and cut tool results (store-pi-1.5 I1).
///
/// # Errors
/// For malformed messages.
pub fn conversation_text_for(pi: impl Into<PiRelease>, messages: &[Value]) -> Result<JsString, JsException> {
    let pi = pi.into();
    let sent: Vec<Option<Value>> = messages.iter().map(to_llm).collect::<Result<_, _>>()?;
    let mut text = JsString::new();
    for message in sent.iter().flatten() {
        for part in message_parts(pi, message)? {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push(&part);
        }
    }
    Ok(text)
}

fn message_parts(pi: PiRelease, message: &Value) -> Result<Vec<JsString>, JsException> {
    let content = message.get("content");
    match role_of(message) {
        Role::User => {
            let text = match content {
                Some(Value::String(text)) => text.clone(),
                _ => join_texts(content)?,
            };
            Ok(non_empty_part("[User]: ", text))
        }
        Role::ToolResult if pi.has(PiChange::CutsResults) => {
            let text = match content {
                Some(Value::String(text)) if pi.has(PiChange::TakesPlainTexts) => text.clone(),
                _ => join_texts(content)?,
            };
            let whole = pi.has(PiChange::CutsWholeCharacters);
            Ok(non_empty_part("[Tool result]: ", truncate_result(text, whole)))
        }
        Role::ToolResult => Ok(non_empty_part("[Tool result]: ", join_texts(content)?)),
        _ => assistant_parts(pi, content),
    }
}

/// Cuts a long result to its beginning and a note of the omitted length. With `whole` it never splits a surrogate pair
/// (store-pi-1.5 I1).
fn truncate_result(text: JsString, whole: bool) -> JsString {
    if text.len() <= MAX_RESULT_UNITS {
        return text;
    }
    let splits = whole
        && (0xD800..0xDC00).contains(&text.units()[MAX_RESULT_UNITS - 1])
        && (0xDC00..0xE000).contains(&text.units()[MAX_RESULT_UNITS]);
    let mut cut = text.slice(0, if splits { MAX_RESULT_UNITS - 1 } else { MAX_RESULT_UNITS });
    cut.push_str(&format!("\n\n[... {} more characters truncated]", text.len() - MAX_RESULT_UNITS));
    cut
}

/// Returns one labelled part, or nothing for an empty text.
fn non_empty_part(opening: &str, text: JsString) -> Vec<JsString> {
    let part = Some(text).filter(|text| !text.is_empty()).map(|text| labelled(opening, &text));
    part.into_iter().collect()
}

fn labelled(opening: &str, text: &JsString) -> JsString {
    let mut part = JsString::from(opening);
    part.push(text);
    part
}

/// Concatenates the text blocks of a list of blocks.
fn join_texts(content: Option<&Value>) -> Result<JsString, JsException> {
    let blocks = content.and_then(Value::as_array).ok_or(JsException)?;
    let mut texts = Vec::new();
    for block in blocks {
        if is_block_type(block, "text")? {
            texts.push(block.get("text"));
        }
    }
    Ok(js_join(texts, ""))
}

/// Returns up to three parts (thinking, text, calls), in this order for any order of the blocks. A part of empty
/// blocks is still written.
fn assistant_parts(pi: PiRelease, content: Option<&Value>) -> Result<Vec<JsString>, JsException> {
    let thinks = !pi.has(PiChange::OmitsThinking);
    if pi.has(PiChange::TakesPlainTexts) && content.and_then(Value::as_str).is_some() {
        return Err(JsException);
    }
    let (mut thinking, mut texts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks(content)? {
        if is_block_type(block, "text")? {
            texts.push(block.get("text"));
        } else if is_block_type(block, "thinking")? {
            thinking.extend(thinks.then(|| block.get("thinking")));
        } else if is_block_type(block, "toolCall")? {
            calls.push(Value::String(call_text(block)?));
        }
    }
    let calls: Vec<Option<&Value>> = calls.iter().map(Some).collect();
    let parts = [
        ("[Assistant thinking]: ", thinking, "\n"),
        ("[Assistant]: ", texts, "\n"),
        ("[Assistant tool calls]: ", calls, "; "),
    ];
    let parts = parts.into_iter().filter(|(_, items, _)| !items.is_empty());
    Ok(parts.map(|(opening, items, between)| labelled(opening, &js_join(items, between))).collect())
}

/// Writes a call as `name(key=JSON, …)`.
fn call_text(block: &Value) -> Result<JsString, JsException> {
    let mut text = js::to_text(block.get("name"));
    text.push_str("(");
    for (at, (key, value)) in object_entries(block.get("arguments"))?.into_iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push(&key);
        text.push_str("=");
        text.push_str(&js::stringify(&value));
    }
    text.push_str(")");
    Ok(text)
}

/// Returns the members of a value as `Object.entries` does: an array by index, a text by UTF-16 unit, a number or
/// boolean without any. Errors when the value is absent or null.
fn object_entries(value: Option<&Value>) -> Result<Vec<(JsString, Value)>, JsException> {
    let numbered = |(at, value): (usize, Value)| (JsString::from(at.to_string()), value);
    match value {
        None | Some(Value::Null) => Err(JsException),
        Some(Value::Bool(_) | Value::Number(_)) => Ok(Vec::new()),
        Some(Value::Object(object)) => {
            Ok(object.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        Some(Value::Array(items)) => Ok(items.iter().cloned().enumerate().map(numbered).collect()),
        Some(Value::String(text)) => {
            let units = text.units().iter().map(|unit| Value::String(vec![*unit].into()));
            Ok(units.enumerate().map(numbered).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(messages: &str) -> Result<String, JsException> {
        let messages = js::parse(&format!("[{messages}]")).unwrap();
        conversation_text_for(PiRelease::OLDEST, messages.as_array().unwrap())
            .map(|text| text.to_string_lossy())
    }

    #[test]
    fn parts_of_an_answer_have_a_fixed_order() {
        let message = r#"{"role":"assistant","content":[
            {"type":"toolCall","name":"exec","arguments":{"b":"x","2":1.0,"1":null}},
            {"type":"text","text":"one"},{"type":"thinking","thinking":"hm"},{"type":"text","text":""},
            {"type":"toolCall","arguments":"ab"},{"type":"image"}]}"#;
        let expected = "[Assistant thinking]: hm\n\n[Assistant]: one\n\n\n\
            [Assistant tool calls]: exec(1=null, 2=1, b=\"x\"); undefined(0=\"a\", 1=\"b\")";
        assert_eq!(text(message).as_deref(), Ok(expected));
    }

    #[test]
    fn text_blocks_of_users_and_results_follow_each_other_without_a_gap() {
        let blocks =
            r#"[{"type":"text","text":"a"},{"type":"image"},{"type":"text"},{"type":"text","text":5}]"#;
        let messages =
            format!(r#"{{"role":"user","content":{blocks}}},{{"role":"toolResult","content":{blocks}}}"#);
        assert_eq!(text(&messages).as_deref(), Ok("[User]: a5\n\n[Tool result]: a5"));
    }

    #[test]
    fn empty_messages_are_left_out_except_empty_answers() {
        let messages = r#"{"role":"user","content":""},{"role":"toolResult","content":[]},
            {"role":"assistant","content":[{"type":"text","text":""}]},{"role":"assistant","content":"x"}"#;
        assert_eq!(text(messages).as_deref(), Ok("[Assistant]: "));
    }

    #[test]
    fn malformed_messages_throw() {
        for message in [
            r#"{"role":"toolResult","content":"text"}"#,
            r#"{"role":"user"}"#,
            r#"{"role":"user","content":[null]}"#,
            r#"{"role":"assistant","content":5}"#,
            r#"{"role":"assistant","content":[{"type":"toolCall","name":"x"}]}"#,
        ] {
            assert_eq!(text(message), Err(JsException), "{message}");
        }
    }
}
