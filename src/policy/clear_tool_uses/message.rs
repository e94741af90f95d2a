//! A message in the form in which `LangChain` counts and edits it: as the model receives it, without the members that
//! its classes do not hold.

use crate::js::{JsException, JsString, Json, JsonKind, Object, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// From the person, a summary, an extension or a shell command.
    Human { content: Content },
    Ai {
        /// Text blocks, joined without a separator.
        text: JsString,
        calls: Vec<ClearableCall>,
    },
    Tool {
        content: Content,
        /// Id of the call that the result answers; may be empty.
        call: JsString,
        name: Option<JsString>,
        is_error: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(JsString),
    Blocks(Vec<Block>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Text(JsString),
    Image {
        /// Any value; `null` if absent.
        data: Value,
        /// Media type: any value, `null` if absent.
        mime: Value,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClearableCall {
    pub id: JsString,
    pub name: JsString,
    pub arguments: Object,
}

/// Parses a message in the form in which a model receives it (compaction 4.6–4.9).
///
/// # Errors
/// If a text block has no text, if a content is neither text nor list, if the call id or name of a result is not a text,
/// and for roles that no model receives.
pub fn parse_message<'a>(message: impl Json<'a>) -> Result<Message, JsException> {
    let content = message.get("content").filter(|content| !content.is_null());
    match role_of(message) {
        Role::User => Ok(Message::Human { content: parse_human(content)? }),
        Role::Assistant => parse_assistant(content.ok_or(JsException)?),
        Role::ToolResult => {
            let content = parse_result(content)?;
            let (call, name) = call_and_tool_name(message)?;
            Ok(Message::Tool {
                content,
                call,
                name,
                is_error: message.get("isError").and_then(Json::as_bool) == Some(true),
            })
        }
        _ => Err(JsException),
    }
}

fn parse_human<'a>(content: Option<impl Json<'a>>) -> Result<Content, JsException> {
    let Some(content) = content else { return Ok(Content::Blocks(Vec::new())) };
    match content.to_js_string() {
        Some(text) => Ok(Content::Text(text)),
        None => Ok(Content::Blocks(parse_blocks(content)?)),
    }
}

fn parse_assistant<'a>(content: impl Json<'a>) -> Result<Message, JsException> {
    let (text, calls) = match content.to_js_string() {
        Some(text) => (text, Vec::new()),
        None => {
            (join_texts(content, "")?, content.items().ok_or(JsException)?.filter_map(parse_call).collect())
        }
    };
    Ok(Message::Ai { text, calls })
}

/// Parses a call with name, id and arguments; `None` if one is missing.
fn parse_call<'a>(block: impl Json<'a>) -> Option<ClearableCall> {
    let text = |name| block.get(name).and_then(Json::to_js_string);
    if !is_block_type(block, "toolCall") {
        return None;
    }
    let arguments = block.get("arguments").filter(|arguments| arguments.kind() == JsonKind::Object)?;
    let Value::Object(arguments) = arguments.to_value() else { return None };
    Some(ClearableCall { id: text("id")?, name: text("name")?, arguments })
}

/// Joins the blocks of a result into one text, unless it holds an image.
fn parse_result<'a>(content: Option<impl Json<'a>>) -> Result<Content, JsException> {
    let Some(content) = content else { return Ok(Content::Text(JsString::new())) };
    if let Some(text) = content.to_js_string() {
        return Ok(Content::Text(text));
    }
    if content.items().ok_or(JsException)?.any(|block| is_block_type(block, "image")) {
        return Ok(Content::Blocks(parse_blocks(content)?));
    }
    Ok(Content::Text(join_texts(content, "\n")?))
}

fn parse_blocks<'a>(content: impl Json<'a>) -> Result<Vec<Block>, JsException> {
    let mut blocks = Vec::new();
    for item in content.items().ok_or(JsException)? {
        let field = |name| item.get(name).map_or(Value::Null, Json::to_value);
        if is_block_type(item, "text") {
            blocks.push(Block::Text(block_text(item)?));
        } else if is_block_type(item, "image") {
            blocks.push(Block::Image { data: field("data"), mime: field("mimeType") });
        }
    }
    Ok(blocks)
}

/// Joins the texts of the text blocks; two halves of a surrogate pair that meet become one character.
fn join_texts<'a>(content: impl Json<'a>, separator: &str) -> Result<JsString, JsException> {
    let mut all = JsString::new();
    let texts = content.items().ok_or(JsException)?.filter(|item| is_block_type(*item, "text"));
    for (at, item) in texts.enumerate() {
        if at > 0 {
            all.push_str(separator);
        }
        all.push(&block_text(item)?);
    }
    Ok(all)
}

fn block_text<'a>(block: impl Json<'a>) -> Result<JsString, JsException> {
    block.get("text").and_then(Json::to_js_string).ok_or(JsException)
}

fn is_block_type<'a>(block: impl Json<'a>, kind: &str) -> bool {
    block.get("type").is_some_and(|value| value.str_is(kind))
}

/// Returns the id of the call that a result answers, empty if absent, and the tool name.
pub(super) fn call_and_tool_name<'a>(
    message: impl Json<'a>,
) -> Result<(JsString, Option<JsString>), JsException> {
    let call = text_or_absent(message.get("toolCallId"))?.unwrap_or_default();
    Ok((call, text_or_absent(message.get("toolName"))?))
}

fn text_or_absent<'a>(value: Option<impl Json<'a>>) -> Result<Option<JsString>, JsException> {
    value.filter(|value| !value.is_null()).map(|value| value.to_js_string().ok_or(JsException)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn of(json: &str) -> Result<Message, JsException> {
        parse_message(&js::parse(json).unwrap())
    }

    #[test]
    fn a_result_with_an_image_keeps_its_blocks_and_others_become_one_text() {
        let plain = of(
            r#"{"role":"toolResult","content":[{"type":"text","text":"a"},5,{"type":"text","text":"b"}]}"#,
        );
        let Ok(Message::Tool { content, call, name, .. }) = plain else { panic!("no result: {plain:?}") };
        assert_eq!((content, call, name), (Content::Text("a\nb".into()), JsString::new(), None));
        let image = of(r#"{"role":"toolResult","content":[{"type":"image","data":"x"}]}"#);
        let Ok(Message::Tool { content: Content::Blocks(blocks), .. }) = image else { panic!("{image:?}") };
        assert_eq!(blocks, [Block::Image { data: "x".into(), mime: Value::Null }]);
    }

    #[test]
    fn a_call_without_id_name_or_arguments_is_left_out() {
        let json = r#"{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"f","arguments":{}},
            {"type":"toolCall","id":"b","name":"f"},{"type":"toolCall","id":5,"name":"f","arguments":{}}]}"#;
        let Ok(Message::Ai { calls, .. }) = of(json) else { panic!("no reply") };
        assert_eq!(calls.len(), 1);
    }

    #[test]
    fn messages_that_the_classes_reject_throw() {
        for json in [
            r#"{"role":"user","content":[{"type":"text"}]}"#,
            r#"{"role":"user","content":5}"#,
            r#"{"role":"assistant"}"#,
            r#"{"role":"toolResult","toolCallId":5}"#,
            r#"{"role":"toolResult","toolName":{}}"#,
            r#"{"role":"system","content":"x"}"#,
        ] {
            assert_eq!(of(json), Err(JsException), "{json}");
        }
        assert_eq!(
            of(r#"{"role":"user","content":null}"#),
            Ok(Message::Human { content: Content::Blocks(vec![]) })
        );
    }
}
