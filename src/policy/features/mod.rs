//! What the sizes of the index do not tell of a message, and some steps ask for: the blocks of a tool result with
//! their line ends, its details, what the guard counts, the calls that repair and clearing pair up. Read once per
//! context when such a step is looked at; a step that changes a message changes its texture too, so that the next
//! step decides from textures alone.

mod content;
mod text_features;
mod text_metrics;

use std::sync::Arc;

pub use content::{ContentBlock, ResultContent};
pub use text_features::TextFeatures;
pub use text_metrics::TextMetrics;

use crate::gateway::ruleset::Rules;
use crate::js::{JsException, Json, Value};
use crate::policy::clear_tool_uses::MessageDigest;
use crate::policy::guard::{self, GuardSize};
use crate::policy::preflight::Pressure;
use crate::policy::repair::{PairingShape, needs_input_repair, shape_of};
use crate::store::entry::{CharCount, MessageSize, Role};
use crate::store::measure::role_of;
use crate::store::scan::measure_message;

/// One message as the closer rules see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentFeatures {
    /// The content of a tool result; [`ResultContent::Other`] for every other message.
    pub content: ResultContent,
    /// Chars of `details` as JSON (a string: its length); none without it (pruning 6.32).
    pub details_chars: Option<f64>,
    /// How it takes part in pairing.
    pub shape: PairingShape,
    /// How the guard counts it.
    pub guard: GuardSize,
    /// How clearing counts and pairs it; none where it is not sent to a model. Throws where its classes do.
    pub digest: Result<Option<MessageDigest>, JsException>,
    /// What its letters tell, of tool results and user messages; none where the rules do not look at letters.
    pub text_features: Option<TextFeatures>,
    /// Chars as the pruner of the version counts them (pruning 8, row "Size estimate"; releases R12–R14); none where the rules
    /// do not look at letters.
    pub prune_chars: Option<CharCount>,
    /// Those of its thinking, which some models are not sent again (releases R13).
    pub thinking_chars: f64,
    /// What the check of a prompt counts (releases R62); nothing where the version has no such check.
    pub pressure: Pressure,
    /// The rules that it was read for, where these look at letters.
    rules: Option<&'static Rules>,
    /// The message itself, where the rest does not tell what an edit makes of it. Such messages are rare; where the rules
    /// look at letters, all tool results are among them, calls of tools, and user messages with media.
    pub body: Option<Arc<Value>>,
}

impl ContentFeatures {
    /// The texture of a message, for rules that look at no letters.
    pub fn of<'a>(message: impl Json<'a>) -> Self {
        Self::measure(message, None)
    }

    /// The texture of a message for the rules of a version.
    pub fn of_under<'a>(rules: &'static Rules, message: impl Json<'a>) -> Self {
        Self::measure(message, rules.needs_text_features().then_some(rules))
    }

    /// The texture of what a message has become, for the rules that this one was read for.
    #[must_use]
    pub fn remeasure(&self, made: &Value) -> Self {
        Self::measure(made, self.rules)
    }

    fn measure<'a>(message: impl Json<'a>, rules: Option<&'static Rules>) -> Self {
        let role = role_of(message);
        let whole = rules.map(|rules| (rules, message.to_cow()));
        let counts_details = rules.is_none_or(|rules| rules.guard_counts_details);
        let content = match role {
            Role::ToolResult => ResultContent::of(message.get("content")),
            _ => ResultContent::Other,
        };
        let sketch = match role {
            // What it returned was counted with its content; its texts need not be put together for it.
            Role::ToolResult if content::is_plain(message.get("content")) => {
                MessageDigest::from_result(message, content.code_points()).map(Some)
            }
            _ => MessageDigest::from_message(message),
        };
        let mut texture = Self {
            content,
            details_chars: message.get("details").filter(|_| counts_details).map(guard::unknown_chars),
            shape: shape_of(message),
            guard: GuardSize::of_under(message, counts_details),
            digest: sketch,
            text_features: whole.as_ref().and_then(|(rules, whole)| TextFeatures::of(rules, role, whole)),
            prune_chars: whole.as_ref().map(|(rules, whole)| CharCount::new(rules.prune_size.chars(whole))),
            thinking_chars: whole
                .as_ref()
                .map_or(0.0, |(rules, whole)| rules.prune_size.thinking_chars(whole)),
            pressure: whole
                .as_ref()
                .map_or_else(Pressure::default, |(rules, whole)| Pressure::from_message(rules, whole)),
            rules,
            body: None,
        };
        if texture.needs_body(role, message) {
            texture.body = Some(Arc::new(message.to_value()));
        }
        texture
    }

    /// Whether it calls tools; a failed answer too, whose calls want no result.
    fn has_tool_calls(&self) -> bool {
        matches!(&self.digest, Ok(Some(MessageDigest::Ai { calls, .. })) if !calls.is_empty())
    }

    /// Whether edits of this message cannot be told from its texture.
    fn needs_body<'a>(&self, role: Role, message: impl Json<'a>) -> bool {
        match role {
            Role::ToolResult | Role::User
                if self.text_features.is_some_and(|letters| letters.needs_body(role)) =>
            {
                true
            }
            Role::ToolResult => self.digest.is_err() || !content::is_plain(message.get("content")),
            // What clearing the arguments of a call leaves of its weight is told by their letters.
            Role::Assistant if self.prune_chars.is_some() && self.has_tool_calls() => true,
            Role::Assistant => self.guard.is_result || needs_input_repair(message),
            _ => self.guard.is_result,
        }
    }

    /// The same tool result with another content.
    #[must_use]
    pub fn with_content(&self, content: ResultContent) -> Self {
        let (code_points, images) = content.code_points();
        let sketch = self.digest.clone().map(|sketch| sketch.map(|s| s.with_content(code_points, images)));
        Self { content, digest: sketch, ..self.clone() }.with_guard_recount()
    }

    /// The same tool result without its details.
    #[must_use]
    pub fn without_details(&self) -> Self {
        Self { details_chars: None, ..self.clone() }.with_guard_recount()
    }

    fn with_guard_recount(mut self) -> Self {
        self.guard.chars =
            CharCount::new(Ok(guard::result_chars(self.content.guard_chars(), self.details_chars)));
        self
    }

    /// Its text blocks, where it has blocks.
    pub fn texts(&self) -> impl Iterator<Item = &TextMetrics> {
        self.content.texts()
    }
}

/// The sizes of a message after an edit that was made on its text: for edits that sizes alone do not foretell.
pub fn size_after(before: &MessageSize, message: &Value) -> MessageSize {
    MessageSize { tool_name: before.tool_name, call_id: before.call_id, ..measure_message(message).size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn of(json: &str) -> (MessageSize, ContentFeatures) {
        let message = js::parse(json).expect("test JSON");
        (measure_message(&message).size, ContentFeatures::of(&message))
    }

    #[test]
    fn blocks_are_told_apart_and_details_measured() {
        let message = r#"{"role":"toolResult","content":[{"type":"text","text":"ab"},{"type":"image"},7],"details":{"a":1}}"#;
        let texture = of(message).1;
        let blocks = vec![
            ContentBlock::Text(TextMetrics::of(&"ab".into())),
            ContentBlock::Image,
            ContentBlock::Other { chars: 1.0 },
        ];
        assert_eq!((texture.content, texture.details_chars), (ResultContent::Blocks(blocks), Some(7.0)));
        assert_eq!(texture.guard, GuardSize { is_result: true, chars: CharCount::new(Ok(2.0 * 8010.0)) });
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
            assert_eq!(texture.content.message_size(&size), size, "{content}");
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
