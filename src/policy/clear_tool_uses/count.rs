//! `LangChain`'s approximate token counter: code points divided by 4, rounded up for each message (pruning 7.4, the
//! newer form of 7.4a).

use crate::js::JsString;
use crate::policy::clear_tool_uses::message::{Block, Content};
use crate::policy::clear_tool_uses::python::{code_points, list_len, text_len};

/// Code points per token.
const CHARS_PER_TOKEN: usize = 4;
/// Added for every message.
pub(super) const TOKENS_PER_MESSAGE: usize = 3;
pub(super) const TOKENS_PER_IMAGE: usize = 85;

pub(super) fn code_point_tokens(code_points: usize) -> usize {
    code_points.div_ceil(CHARS_PER_TOKEN)
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
