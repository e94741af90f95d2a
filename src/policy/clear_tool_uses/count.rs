//! `LangChain`'s approximate token counter: code points divided by 4, rounded up for each message (pruning 7.4, the
//! newer form of 7.4a).

use crate::js::JsString;
use crate::policy::clear_tool_uses::message::{Block, Content, Message};
use crate::policy::clear_tool_uses::python::{code_points, list_len, object_len, text_len};

/// Code points per token.
const CHARS_PER_TOKEN: usize = 4;
/// Added for every message.
pub(super) const TOKENS_PER_MESSAGE: usize = 3;
pub(super) const TOKENS_PER_IMAGE: usize = 85;

pub fn message_tokens(message: &Message) -> usize {
    let (chars, images) = match message {
        Message::Human { content } => {
            let (chars, images) = content_size(content);
            (chars + "user".len(), images)
        }
        Message::Ai { text, calls, .. } => {
            let calls = calls.iter().map(|call| (&call.id, &call.name, object_len(&call.arguments)));
            (code_points(text) + calls_repr_len(calls) + "assistant".len(), 0)
        }
        Message::Tool { content, call, name, .. } => {
            let (chars, images) = content_size(content);
            let name = name.as_ref().map_or(0, code_points);
            (chars + code_points(call) + name + "tool".len(), images)
        }
    };
    code_point_tokens(chars) + TOKENS_PER_MESSAGE + images * TOKENS_PER_IMAGE
}

pub(super) fn code_point_tokens(code_points: usize) -> usize {
    code_points.div_ceil(CHARS_PER_TOKEN)
}

pub fn total_tokens(messages: &[Message]) -> usize {
    messages.iter().map(message_tokens).sum()
}

/// Returns the code points of the texts, and the number of images.
pub(super) fn content_size(content: &Content) -> (usize, usize) {
    match content {
        Content::Text(text) => (code_points(text), 0),
        Content::Blocks(blocks) => blocks.iter().fold((0, 0), |(chars, images), block| match block {
            Block::Text(text) => (chars + code_points(text), images),
            Block::Image { .. } => (chars, images + 1),
        }),
    }
}

/// Returns the length of Python's `repr` of the calls, each with its id, name and length of the arguments; 0 for no
/// calls (pruning 7.4b).
pub(super) fn calls_repr_len<'a>(
    calls: impl ExactSizeIterator<Item = (&'a JsString, &'a JsString, usize)>,
) -> usize {
    if calls.len() == 0 {
        return 0;
    }
    let member = |key: &str, value: usize| text_len(&JsString::from(key)) + ": ".len() + value;
    list_len(calls.map(|(id, name, arguments)| {
        let members = [
            member("name", text_len(name)),
            member("args", arguments),
            member("id", text_len(id)),
            member("type", text_len(&JsString::from("tool_call"))),
        ];
        list_len(members.into_iter())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;
    use crate::policy::clear_tool_uses::parse_message;

    fn tokens(json: &str) -> usize {
        message_tokens(&parse_message(&js::parse(json).unwrap()).unwrap())
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
