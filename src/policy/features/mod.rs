//! Message features: data from the body of a message that some policies need beyond the sizes in the index, such as the
//! blocks of a tool result with their line ends, the guard's count and the calls that repair and clearing pair up.
//!
//! They are read once per context. An edit updates the features too, so that the next policy decides from features
//! alone and moving a threshold reads no file.

mod body;
mod text_features;
mod text_metrics;

use std::sync::Arc;

use crate::gateway::ruleset::{Rules, Ruleset};
use crate::js::{JsException, Json, SharedStrings, Value};
use crate::policy::clear_tool_uses::MessageDigest;
use crate::policy::guard;
use crate::policy::guard::GuardSize;
use crate::policy::preflight::Pressure;
use crate::policy::repair::{PairingShape, needs_input_repair, shape_of};
use crate::store::entry::{CharCount, MessageSize, Role};
use crate::store::measure::{CompactChars, PI_IMAGE_CHARS, PRUNE_IMAGE_CHARS, role_of};
use crate::store::scan::measure_message;
use crate::units::Chars;

pub use body::{BodySource, MessageBody};
pub use text_features::TextFeatures;
pub use text_metrics::{Positions, TextMetrics};

#[derive(Debug, Clone, PartialEq)]
pub struct ContentFeatures {
    /// [`ResultContent::Other`] for every message that is not a tool result.
    pub content: ResultContent,
    /// Chars of `details` as JSON, of a string its length; `None` without details (pruning 6.32).
    pub details_chars: Option<Chars>,
    pub shape: PairingShape,
    pub guard: GuardSize,
    /// The message has a call that repair removes or tidies (compaction 6.7).
    pub needs_input_repair: bool,
    /// Form in which clearing counts and pairs the message; `None` if no model receives it, `Err` if `LangChain`'s
    /// classes reject it.
    pub digest: Result<Option<MessageDigest>, JsException>,
    /// Set if the rules need text features.
    by_rules: Option<Box<RuleFeatures>>,
    /// The message, if the other fields do not determine it after an edit. Such messages are rare, except under rules
    /// with text features: there all tool results, all tool calls and user messages with media keep their body.
    pub body: Option<MessageBody>,
}

/// Features that only some releases need.
#[derive(Debug, Clone, PartialEq)]
struct RuleFeatures {
    /// Rules that the message was measured under.
    rules: &'static Rules,
    /// Set for tool results and user messages.
    text_features: Option<TextFeatures>,
    /// Chars as the version's pruner counts them (pruning 8, row "Size estimate"; releases R12–R14).
    prune_chars: CharCount,
    /// Part of `prune_chars` that is thinking, which some models do not receive again (releases R13).
    thinking_chars: Chars,
    /// Count of the prompt check (releases R62); zero in versions without it.
    pressure: Pressure,
}

impl RuleFeatures {
    fn of(rules: &'static Rules, role: Role, message: &Value) -> Self {
        Self {
            rules,
            text_features: TextFeatures::of(rules, role, message),
            prune_chars: CharCount::new(rules.prune_size.chars(message)),
            thinking_chars: rules.prune_size.thinking_chars(message),
            pressure: Pressure::from_message(rules, message),
        }
    }
}

