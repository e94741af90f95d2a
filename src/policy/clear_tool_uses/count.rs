//! `LangChain`'s approximate counter: code points over 4, rounded up for each message (pruning 7.4, the newer form of
//! 7.4a).

use crate::js::JsString;
use crate::policy::clear_tool_uses::message::{Block, Call, Content, Message};
use crate::policy::clear_tool_uses::python::{code_points, list_len, object_len, text_len};

/// Code points to a token.
const CHARS_PER_TOKEN: usize = 4;
/// Tokens of every message.
const PER_MESSAGE: usize = 3;
/// Tokens of an image.
const PER_IMAGE: usize = 85;

/// Approximate tokens of one message.
pub fn message_tokens(message: &Message) -> usize {
    let (chars, images) = match message {
        Message::Human { content } => {
            let (chars, images) = content_size(content);
            (chars + "user".len(), images)
        }
        Message::Ai { text, calls, .. } => (code_points(text) + calls_len(calls) + "assistant".len(), 0),
        Message::Tool { content, call, name, .. } => {
            let (chars, images) = content_size(content);
            let name = name.as_ref().map_or(0, code_points);
            (chars + code_points(call) + name + "tool".len(), images)
        }
    };
    chars.div_ceil(CHARS_PER_TOKEN) + PER_MESSAGE + images * PER_IMAGE
}

/// Approximate tokens of a list: of its messages together.
pub fn total_tokens(messages: &[Message]) -> usize {
    messages.iter().map(message_tokens).sum()
}

/// Code points of the texts, and the number of images.
fn content_size(content: &Content) -> (usize, usize) {
    match content {
        Content::Text(text) => (code_points(text), 0),
        Content::Blocks(blocks) => blocks.iter().fold((0, 0), |(chars, images), block| match block {
            Block::Text(text) => (chars + code_points(text), images),
            Block::Image { .. } => (chars, images + 1),
        }),
    }
}

/// Length of Python's `repr` of the calls, nothing when there is none (pruning 7.4b).
fn calls_len(calls: &[Call]) -> usize {
    if calls.is_empty() {
        return 0;
    }
    let member = |key: &str, value: usize| text_len(&JsString::from(key)) + ": ".len() + value;
    list_len(calls.iter().map(|call| {
        let members = [
            member("name", text_len(&call.name)),
            member("args", object_len(&call.arguments)),
            member("id", text_len(&call.id)),
            member("type", text_len(&JsString::from("tool_call"))),
        ];
        list_len(members.into_iter())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;
    use crate::policy::clear_tool_uses::message_of;

    fn tokens(json: &str) -> usize {
        message_tokens(&message_of(&js::parse(json).unwrap()).unwrap())
    }

    #[test]
    fn the_vectors_of_7_4() {
        assert_eq!(tokens(r#"{"role":"user","content":"abcd"}"#), 5);
        assert_eq!(tokens(r#"{"role":"user","content":""}"#), 4);
        assert_eq!(tokens(r#"{"role":"user","content":[]}"#), 4);
        let result = r#"{"role":"toolResult","toolCallId":"c1","toolName":"f","content":"hello"}"#;
        assert_eq!(tokens(result), 6);
        let image = r#"{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","data":"x"}]}"#;
        assert_eq!(tokens(image), 90);
        for text in ["漢漢漢漢漢", "😀😀😀😀😀"] {
            assert_eq!(tokens(&format!(r#"{{"role":"user","content":"{text}"}}"#)), 6);
        }
    }

    #[test]
    fn calls_count_with_the_length_of_their_python_form() {
        let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{"x":1,"s":"it's"}}]}"#;
        assert_eq!(tokens(call), 25);
        assert_eq!(tokens(r#"{"role":"assistant","content":[]}"#), 6);
    }
}
