//! What the sizes of the index do not tell of a message, and some steps ask for: the blocks of a tool result with
//! their line ends, its details, what the guard counts, the calls that repair and clearing pair up. Read once per
//! context when such a step is looked at; a step that changes a message changes its texture too, so that the next
//! step decides from textures alone.

mod content;
mod letters;
mod text;

use std::sync::Arc;

pub use content::{Block, Content};
pub use letters::Letters;
pub use text::Text;

use crate::gateway::ruleset::Rules;
use crate::js::{Json, Throws, Value};
use crate::policy::clear_tool_uses::Sketch;
use crate::policy::guard::{self, Counted};
use crate::policy::preflight::Pressure;
use crate::policy::repair::{Shape, needs_input_repair, shape_of};
use crate::store::entry::{MessageSize, Role, Size};
use crate::store::measure::role_of;
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
    /// Chars as the pruner of the version counts them (pruning 8, row "Size estimate"; releases R12–R14); none where the rules
    /// do not look at letters.
    pub weight: Option<Size>,
    /// Those of its thinking, which some models are not sent again (releases R13).
    pub thinking: f64,
    /// What the check of a prompt counts (releases R62); nothing where the version has no such check.
    pub pressure: Pressure,
    /// The rules that it was read for, where these look at letters.
    rules: Option<&'static Rules>,
    /// The message itself, where the rest does not tell what an edit makes of it. Such messages are rare; where the rules
    /// look at letters, all tool results are among them, calls of tools, and user messages with media.
    pub body: Option<Arc<Value>>,
}

impl Texture {
    /// The texture of a message, for rules that look at no letters.
    pub fn of<'a>(message: impl Json<'a>) -> Self {
        Self::read(message, None)
    }

    /// The texture of a message for the rules of a version.
    pub fn of_under<'a>(rules: &'static Rules, message: impl Json<'a>) -> Self {
        Self::read(message, rules.looks_at_letters().then_some(rules))
    }

    /// The texture of what a message has become, for the rules that this one was read for.
    #[must_use]
    pub fn again(&self, made: &Value) -> Self {
        Self::read(made, self.rules)
    }

    fn read<'a>(message: impl Json<'a>, rules: Option<&'static Rules>) -> Self {
        let role = role_of(message);
        let whole = rules.map(|rules| (rules, message.whole()));
        let counts_details = rules.is_none_or(|rules| rules.guard_counts_details);
        let content = match role {
            Role::ToolResult => Content::of(message.get("content")),
            _ => Content::Other,
        };
        let sketch = match role {
            // What it returned was counted with its content; its texts need not be put together for it.
            Role::ToolResult if content::is_plain(message.get("content")) => {
                Sketch::of_result(message, content.code_points()).map(Some)
            }
            _ => Sketch::of_message(message),
        };
        let mut texture = Self {
            content,
            details_chars: message.get("details").filter(|_| counts_details).map(guard::unknown_chars),
            shape: shape_of(message),
            guard: Counted::of_under(message, counts_details),
            sketch,
            letters: whole.as_ref().and_then(|(rules, whole)| Letters::of(rules, role, whole)),
            weight: whole.as_ref().map(|(rules, whole)| Size::new(rules.prune_size.chars(whole))),
            thinking: whole.as_ref().map_or(0.0, |(rules, whole)| rules.prune_size.thinking(whole)),
            pressure: whole
                .as_ref()
                .map_or_else(Pressure::default, |(rules, whole)| Pressure::of(rules, whole)),
            rules,
            body: None,
        };
        if texture.is_untold(role, message) {
            texture.body = Some(Arc::new(message.value()));
        }
        texture
    }

    /// Whether it calls tools; a failed answer too, whose calls want no result.
    fn calls(&self) -> bool {
        matches!(&self.sketch, Ok(Some(Sketch::Ai { calls, .. })) if !calls.is_empty())
    }

    /// Whether edits of this message cannot be told from its texture.
    fn is_untold<'a>(&self, role: Role, message: impl Json<'a>) -> bool {
        match role {
            Role::ToolResult | Role::User if self.letters.is_some_and(|letters| letters.decide(role)) => true,
            Role::ToolResult => self.sketch.is_err() || !content::is_plain(message.get("content")),
            // What clearing the arguments of a call leaves of its weight is told by their letters.
            Role::Assistant if self.weight.is_some() && self.calls() => true,
            Role::Assistant => self.guard.is_result || needs_input_repair(message),
            _ => self.guard.is_result,
        }
    }

    /// The same tool result with another content.
    #[must_use]
    pub fn with_content(&self, content: Content) -> Self {
        let (code_points, images) = content.code_points();
        let sketch = self.sketch.clone().map(|sketch| sketch.map(|s| s.with_content(code_points, images)));
        Self { content, sketch, ..self.clone() }.counted()
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
