//! What the sizes of the index do not tell of a message, and some steps ask for: the blocks of a tool result with
//! their line ends, its details, what the guard counts, the calls that repair and clearing pair up. Read once per
//! context when such a step is looked at; a step that changes a message changes its texture too, so that the next
//! step decides from textures alone.

mod letters;
mod text;

use std::sync::Arc;

pub use letters::Letters;
pub use text::Text;

use crate::gateway::ruleset::Rules;
use crate::js::{Throws, Value};
use crate::policy::clear_tool_uses::Sketch;
use crate::policy::guard::{self, Counted};
use crate::policy::repair::{Shape, needs_input_repair, shape_of};
use crate::store::entry::{MessageSize, Role, Size};
use crate::store::measure::{PI_IMAGE_CHARS, PRUNE_IMAGE_CHARS, role_of};
use crate::store::scan::size_message;

/// One message as the closer rules see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The content of a tool result; [`Content::Other`] for every other message.
    pub content: Content,
    /// Chars of `details` as JSON (a string: its length); none without it (pruning 6.32).
    pub details_chars: Option<f64>,
    /// How it takes part in pairing.
    pub shape: Shape,
    /// How the guard counts it.
    pub guard: Counted,
    /// How clearing counts and pairs it; none where it is not sent to a model. Throws where its classes do.
    pub sketch: Result<Option<Sketch>, Throws>,
    /// What its letters tell, of tool results and user messages; none where the rules do not look at letters.
    pub letters: Option<Letters>,
    /// The message itself, where the rest does not tell what an edit makes of it. Such messages are rare; where the rules
    /// look at letters, all tool results are among them, and user messages with media.
    pub body: Option<Arc<Value>>,
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
    /// Anything else.
    Other {
        /// Chars as the guard counts it (pruning 6.32).
        chars: f64,
    },
}

impl Texture {
    /// The texture of a message, for rules that look at no letters.
    pub fn of(message: &Value) -> Self {
        Self::read(message, false)
    }

    /// The texture of a message for the rules of a version.
    pub fn of_under(rules: &Rules, message: &Value) -> Self {
        Self::read(message, rules.looks_at_letters())
    }

    /// The texture of what a message has become, for the rules that this one was read for.
    #[must_use]
    pub fn again(&self, made: &Value) -> Self {
        Self::read(made, self.letters.is_some())
    }

    fn read(message: &Value, letters: bool) -> Self {
        let role = role_of(message);
        let content = match role {
            Role::ToolResult => content(message.get("content")),
            _ => Content::Other,
        };
        let mut texture = Self {
            content,
            details_chars: message.get("details").map(guard::unknown_chars),
            shape: shape_of(message),
            guard: Counted::of(message),
            sketch: Sketch::of_message(message),
            letters: letters.then(|| Letters::of(role, message)).flatten(),
            body: None,
        };
        if texture.is_untold(role, message) {
            texture.body = Some(Arc::new(message.clone()));
        }
        texture
    }

    /// Whether edits of this message cannot be told from its texture.
    fn is_untold(&self, role: Role, message: &Value) -> bool {
        match role {
            Role::ToolResult | Role::User if self.letters.is_some_and(|letters| letters.decide(role)) => true,
            Role::ToolResult => self.sketch.is_err() || !is_plain(message.get("content")),
            Role::Assistant => self.guard.is_result || needs_input_repair(message),
            _ => self.guard.is_result,
        }
    }

    /// The same tool result with another content.
    #[must_use]
    pub fn with_content(&self, content: Content) -> Self {
        let (code_points, images) = content.code_points();
        let sketch = self.sketch.clone().map(|sketch| sketch.map(|s| s.with_content(code_points, images)));
        Self { sketch, content, ..self.clone() }.counted()
    }

    /// The same tool result with one text block for its content.
    #[must_use]
    pub fn with_text(&self, text: Text) -> Self {
        self.with_content(Content::Blocks(vec![Block::Text(text)]))
    }

    /// The same tool result without its details.
    #[must_use]
    pub fn without_details(&self) -> Self {
        Self { details_chars: None, ..self.clone() }.counted()
    }

    fn counted(mut self) -> Self {
        self.guard.chars = Size::new(Ok(guard::result_chars(self.content.guard_chars(), self.details_chars)));
        self
    }

    /// Its text blocks, where it has blocks.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.content.texts()
    }
}

