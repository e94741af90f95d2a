//! Yields the texts of a message that a model reads, which a tokenizer or a fit has to count.

use std::borrow::Cow;

use crate::context::llm::to_llm;
use crate::context::tokens::script::ScriptChars;
use crate::js::{self, JsString, Json, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Estimated tokens of an image: pi's 4,800 chars (compaction 1.5).
pub const IMAGE_TOKENS: u64 = 1200;

/// The part of a message that a model reads: all that a fit of a session needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentSize {
    pub chars: ScriptChars,
    pub images: u64,
}

impl SentSize {
    pub fn from_message<'a>(message: impl Json<'a>) -> Self {
        let (chars, images) = sent_chars(message);
        Self { chars, images: images.into() }
    }
}

/// A piece of a message that a model reads.
enum SentPiece<J> {
    Text(J),
    /// The arguments of a call, as JSON.
    Arguments(J),
}

/// Passes every text of a message to `take` in its sent form (compaction 4.6 to 4.9): texts, thinking, names and arguments
/// of calls. Returns the number of images. Ids, signatures and a provider's own wrapping are unknown and not counted.
/// A message that is not sent has no text.
pub fn each_text(message: &Value, take: &mut dyn FnMut(&JsString)) -> u32 {
    let sent = match role_of(message) {
        Role::User | Role::Assistant | Role::ToolResult => Cow::Borrowed(message),
        _ => match to_llm(message) {
            Ok(Some(sent)) => Cow::Owned(sent),
            _ => return 0,
        },
    };
    each_piece(&*sent, &mut |piece| match piece {
        SentPiece::Text(Value::String(text)) => take(text),
        SentPiece::Text(_) => {}
        SentPiece::Arguments(arguments) => take(&js::stringify(arguments).into()),
    })
}

/// Counts the chars of all these texts, and the images.
pub fn sent_chars<'a>(message: impl Json<'a>) -> (ScriptChars, u32) {
    let mut chars = ScriptChars::default();
    let images = match role_of(message) {
        Role::User | Role::Assistant | Role::ToolResult => each_piece(message, &mut |piece| {
            chars += match piece {
                SentPiece::Text(text) => ScriptChars::from_json(text),
                SentPiece::Arguments(arguments) => {
                    ScriptChars::from_plain_text(&js::stringify(&arguments.to_cow()))
                }
            }
        }),
        _ => each_text(&message.to_cow(), &mut |text| chars += ScriptChars::from_text(text)),
    };
    (chars, images)
}

/// Passes every piece of a message that is sent unchanged to `take`; returns the number of images.
fn each_piece<'a, J: Json<'a>>(message: J, take: &mut impl FnMut(SentPiece<J>)) -> u32 {
    let Some(content) = message.get("content") else { return 0 };
    if let Some(blocks) = content.items() {
        return blocks.map(|block| each_block_piece(block, take)).sum();
    }
    if content.unit_len().is_some() {
        take(SentPiece::Text(content));
    }
    0
}

fn each_block_piece<'a, J: Json<'a>>(block: J, take: &mut impl FnMut(SentPiece<J>)) -> u32 {
    let is = |kind| block.get("type").is_some_and(|value| value.str_is(kind));
    let mut text = |key| {
        if let Some(text) = block.get(key).filter(|text| text.unit_len().is_some()) {
            take(SentPiece::Text(text));
        }
    };
    if is("text") {
        text("text");
    } else if is("thinking") {
        text("thinking");
    } else if is("toolCall") {
        text("name");
        if let Some(arguments) = block.get("arguments") {
            take(SentPiece::Arguments(arguments));
        }
    }
    u32::from(is("image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(json: &str) -> (Vec<String>, u32) {
        let mut texts = Vec::new();
        let message = js::parse(json).expect("test JSON");
        let images = each_text(&message, &mut |text| texts.push(text.to_string_lossy()));
        (texts, images)
    }

    #[test]
    fn an_answer_is_its_text_its_thoughts_and_its_calls() {
        let (texts, images) = texts(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},
            {"type":"text","text":"so"},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a"}}]}"#,
        );
        assert_eq!(texts, ["hm", "so", "read", r#"{"path":"a"}"#]);
        assert_eq!(images, 0);
    }

    #[test]
    fn a_summary_is_sent_with_the_words_around_it() {
        let (texts, _) = texts(r#"{"role":"compactionSummary","summary":"We built it."}"#);
        assert_eq!(texts.len(), 1);
        assert!(texts[0].contains("<summary>\nWe built it.\n</summary>"), "{}", texts[0]);
    }

    #[test]
    fn unsent_messages_have_no_text_and_images_are_counted() {
        let hidden = r#"{"role":"bashExecution","command":"ls","output":"x","excludeFromContext":true}"#;
        assert_eq!(texts(hidden), (Vec::new(), 0));
        assert_eq!(texts(r#"{"role":"hook","content":"x"}"#), (Vec::new(), 0));
        let image =
            r#"{"role":"toolResult","content":[{"type":"image","data":"x"},{"type":"text","text":"a"}]}"#;
        assert_eq!(texts(image), (vec!["a".to_owned()], 1));
    }
}
