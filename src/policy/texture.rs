//! What the sizes of the index do not tell of a message, and some steps ask for: the blocks of a tool result with
//! their line ends, its details, what the guard counts, the calls that repair and clearing pair up. Read once per
//! context when such a step is looked at; a step that changes a message changes its texture too, so that the next
//! step decides from textures alone.

use std::sync::Arc;

use crate::js::{self, JsString, Value};
use crate::policy::repair::{Shape, shape_of};
use crate::store::entry::{MessageSize, Role};
use crate::store::measure::role_of;
use crate::store::scan::size_message;

/// One message as the closer rules see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The blocks of a tool result (and of a user message); [`Content::Other`] for every other message.
    pub content: Content,
    /// Chars of `details` as JSON (a string: its length); none without it (pruning 6.32).
    pub details_chars: Option<f64>,
    /// How it takes part in pairing.
    pub shape: Shape,
}

/// The content of a tool result.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A string.
    Text(Text),
    /// Blocks, in order.
    Blocks(Vec<Block>),
    /// Neither, or a message of another role.
    Other,
}

/// One block of a content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A text block whose text is a string.
    Text(Text),
    /// An image.
    Image,
    /// Anything else, with the chars of its JSON text.
    Other {
        /// Chars.
        json_chars: f64,
    },
}

/// A text, as far as cutting it asks: how long it is, and where its lines end.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// Chars.
    pub chars: usize,
    /// Positions of its line feeds, ascending.
    pub line_feeds: Arc<[u32]>,
}

impl Text {
    /// The texture of a text.
    pub fn of(text: &JsString) -> Self {
        const LINE_FEED: u16 = 10;
        let feeds = text.units().iter().enumerate().filter(|(_, unit)| **unit == LINE_FEED);
        Self { chars: text.len(), line_feeds: feeds.map(|(at, _)| at as u32).collect() }
    }

    /// The last line feed at or before a position.
    pub fn last_line_feed(&self, at: usize) -> Option<usize> {
        let before = self.line_feeds.partition_point(|feed| *feed as usize <= at);
        before.checked_sub(1).map(|last| self.line_feeds[last] as usize)
    }

    /// Its first chars with another text behind them.
    #[must_use]
    pub fn cut(&self, chars: usize, suffix: &Self) -> Self {
        let chars = chars.min(self.chars);
        let kept = self.line_feeds.iter().copied().take_while(|feed| (*feed as usize) < chars);
        let behind = suffix.line_feeds.iter().map(|feed| feed + chars as u32);
        Self { chars: chars + suffix.chars, line_feeds: kept.chain(behind).collect() }
    }

    /// Its last chars.
    #[must_use]
    pub fn tail(&self, chars: usize) -> Self {
        let from = self.chars.saturating_sub(chars);
        let feeds = self.line_feeds.iter().filter(|feed| **feed as usize >= from);
        Self { chars: self.chars - from, line_feeds: feeds.map(|feed| feed - from as u32).collect() }
    }

    /// Texts with one line feed between them.
    pub fn joined<'a>(texts: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut chars, mut feeds) = (0, Vec::new());
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                feeds.push(chars as u32);
                chars += 1;
            }
            feeds.extend(text.line_feeds.iter().map(|feed| feed + chars as u32));
            chars += text.chars;
        }
        Self { chars, line_feeds: feeds.into() }
    }
}

impl Texture {
    /// The texture of a message.
    pub fn of(message: &Value) -> Self {
        let content = match role_of(message) {
            Role::ToolResult => content(message.get("content")),
            _ => Content::Other,
        };
        let details_chars = message.get("details").map(|details| match details {
            Value::String(text) => text.len() as f64,
            details => js::stringify_len(details) as f64,
        });
        Self { content, details_chars, shape: shape_of(message) }
    }

    /// The same message with one text block for its content.
    #[must_use]
    pub fn with_text(&self, text: Text) -> Self {
        Self { content: Content::Blocks(vec![Block::Text(text)]), ..self.clone() }
    }

    /// Its text blocks, where it has blocks.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        let blocks = match &self.content {
            Content::Blocks(blocks) => blocks.as_slice(),
            _ => &[],
        };
        blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text),
            _ => None,
        })
    }
}

fn content(content: Option<&Value>) -> Content {
    match content {
        Some(Value::String(text)) => Content::Text(Text::of(text)),
        Some(Value::Array(blocks)) => Content::Blocks(blocks.iter().map(block).collect()),
        _ => Content::Other,
    }
}

fn block(block: &Value) -> Block {
    let is = |kind| block.get("type").is_some_and(|value| value.str_is(kind));
    match block.get("text").and_then(Value::as_str) {
        Some(text) if is("text") => Block::Text(Text::of(text)),
        _ if is("image") => Block::Image,
        _ => Block::Other { json_chars: js::stringify_len(block) as f64 },
    }
}

/// The sizes of a message after an edit that was made on its text: for edits that sizes alone do not foretell.
pub fn size_after(before: &MessageSize, message: &Value) -> MessageSize {
    MessageSize { tool: before.tool, call: before.call, ..size_message(message).size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::of(&text.into())
    }

    #[test]
    fn a_cut_text_keeps_the_line_ends_of_what_stays() {
        let cut = text("a\nb\ncdef").cut(5, &text("\n[cut]"));
        assert_eq!(cut, text("a\nb\nc\n[cut]"));
        assert_eq!(text("a\nb\ncdef").tail(6), text("b\ncdef"));
        assert_eq!(text("a\nb\nc").last_line_feed(2), Some(1));
        assert_eq!(text("a\nb\nc").last_line_feed(0), None);
    }

    #[test]
    fn joined_texts_have_a_line_end_between_them() {
        assert_eq!(Text::joined([&text("a\n"), &text(""), &text("b")]), text("a\n\n\nb"));
    }

    #[test]
    fn blocks_are_told_apart_and_details_measured() {
        let message = r#"{"role":"toolResult","content":[{"type":"text","text":"ab"},{"type":"image"},7],"details":{"a":1}}"#;
        let texture = Texture::of(&js::parse(message).expect("test JSON"));
        let blocks = vec![Block::Text(text("ab")), Block::Image, Block::Other { json_chars: 1.0 }];
        assert_eq!((texture.content, texture.details_chars), (Content::Blocks(blocks), Some(7.0)));
    }
}