impl Content {
    /// The text blocks, where it has blocks.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.blocks().iter().filter_map(|block| match block {
            Block::Text(text) => Some(text),
            _ => None,
        })
    }

    fn blocks(&self) -> &[Block] {
        match self {
            Self::Blocks(blocks) => blocks,
            _ => &[],
        }
    }

    fn images(&self) -> usize {
        self.blocks().iter().filter(|block| **block == Block::Image).count()
    }

    /// Chars as the guard counts them, before doubling (pruning 6.32).
    fn guard_chars(&self) -> f64 {
        let block = |block: &Block| match block {
            Block::Text(text) => text.chars as f64,
            Block::Image => guard::IMAGE_CHARS,
            Block::Other { chars } => *chars,
        };
        match self {
            Self::Text(text) => text.chars as f64,
            _ => self.blocks().iter().fold(0.0, |sum, each| sum + block(each)),
        }
    }

    /// Code points and images as clearing counts them: one text, unless there is an image (pruning 7.4).
    fn code_points(&self) -> (usize, usize) {
        if let Self::Text(text) = self {
            return (text.code_points(), 0);
        }
        let (texts, sum) =
            self.texts().fold((0, 0), |(count, sum), text| (count + 1, sum + text.code_points()));
        match self.images() {
            0 => (sum + usize::saturating_sub(texts, 1), 0),
            images => (sum, images),
        }
    }

    /// The sizes of a tool result with this content.
    pub fn sized(&self, before: &MessageSize) -> MessageSize {
        let (count, chars) = self.texts().fold((0, 0), |(count, sum), text| (count + 1, sum + text.chars));
        let images = self.images() as f64;
        let (whole, outside) = match self {
            Self::Text(text) => (text.chars, text.chars),
            _ => (chars, 0),
        };
        MessageSize {
            pi_chars: Size::new(Ok(whole as f64 + PI_IMAGE_CHARS * images)),
            prune_chars: Size::new(Ok((whole - outside) as f64 + PRUNE_IMAGE_CHARS * images)),
            joined_chars: (chars + usize::saturating_sub(count, 1)) as f64,
            text_blocks: count as u32,
            images: images as u32,
            text_chars: whole as u32,
            odd: false,
            ..*before
        }
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
        _ => Block::Other { chars: guard::unknown_chars(block) },
    }
}

/// Whether a content is a string, or blocks none of which makes the real programs throw or count oddly.
fn is_plain(content: Option<&Value>) -> bool {
    let odd = |block: &Value| {
        let text = block.get("type").is_some_and(|kind| kind.str_is("text"));
        block.is_null() || text && block.get("text").and_then(Value::as_str).is_none()
    };
    match content {
        Some(Value::String(_)) => true,
        Some(Value::Array(blocks)) => !blocks.iter().any(odd),
        _ => false,
    }
}

/// The sizes of a message after an edit that was made on its text: for edits that sizes alone do not foretell.
pub fn size_after(before: &MessageSize, message: &Value) -> MessageSize {
    MessageSize { tool: before.tool, call: before.call, ..size_message(message).size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn of(json: &str) -> (MessageSize, Texture) {
        let message = js::parse(json).expect("test JSON");
        (size_message(&message).size, Texture::of(&message))
    }

    #[test]
    fn blocks_are_told_apart_and_details_measured() {
        let message = r#"{"role":"toolResult","content":[{"type":"text","text":"ab"},{"type":"image"},7],"details":{"a":1}}"#;
        let texture = of(message).1;
        let blocks = vec![Block::Text(Text::of(&"ab".into())), Block::Image, Block::Other { chars: 1.0 }];
        assert_eq!((texture.content, texture.details_chars), (Content::Blocks(blocks), Some(7.0)));
        assert_eq!(texture.guard, Counted { is_result: true, chars: Size::new(Ok(2.0 * 8010.0)) });
    }

    #[test]
    fn a_content_told_anew_is_the_one_that_was_read() {
        for content in [
            r#""a😀\nb""#,
            r#"[{"type":"text","text":"a😀"},{"type":"text","text":""}]"#,
            r#"[{"type":"text","text":"ab"},{"type":"image"},"abc"]"#,
            "[]",
        ] {
            let (size, texture) = of(&format!(
                r#"{{"role":"toolResult","toolName":"exec","toolCallId":"c","content":{content}}}"#
            ));
            assert_eq!(texture.content.sized(&size), size, "{content}");
            assert_eq!(texture.with_content(texture.content.clone()), texture, "{content}");
        }
    }

    #[test]
    fn only_what_cannot_be_told_keeps_its_message() {
        let keeps = |json: &str| of(json).1.body.is_some();
        assert!(!keeps(r#"{"role":"toolResult","content":[{"type":"text","text":"a"},5]}"#));
        assert!(keeps(r#"{"role":"toolResult","content":[{"type":"text","text":5}]}"#));
        assert!(keeps(r#"{"role":"toolResult","content":[null]}"#));
        assert!(keeps(r#"{"role":"toolResult"}"#));
        assert!(keeps(r#"{"role":"tool","content":"a"}"#));
        assert!(keeps(
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"a","name":" f","arguments":{}}]}"#
        ));
        assert!(!keeps(
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"f","arguments":{}}]}"#
        ));
    }
}