impl ContentFeatures {
    /// Measures a message for rules without text features.
    pub fn of<'a>(message: impl Json<'a>) -> Self {
        Self::measure(message, None)
    }

    /// Measures a message under a version's rules.
    pub fn of_under<'a>(rules: &'static Rules, message: impl Json<'a>) -> Self {
        Self::measure(message, rules.needs_text_features().then_some(rules))
    }

    /// Measures the edited message under the same rules.
    #[must_use]
    pub fn remeasure(&self, made: &Value) -> Self {
        Self::measure(made, self.by_rules.as_ref().map(|own| own.rules))
    }

    fn measure<'a>(message: impl Json<'a>, rules: Option<&'static Rules>) -> Self {
        let role = role_of(message);
        let counts_details = rules.is_none_or(|rules| rules.guard_counts_details);
        let content = match role {
            Role::ToolResult => ResultContent::of(message.get("content")),
            _ => ResultContent::Other,
        };
        let digest = match role {
            // The content is counted already, so its texts need not be joined again.
            Role::ToolResult if is_plain(message.get("content")) => {
                MessageDigest::from_result(message, content.code_points()).map(Some)
            }
            _ => MessageDigest::from_message(message),
        };
        let mut features = Self {
            content,
            details_chars: message.get("details").filter(|_| counts_details).map(guard::unknown_chars),
            shape: shape_of(message, &rules.unwrap_or(Ruleset::default().rules()).pairing),
            guard: GuardSize::of_under(message, rules),
            needs_input_repair: role == Role::Assistant && needs_input_repair(message),
            digest,
            by_rules: rules.map(|rules| Box::new(RuleFeatures::of(rules, role, &message.to_cow()))),
            body: None,
        };
        if features.needs_body(role, message) {
            features.body = Some(MessageBody::Held(Arc::new(message.to_value())));
        }
        features
    }

    /// Returns the text features; set for tool results and user messages, if the rules need them.
    pub fn text_features(&self) -> Option<TextFeatures> {
        self.by_rules.as_ref()?.text_features
    }

    /// Returns the chars as the version's pruner counts them; `None` if the rules need no text features.
    pub fn prune_chars(&self) -> Option<CharCount> {
        Some(self.by_rules.as_ref()?.prune_chars)
    }

    /// Returns the part of [`Self::prune_chars`] that is thinking.
    pub fn thinking_chars(&self) -> Chars {
        self.by_rules.as_ref().map_or(Chars::ZERO, |own| own.thinking_chars)
    }

    /// Returns the count of the prompt check; zero in versions without it.
    pub fn pressure(&self) -> Pressure {
        self.by_rules.as_ref().map_or_else(Pressure::default, |own| own.pressure)
    }

    /// Lets its ids and names share their memory with those of other messages.
    #[must_use]
    pub fn with_shared_strings(mut self, strings: &mut SharedStrings) -> Self {
        self.shape.share_strings(strings);
        if let Ok(Some(digest)) = &mut self.digest {
            digest.share_strings(strings);
        }
        self
    }

    /// Whether the message calls tools. True also for a failed answer, whose calls need no result.
    fn has_tool_calls(&self) -> bool {
        matches!(&self.digest, Ok(Some(MessageDigest::Ai { calls, .. })) if !calls.is_empty())
    }

    /// Whether predicting an edit of this message needs its body.
    fn needs_body<'a>(&self, role: Role, message: impl Json<'a>) -> bool {
        match role {
            Role::ToolResult | Role::User
                if self.text_features().is_some_and(|text_features| text_features.needs_body(role)) =>
            {
                true
            }
            Role::ToolResult => self.digest.is_err() || !is_plain(message.get("content")),
            // Clearing arguments changes `prune_chars`, which only a new measurement gives.
            Role::Assistant if self.by_rules.is_some() && self.has_tool_calls() => true,
            Role::Assistant => self.guard.is_result || self.needs_input_repair,
            _ => self.guard.is_result,
        }
    }

    /// Returns the features of this tool result with another content.
    #[must_use]
    pub fn with_content(&self, content: ResultContent) -> Self {
        let (code_points, images) = content.code_points();
        let digest = self.digest.clone().map(|digest| digest.map(|s| s.with_content(code_points, images)));
        let shape = self.shape.clone().with_other_text();
        Self { content, shape, digest, ..self.clone() }.with_guard_recount()
    }

    /// Returns the features of this tool result without its details.
    #[must_use]
    pub fn without_details(&self) -> Self {
        let shape = self.shape.clone().without_details();
        Self { details_chars: None, shape, ..self.clone() }.with_guard_recount()
    }

    fn with_guard_recount(mut self) -> Self {
        self.guard.chars =
            CharCount::new(Ok(guard::result_chars(self.content.guard_chars(), self.details_chars)));
        self
    }

    /// Returns the text blocks; empty for a string.
    pub fn texts(&self) -> impl Iterator<Item = &TextMetrics> {
        self.content.texts()
    }
}

/// Measures the sizes of a message after an edit; for edits that cannot be predicted.
pub fn size_after(before: &MessageSize, message: &Value) -> MessageSize {
    MessageSize { tool_name: before.tool_name, call_id: before.call_id, ..measure_message(message).size }
}

// The content of a tool result, block by block, without its texts: enough to predict every size after an edit.

#[derive(Debug, Clone, PartialEq)]
pub enum ResultContent {
    /// A string.
    Text(TextMetrics),
    /// In order.
    Blocks(Vec<ContentBlock>),
    /// No string and no list, or a message of another role.
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    /// Text block whose text is a string.
    Text(TextMetrics),
    Image,
    Other {
        /// As the guard counts them (pruning 6.32).
        chars: Chars,
    },
}

impl ResultContent {
    fn of<'a>(content: Option<impl Json<'a>>) -> Self {
        let Some(content) = content else { return Self::Other };
        match content.items() {
            Some(blocks) => {
                let mut blocks: Vec<ContentBlock> = blocks.map(block).collect();
                // Most results have one, and a session has many results.
                blocks.shrink_to_fit();
                Self::Blocks(blocks)
            }
            None => TextMetrics::from_json(content).map_or(Self::Other, Self::Text),
        }
    }

    /// Returns the text blocks; empty for a string.
    pub fn texts(&self) -> impl Iterator<Item = &TextMetrics> {
        self.blocks().iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text),
            _ => None,
        })
    }

    fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Blocks(blocks) => blocks,
            _ => &[],
        }
    }

    fn images(&self) -> usize {
        self.blocks().iter().filter(|block| **block == ContentBlock::Image).count()
    }

    /// Returns the chars as the guard counts them, before doubling (pruning 6.32).
    pub fn guard_chars(&self) -> Chars {
        let block = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => Chars::from_len(text.chars),
            ContentBlock::Image => guard::IMAGE_CHARS,
            ContentBlock::Other { chars } => *chars,
        };
        match self {
            Self::Text(text) => Chars::from_len(text.chars),
            _ => self.blocks().iter().fold(Chars::ZERO, |sum, each| sum + block(each)),
        }
    }

    /// Returns code points and images as clearing counts them; without an image, the texts are joined into one (pruning
    /// 7.4).
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

    /// Returns the sizes of the tool result `before` with this content.
    pub fn message_size(&self, before: &MessageSize) -> MessageSize {
        let (count, chars) = self.texts().fold((0, 0), |(count, sum), text| (count + 1, sum + text.chars));
        let images = self.images() as f64;
        let (whole, outside) = match self {
            Self::Text(text) => (text.chars, text.chars),
            _ => (chars, 0),
        };
        MessageSize {
            pi_chars: CharCount::new(Ok(Chars::from_len(whole) + PI_IMAGE_CHARS * images)),
            prune_chars: CharCount::new(Ok(Chars::from_len(whole - outside) + PRUNE_IMAGE_CHARS * images)),
            joined_chars: Chars::from_len(chars + usize::saturating_sub(count, 1)),
            text_blocks: count as u32,
            images: images as u32,
            text_chars: CompactChars::from_len(whole),
            needs_body: false,
            ..*before
        }
    }
}

fn block<'a>(block: impl Json<'a>) -> ContentBlock {
    let is = |kind| block.get("type").is_some_and(|value| value.str_is(kind));
    let text = block.get("text").filter(|_| is("text")).and_then(TextMetrics::from_json);
    match text {
        Some(text) => ContentBlock::Text(text),
        None if is("image") => ContentBlock::Image,
        None => ContentBlock::Other { chars: guard::unknown_chars(block) },
    }
}

/// Whether a content is a string, or blocks without nulls and non-string texts, which make the real programs throw or
/// count differently.
fn is_plain<'a>(content: Option<impl Json<'a>>) -> bool {
    let Some(content) = content else { return false };
    match content.items() {
        Some(mut blocks) => !blocks.any(is_odd),
        None => content.unit_len().is_some(),
    }
}

fn is_odd<'a>(block: impl Json<'a>) -> bool {
    let is_text = block.get("type").is_some_and(|kind| kind.str_is("text"));
    block.is_null() || is_text && block.get("text").and_then(Json::unit_len).is_none()
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
    fn blocks_are_distinguished_and_details_measured() {
        let message = r#"{"role":"toolResult","content":[{"type":"text","text":"ab"},{"type":"image"},7],"details":{"a":1}}"#;
        let features = of(message).1;
        let blocks = vec![
            ContentBlock::Text(TextMetrics::of(&"ab".into())),
            ContentBlock::Image,
            ContentBlock::Other { chars: Chars(1.0) },
        ];
        assert_eq!(
            (features.content, features.details_chars),
            (ResultContent::Blocks(blocks), Some(Chars(7.0)))
        );
        assert_eq!(
            features.guard,
            GuardSize { is_result: true, chars: CharCount::new(Ok(Chars(2.0 * 8010.0))) }
        );
    }

    #[test]
    fn features_rebuilt_from_their_content_are_equal() {
        for content in [
            r#""a😀\nb""#,
            r#"[{"type":"text","text":"a😀"},{"type":"text","text":""}]"#,
            r#"[{"type":"text","text":"ab"},{"type":"image"},"abc"]"#,
            "[]",
        ] {
            let (size, features) = of(&format!(
                r#"{{"role":"toolResult","toolName":"exec","toolCallId":"c","content":{content}}}"#
            ));
            assert_eq!(features.content.message_size(&size), size, "{content}");
            assert_eq!(features.with_content(features.content.clone()), features, "{content}");
        }
    }

    #[test]
    fn only_irregular_messages_keep_their_body() {
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
